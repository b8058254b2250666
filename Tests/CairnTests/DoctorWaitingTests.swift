import Cairn
import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What a doctor finds before anything goes wrong: deletes that wait, datastores in the wrong root,
/// and secrets that others may read.
@Suite struct DoctorWaitingTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private func examine(_ root: String) async -> [Finding] {
    let account = Account(user: "ann", folder: .directory(bench.bench.folder))
    return await Doctor(root: root, account: account).examine().findings
  }

  /// MassDeleteLimit lets 50 of 80 go at once.
  @Test(arguments: [50, 51])
  func `what waits to delete very much is told before a sync holds it`(count: Int) async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    for number in 0..<80 {
      try a.table("t").insert(["n": .int(Int64(number))], id: RecordID("r\(number)"))
    }
    try a.sync()
    try await a.exchange()
    var b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    try b.close()
    for number in 0..<count { try a.table("t")[RecordID("r\(number)")].delete() }
    try a.sync()
    try await a.exchange()
    b = try bench.linked("b").openDatastore("notes")
    try await b.exchange()
    try b.close()
    let found = await examine(bench.bench.root("b")).filter { $0.check == "inbox" }
    #expect(found.first?.severity == .note)
    #expect(found.first?.message.contains("1 delta in 1 fetched file waits") == true)
    let held = found.dropFirst()
    #expect(held.map(\.severity) == (count > 50 ? [.warning] : []), "\(found)")
    for finding in held {
      #expect(finding.message.contains("deletes up to \(count) of the 80 records"))
      #expect(finding.command?.contains("cairn sync --datastore notes") == true)
      #expect(finding.command?.contains("--allow-mass-delete") == true)
    }
  }

  @Test func `a local datastore in an account's root is told, and no repair is offered for it`()
    async throws
  {
    let local = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(local, compacts: false)
    try local.close()
    let root = bench.bench.root("a")
    let store = bench.directory(root)
    try bench.bench.copyTree(bench.directory(bench.localRoot), to: store)
    let found = await examine(root).filter { $0.check == "current" }
    #expect(found.map(\.severity) == [.error], "\(found)")
    let finding = try #require(found.first)
    #expect(finding.message.contains("is a local one, but its root belongs to an account"))
    #expect(finding.file == store + "/CURRENT" && finding.offset == 12)
    #expect(finding.command == nil && finding.datastore == "notes")
    // A repair would be refused there.
    try bench.spoil(try #require(try bench.files(store + "/log", ".seg").first), at: 300)
    let damage = await examine(root).filter { $0.check == "log" }
    #expect(!damage.isEmpty && damage.allSatisfy { $0.severity == .error && $0.command == nil })
  }

  @Test func `a secret that others may read is an error, and is not shown`() async throws {
    let directory = bench.bench.place.path + "/app"
    let secret = "wonderland-7f3a"
    let account = Account(user: "ann", folder: .directory(bench.bench.folder))
    let linked = try AccountManager(directory: directory).link(
      account, credentials: .password(user: "ann", password: secret))
    #expect(await Doctor(root: directory).examine().findings == [])
    let path = directory + "/secrets/" + linked.id
    #expect(unsafe chmod(path, 0o644) == 0)
    let report = await Doctor(root: directory).examine()
    #expect(report.findings.map(\.check) == ["accounts"] && !report.isHealthy)
    let finding = try #require(report.findings.first)
    #expect(finding.severity == .error && finding.file?.hasSuffix("/secrets/" + linked.id) == true)
    #expect(finding.message.contains("chmod 600"))
    #expect(!"\(report)".contains(secret))
  }
}
