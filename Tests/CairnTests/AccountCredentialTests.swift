import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Secrets are in one file, which nobody else can read, and nowhere else.
@Suite struct AccountCredentialTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  private static let secret = "wonderland-7f3a"
  private static let all: [Credentials] = [
    .password(user: "ann", password: secret), .bearer(secret),
    .accessKey(id: "AK1", secret: secret),
  ]

  private func linked(
    _ credentials: Credentials, store: (any CredentialStore)? = nil
  ) throws -> LinkedAccount {
    let accounts = try AccountManager(
      directory: place.path("accounts"), credentialStore: store)
    let account = Account(user: "ann", folder: .directory(place.path("folder")))
    return try accounts.link(account, credentials: credentials)
  }

  @Test(arguments: all)
  func `nothing that prints credentials shows a secret`(_ credentials: Credentials) {
    var dumped = ""
    dump(["c": credentials], to: &dumped)
    dump(Optional(credentials), to: &dumped)
    let texts = [
      "\(credentials)", String(describing: credentials), String(reflecting: credentials),
      "\([credentials])", "\(Optional(credentials) as Any)", dumped,
      "\(Mirror(reflecting: credentials).children.map { "\($0)" })",
    ]
    for text in texts { #expect(!text.contains(Self.secret)) }
    #expect(credentials.description == "Credentials(\(credentials.kind.rawValue))")
    #expect(credentials.secret == Self.secret)
  }

  @Test(arguments: all)
  func `credentials come back in the next run`(_ credentials: Credentials) throws {
    let id = try linked(credentials).id
    let again = try AccountManager(directory: place.path("accounts"))
    let account = try #require(try again.linkedAccount)
    #expect(account.id == id)
    #expect(try account.credentials() == credentials)
    let other = Credentials.bearer("new")
    _ = try again.link(account.account, credentials: other)
    #expect(try account.credentials() == other)
    _ = try again.link(account.account)
    #expect(try account.credentials() == other)
  }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return 0 }
    return status.st_mode & 0o777
  }

  @Test func `the file is the user's alone, and its directory too`() throws {
    let account = try linked(Self.all[0])
    let secrets = place.path("accounts/secrets")
    #expect(mode(secrets) == 0o700)
    #expect(mode(secrets + "/" + account.id) == 0o600)
    #expect(try PosixDisk().list(secrets).map(\.name) == [account.id])
  }

  @Test func `a file that others can read is refused`() throws {
    let account = try linked(Self.all[0])
    let path = place.path("accounts/secrets/") + account.id
    for mode: mode_t in [0o640, 0o604, 0o660, 0o610] {
      #expect(unsafe chmod(path, mode) == 0)
      let error = #expect(throws: CairnError.self) { try account.credentials() }
      #expect(error?.code == .disallowed && error?.file == path)
      #expect(error?.message.contains("chmod 600") == true)
      #expect(error?.message.contains(Self.secret) == false)
    }
    #expect(unsafe chmod(path, 0o600) == 0)
    #expect(try account.credentials() == Self.all[0])
    let disk = MemoryDisk()
    try disk.setBytes("/s/0000000000000001", CredentialsFile.encode(Self.all[0]))
    let store = FileCredentialStore(
      directory: "/s",
      machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1)))
    #expect(code { _ = try store.credentials(for: "0000000000000001") } == .disallowed)
    #expect(code { _ = try store.credentials(for: "../list") } == .illegalArgument)
    #expect(try store.credentials(for: "0000000000000002") == nil)
  }

  @Test func `no other file, and no error, has a secret in it`() async throws {
    let account = try linked(Self.all[0])
    let datastore = try account.accountManager.openDefaultDatastore(for: account)
    try datastore.table("t").insert(["x": 1])
    try datastore.sync()
    try await datastore.exchange()
    try datastore.close()
    let wanted = Array(Self.secret.utf8)
    var found: [String] = []
    func look(_ directory: String) throws {
      for entry in try PosixDisk().list(directory) {
        let path = directory + "/" + entry.name
        if entry.info.kind == .directory {
          try look(path)
        } else {
          let file = try PosixDisk().open(path, .read)
          let bytes = try file.read(at: 0, count: Int(entry.info.size))
          let starts = bytes.indices.filter { bytes[$0...].starts(with: wanted) }
          if !starts.isEmpty { found.append(entry.name) }
        }
      }
    }
    try look(place.path)
    #expect(found == [account.id])
    let bytes = CredentialsFile.encode(Self.all[0])
    for index in bytes.indices {
      var bad = bytes
      bad[index] ^= 1
      let error = #expect(throws: (any Error).self) { try CredentialsFile.decode(bad, path: "c") }
      #expect(!"\(error as Any)".contains("onderlan"))
    }
  }

  @Test func `a session token that no file keeps is refused, and nothing is linked`() throws {
    let token = "token-51c9"
    let temporary = Credentials.accessKey(id: "AK1", secret: Self.secret, sessionToken: token)
    let error = #expect(throws: CairnError.self) { try linked(temporary) }
    #expect(error?.code == .illegalArgument)
    #expect(error?.message.contains(token) == false)
    #expect(error?.message.contains(Self.secret) == false)
    #expect(try AccountManager(directory: place.path("accounts")).linkedAccounts.isEmpty)
    #expect(try PosixDisk().info(place.path("accounts/secrets")) == nil)
    // A store of one's own may keep it.
    let account = try linked(temporary, store: Keychain())
    #expect(try account.credentials() == temporary)
  }

  /// Stands for a keychain.
  private final class Keychain: CredentialStore {
    let kept = Lock<[String: Credentials]>([:])
    func credentials(for id: String) throws(CairnError) -> Credentials? {
      kept.withLock { $0[id] }
    }
    func setCredentials(_ credentials: Credentials, for id: String) throws(CairnError) {
      if credentials.secret.isEmpty {
        throw CairnError(.auth, "the keychain is locked; unlock it", id: id)
      }
      kept.withLock { $0[id] = credentials }
    }
    func removeCredentials(for id: String) throws(CairnError) {
      _ = kept.withLock { $0.removeValue(forKey: id) }
    }
  }

  @Test func `a store of files that two managers share keeps what either has`() throws {
    let store = FileCredentialStore(directory: place.path("kept"))
    func manager(_ name: String) throws -> AccountManager {
      try AccountManager(directory: place.path(name), credentialStore: store)
    }
    let ann = try linked(Self.all[0], store: store)
    let account = Account(user: "bob", folder: .directory(place.path("folder")))
    let bob = try manager("others").link(account, credentials: Self.all[1])
    for name in ["others", "accounts"] {
      // The next start.
      #expect(try manager(name).linkedAccounts.count == 1)
      #expect(try ann.credentials() == Self.all[0])
      #expect(try bob.credentials() == Self.all[1])
    }
    try bob.unlink()
    #expect(try PosixDisk().list(place.path("kept")).map(\.name) == [ann.id])
  }

  @Test func `an app's own store is used instead of files`() throws {
    let keychain = Keychain()
    let account = try linked(Self.all[1], store: keychain)
    #expect(keychain.kept.withLock { $0 } == [account.id: Self.all[1]])
    #expect(try account.credentials() == Self.all[1])
    #expect(try PosixDisk().info(place.path("accounts/secrets")) == nil)
    try account.unlink()
    #expect(keychain.kept.withLock { $0.isEmpty })
    #expect(code { _ = try linked(.bearer(""), store: keychain) } == .auth)
    #expect(try account.accountManager.linkedAccounts.isEmpty)
  }
}
