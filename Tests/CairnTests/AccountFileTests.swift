import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// The files of accounts: what the format page says, and whatever else may lie in their place.
@Suite struct AccountFileTests {
  private static var sample: AccountsFile {
    var file = AccountsFile()
    file.entries = [
      AccountsFile.Entry(
        id: 0x1122_3344_5566_7788, account: Account(user: "bob", folder: .directory("/f/b"))),
      AccountsFile.Entry(
        id: 0x99AA_BBCC_DDEE_FF01, account: Account(user: "ann", folder: .directory("/f/a")),
        info: AccountInfo(userName: "Ann", orgName: "Quarry")),
    ]
    file.leaving = [7]
    return file
  }

  @Test func `the list of the format page is what is written and read`() throws {
    let bytes = try FormatPage.example("accounts")
    #expect(Self.sample.encoded() == bytes)
    #expect(try AccountsFile(bytes, path: "ACCOUNTS") == Self.sample)
  }

  @Test func `the credentials of the format page are what is written and read`() throws {
    let bytes = try FormatPage.example("credentials")
    let credentials = Credentials.password(user: "ann", password: "wonderland")
    #expect(CredentialsFile.encode(credentials) == bytes)
    #expect(try CredentialsFile.decode(bytes, path: "c") == credentials)
  }

  @Test func `the role of the format page is what is written and read`() throws {
    let bytes = try FormatPage.example("role")
    #expect(RoleNote.encode(.viewer) == bytes)
    #expect(try RoleNote.decode(bytes, path: "ROLE") == .viewer)
  }

  @Test func `every flipped bit and every cut is found`() throws {
    let good = Self.sample.encoded()
    for index in good.indices {
      for bit in 0..<8 {
        var bad = good
        bad[index] ^= 1 << UInt8(bit)
        #expect(throws: LogError.self) { try AccountsFile(bad, path: "ACCOUNTS") }
      }
      #expect(throws: LogError.self) { try AccountsFile(Array(good[..<index]), path: "ACCOUNTS") }
    }
  }

  /// What has a checksum that fits and is nonsense all the same.
  @Test func `nonsense with a good checksum is refused, whatever it is`() throws {
    let good = Self.sample.encoded()
    let random = SeededRandom(3)
    var (taken, refused) = (0, 0)
    for _ in 0..<3000 {
      var bad = Array(good.dropLast(8))
      for _ in 0..<(1 + random.below(3)) {
        bad[16 + random.below(bad.count - 16)] = UInt8(truncatingIfNeeded: random.next())
      }
      bad.put(XXH3.hash64(bad))
      // Names may well be others; numbers and lengths are what they have to be.
      if let read = try? AccountsFile(bad, path: "ACCOUNTS") {
        taken += 1
        #expect(read.encoded() == bad)
        #expect(Set(read.entries.map(\.id) + read.leaving).count == 3)
      } else {
        refused += 1
      }
    }
    #expect(taken > 0 && refused > 0)
  }

  @Test func `a list from the future is left alone`() throws {
    let bench = try AccountWorkbench()
    let accounts = try bench.manager()
    let linked = try accounts.link(bench.account)
    let path = AccountWorkbench.directory + "/ACCOUNTS"
    var newer = try #require(bench.disk.bytes(path))
    newer[10] = UInt8(FormatVersion.current + 1)
    newer = Array(newer.dropLast(8))
    newer.put(XXH3.hash64(newer))
    try bench.disk.setBytes(path, newer)
    #expect(code { _ = try bench.manager() } == .needsNewerVersion)
    #expect(code { _ = try accounts.linkedAccounts } == .needsNewerVersion)
    #expect(code { _ = try accounts.link(bench.account) } == .needsNewerVersion)
    #expect(code { try linked.unlink() } == .needsNewerVersion)
    #expect(linked.isLinked)
    #expect(bench.disk.bytes(path) == newer)
  }

  @Test func `a damaged list is left alone`() throws {
    let bench = try AccountWorkbench()
    let accounts = try bench.manager()
    _ = try accounts.link(bench.account)
    let path = AccountWorkbench.directory + "/ACCOUNTS"
    try bench.disk.corrupt(path, 20, xor: 1)
    let bytes = bench.disk.bytes(path)
    #expect(code { _ = try bench.manager() } == .corrupt)
    #expect(code { _ = try accounts.link(bench.account) } == .corrupt)
    #expect(bench.disk.bytes(path) == bytes)
  }

  /// Somebody has taken it away, and brings it back.
  @Test(arguments: [false, true])
  func `a list that is missing takes no secrets with it`(hasRoot: Bool) throws {
    let bench = try AccountWorkbench()
    let accounts = try bench.manager()
    let linked = try accounts.link(bench.account, credentials: bench.credentials)
    if hasRoot { try accounts.openDefaultDatastore(for: linked).close() }
    let path = AccountWorkbench.directory + "/ACCOUNTS"
    let bytes = try #require(bench.disk.bytes(path))
    try bench.disk.remove(path)
    #expect(try bench.manager(5).linkedAccounts.isEmpty)
    try bench.disk.setBytes(path, bytes)
    let again = try #require(try bench.manager(7).linkedAccount)
    #expect(again.id == linked.id)
    #expect(try again.credentials() == bench.credentials)
  }

  @Test func `a link that the disk refuses leaves nothing behind`() throws {
    let count = try {
      let bench = try AccountWorkbench()
      _ = try bench.manager().link(bench.account, credentials: bench.credentials)
      return bench.disk.operations
    }()
    var failures = 0
    for step in 1...count {
      let bench = try AccountWorkbench()
      let accounts = try bench.manager()
      bench.disk.failAt(operation: bench.disk.operations + step, reason: .io(errno: 5))
      guard code({ _ = try accounts.link(bench.account, credentials: bench.credentials) }) != nil
      else { continue }
      failures += 1
      bench.disk.heal()
      let next = try bench.manager(9)
      // Whether it counts is one question, whether something is left of it none.
      let linked = try next.linkedAccounts
      #expect(linked.count <= 1)
      #expect(try linked.first?.credentials() == (linked.isEmpty ? nil : bench.credentials))
      #expect(AccountWorkbench.files(bench.disk).count == linked.count, "step \(step)")
    }
    #expect(failures > 3)
  }
}
