import Cairn
import CairnDisk
import TestSupport
import Testing

/// A repair leaves a datastore in the world that it belongs to: an account's, or this device alone.
@Suite struct RepairWorldTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  @Test(arguments: [false, true])
  func `an account's datastore is not repaired as a local one`(losesCurrent: Bool) async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 20, compacts: false)
    try await a.exchange()
    try a.close()
    let root = bench.bench.root("a")
    if losesCurrent { try bench.bench.remove(bench.directory(root) + "/CURRENT") }
    let image = try bench.image(root)
    let local = try DatastoreManager(root: root, options: bench.bench.options)
    for dryRun in [true, false] {
      let error = await #expect(throws: CairnError.self) {
        try await local.repairDatastore("notes", dryRun: dryRun)
      }
      #expect(error?.code == .disallowed)
      #expect(error?.message.contains("--folder and --user") == true)
    }
    #expect(try bench.image(root) == image)
    let findings = await Doctor(root: root).examine().findings
    #expect(findings.map(\.check) == (losesCurrent ? ["account", "current"] : ["account"]))
    #expect(findings.allSatisfy { $0.command == nil }, "\(findings)")
    let report = try await bench.linked("a").repairDatastore("notes")
    #expect(report.wasNeeded == losesCurrent)
    if losesCurrent { #expect(report.records == 20) }
  }

  @Test(arguments: [false, true])
  func `a local datastore is not repaired into an account's folder`(
    losesCurrent: Bool
  ) async throws {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(datastore, 20, compacts: false)
    try datastore.close()
    let (root, folder) = (bench.localRoot, bench.bench.folder)
    if losesCurrent { try bench.bench.remove(bench.directory(root) + "/CURRENT") }
    let image = try bench.image(root)
    let account = Account(user: "ann", folder: .directory(folder))
    let linked = try DatastoreManager(
      root: root, account: account, options: bench.bench.options)
    let error = await #expect(throws: CairnError.self) {
      try await linked.repairDatastore("notes")
    }
    #expect(error?.code == .disallowed && error?.message.contains("without --folder") == true)
    #expect(try bench.image(root) == image)
    #expect(try bench.disk.info(folder) == nil, "nothing of it was published")
    let findings = await Doctor(root: root, account: account).examine().findings
    #expect(findings.first?.check == "current" && findings.first?.severity == .error)
    #expect(findings.allSatisfy { $0.command == nil }, "\(findings)")
    let report = try await bench.local().repairDatastore("notes")
    #expect(report.wasNeeded == losesCurrent)
    if losesCurrent { #expect(report.records == 20) }
  }

  /// Before its first exchange nothing but the account's list tells that others may have it.
  @Test func `one that is new in its account is known to be the account's without CURRENT`()
    async throws
  {
    let manager = try bench.linked("a")
    let a = try manager.openOrCreateDatastore("notes")
    try bench.fill(a, 10, compacts: false)
    try a.close()
    let store = bench.directory(bench.bench.root("a"))
    try bench.bench.remove(store + "/CURRENT")
    #expect(try bench.disk.info(store + "/PUBLISHED") == nil)
    #expect(try await manager.repairDatastore("notes").records == 10)
    let repaired = try manager.openDatastore("notes")
    #expect(repaired.recordCount == 10)
    try repaired.close()
  }
}
