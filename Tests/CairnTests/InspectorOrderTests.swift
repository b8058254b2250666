import Cairn
import TestSupport
import Testing

/// What makes a datastore one that can't be opened is damage, or a newer version's, for each of
/// those who look: the same thing for all of them.
@Suite struct InspectorOrderTests {
  private typealias Problem = DatastoreInspector.VerifyReport.Problem

  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var store: String { bench.directory(bench.localRoot) }

  /// A closed datastore with one record; the newest file of its log.
  private func make() throws -> String {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try datastore.add("r")
    try datastore.close()
    return try #require(try bench.files(store + "/log", ".seg").last)
  }

  private func problems(_ root: String) throws -> [Problem] {
    let inspector = try DatastoreInspector(root: root, id: "notes")
    defer { inspector.close() }
    return try inspector.verify().problems
  }

  private func opening() -> CairnError.Code? {
    do {
      try bench.local().openDatastore("notes").close()
      return nil
    } catch { return (error as? CairnError)?.code }
  }

  @Test func `a delta whose number is not the next one is damage, and is repaired`() async throws {
    let path = try make()
    #expect(try problems(bench.localRoot) == [])
    try bench.bend(path) { $0 = $0.appendingFrame(sequence: 9, payload: [0, 0, 0]) }
    #expect(opening() == .corrupt)
    let found = try problems(bench.localRoot)
    #expect(found.map(\.file) == [path] && found.map(\.isDamage) == [true], "\(found)")
    #expect(found.first?.message.contains("a delta before it is missing") == true, "\(found)")
    let report = await Doctor(root: bench.localRoot).examine()
    let said = report.findings.filter { $0.check == "log" }
    #expect(said.map(\.severity) == [.error] && said.first?.command != nil, "\(said)")
    let repair = try await bench.local().repairDatastore("notes")
    #expect(repair.wasNeeded)
    #expect(try problems(bench.localRoot) == [])
    let datastore = try bench.local().openDatastore("notes")
    #expect(try datastore.ids() == ["r"])
    try datastore.close()
  }

  @Test func `a frame of an unknown kind is a newer version's for all who look`() async throws {
    let path = try make()
    try bench.bend(path) { $0 = $0.appendingFrame(kind: 9, sequence: 9, payload: [1]) }
    #expect(opening() == .needsNewerVersion)
    let found = try problems(bench.localRoot)
    #expect(found.map(\.file) == [path] && found.map(\.isUnread) == [true], "\(found)")
    #expect(found.map(\.isDamage) == [false])
    let report = await Doctor(root: bench.localRoot).examine()
    let said = report.findings.filter { $0.check == "log" }
    #expect(said.count == 1 && said.first?.command == nil, "\(said)")
    let error = await #expect(throws: CairnError.self) {
      _ = try await bench.local().repairDatastore("notes")
    }
    #expect(error?.code == .needsNewerVersion)
  }

  @Test func `a damaged list of datastores is told beside what the datastore has`() async throws {
    let manager = try bench.linked("a")
    let datastore = try manager.openOrCreateDatastore("notes")
    try datastore.add("r")
    try datastore.close()
    try await manager.refresh()
    let root = bench.bench.root("a")
    #expect(try problems(root) == [])
    try bench.spoil(root + "/CATALOGUE", at: 60)
    let inspector = try DatastoreInspector(root: root, id: "notes")
    defer { inspector.close() }
    let report = try inspector.verify()
    #expect(report.problems.map(\.file) == [root + "/CATALOGUE"], "\(report.problems)")
    #expect(report.problems.map(\.isDamage) == [true] && report.deltas == 1)
    let error = #expect(throws: CairnError.self) {
      _ = try DatastoreInspector(root: root, id: "other")
    }
    #expect(error?.code == .corrupt && error?.file == root + "/CATALOGUE")
  }
}
