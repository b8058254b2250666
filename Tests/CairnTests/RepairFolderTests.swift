import Cairn
import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// Which folder a repair takes for the one that everything was exchanged with, where PUBLISHED does
/// not tell it any more.
@Suite struct RepairFolderTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var folder: String { bench.bench.folder }
  private var away: String { bench.bench.place.path + "/away" }
  private var published: String { bench.directory(bench.bench.root("b")) + "/PUBLISHED" }

  /// Two devices that have one record with a sum, the second one closed.
  private func make() async throws -> (a: Datastore, b: DatastoreManager) {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try a.table("sums").setRule(.sum, field: "n")
    try a.table("sums").insert(["n": 1], id: "r")
    try a.sync()
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    try b.add("of-b")
    try await b.exchange()
    try await a.pull()
    let manager = b.manager
    try b.close()
    return (a, manager)
  }

  /// The error of a repair that changes nothing; nil if it throws none.
  private func refusal(
    _ manager: DatastoreManager, usingFolder: Bool = true
  ) async throws -> CairnError? {
    let image = try bench.image(manager.root)
    var refusal: CairnError?
    do throws(CairnError) {
      _ = try await manager.repairDatastore("notes", usingFolder: usingFolder)
    } catch { refusal = error }
    #expect(try bench.image(manager.root) == image)
    return refusal
  }

  private func finding() async throws -> Finding? {
    let account = Account(user: "ann", folder: .directory(folder))
    let report = await Doctor(root: bench.bench.root("b"), account: account).examine()
    let found = report.findings.filter { $0.check == "folder" }
    #expect(found.count <= 1, "\(found)")
    return found.first
  }

  @Test(arguments: [false, true])
  func `one that is not there is waited for, and nothing counts twice`(
    losesAll: Bool
  ) async throws {
    let (a, manager) = try await make()
    if losesAll {
      try bench.bench.remove(published)
      try bench.bench.remove(bench.directory(manager.root) + "/CURRENT")
    } else {
      try bench.spoil(published, at: 40)
    }
    try bench.bench.move(folder, to: away)
    let error = try await refusal(manager)
    #expect(error?.code == .notFound && error?.message.contains("Nothing was changed") == true)
    #expect(try bench.disk.info(folder) == nil)
    #expect(try await finding()?.message.contains("cairn.json is missing") == true)

    try bench.bench.move(away, to: folder)
    #expect(try await finding() == nil)
    let report = try await manager.repairDatastore("notes")
    #expect(report.wasNeeded && report.reinserted == 0)
    #expect(try await finding() == nil)
    let repaired = try manager.openDatastore("notes")
    try await bench.bench.meet(repaired, a)
    for datastore in [repaired, a] {
      #expect(try datastore.table("sums").record("r")?.int("n") == 1)
      #expect(try datastore.ids() == ["of-b"])
    }
    try repaired.close()
  }

  @Test func `another one is refused`() async throws {
    let (_, manager) = try await make()
    let other = bench.bench.place.path + "/other"
    let z = try bench.bench.open("z", folder: other)
    try z.add("of-z")
    try await z.exchange()
    try z.close()
    try bench.spoil(published, at: 40)
    try bench.bench.move(folder, to: away)
    try bench.bench.move(other, to: folder)
    let before = try bench.image(folder)
    let error = try await refusal(manager)
    #expect(error?.code == .disallowed)
    #expect(error?.message.contains("has no file of a device that notes knows") == true)
    #expect(try bench.image(folder) == before)
    let found = try await finding()
    #expect(found?.severity == .error)
    #expect(found?.message.contains("no file of a device that notes know") == true)
  }

  /// As that of who only reads: it has no head there.
  @Test func `it is known by what other devices have there`() async throws {
    let (a, manager) = try await make()
    let own = try bench.bench.names(bench.bench.shared).filter { !$0.hasPrefix(a.device) }
    try #require(own.count > 1)
    for name in own { try bench.bench.remove(bench.bench.shared + "/" + name) }
    try bench.spoil(published, at: 40)
    #expect(try await finding() == nil)
    let report = try await manager.repairDatastore("notes")
    #expect(report.wasNeeded && report.reinserted == 1)
    let repaired = try manager.openDatastore("notes")
    #expect(try repaired.ids() == ["of-b"])
    #expect(try repaired.table("sums").record("r")?.int("n") == 1)
    try repaired.close()
  }

  enum Unread: CaseIterable { case newer, refused }

  @Test(arguments: Unread.allCases, [false, true])
  func `a PUBLISHED that can't be read, but may be whole, ends a repair`(
    kind: Unread, usesFolder: Bool
  ) async throws {
    let (_, manager) = try await make()
    switch kind {
    case .newer:
      try bench.bend(published) { bytes in
        (bytes[8], bytes[10]) = (9, 9)
        let end = bytes.count - 8
        bytes.set(XXH3Sum.of(bytes, 0..<end), at: end)
      }
    case .refused:
      // Nobody can read a directory as a file, whoever asks.
      try bench.bench.remove(published)
      try bench.bench.makeDirectory(published)
      try bench.bench.write(published + "/file", [1])
    }
    let error = try await refusal(manager, usingFolder: usesFolder)
    #expect(error?.file == published)
    #expect((error?.code == .needsNewerVersion) == (kind == .newer))
  }
}
