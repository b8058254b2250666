import Cairn
import CairnDisk
import TestSupport
import Testing

/// Files that came to the wrong datastore: somebody has restored them into another directory.
@Suite struct RepairForeignTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  /// A local datastore of 400 records, half of them in its snapshot; its directory.
  private func make(
    _ id: String, table: String, by other: DatastoreManager? = nil
  ) throws -> String {
    let manager = try other ?? bench.local()
    let datastore = try manager.openOrCreateDatastore(id)
    for number in 0..<400 {
      try datastore.table(table).insert(
        ["text": .string(DamageWorkbench.text(number))], id: RecordID("r\(number)"))
      if number % 10 == 9 { try datastore.sync() }
      if number == 200 { try datastore.compact() }
    }
    try datastore.sync()
    try datastore.close()
    return manager.root + "/p-" + id
  }

  @Test(arguments: ["/log", "/snap"])
  func `a file of another datastore is left out and named`(part: String) async throws {
    let own = try make("notes", table: "t")
    let other = try make("other", table: "foreign")
    let place = try #require(try bench.files(own + part).first)
    let source = try #require(try bench.files(other + part).first)
    let (mine, theirs) = (try bench.bench.read(place), try bench.bench.read(source))
    try bench.bench.write(place, theirs)
    try bench.bench.write(source, mine)
    for (id, table, file) in [("notes", "t", place), ("other", "foreign", source)] {
      let manager = try bench.local()
      let report = try await manager.repairDatastore(id)
      #expect(report.wasNeeded)
      let told = report.losses.filter { $0.message.contains("belongs to another datastore") }
      #expect(told.map(\.file) == [file])
      let datastore = try manager.openDatastore(id)
      #expect(try datastore.tables().map(\.id) == [table])
      let count = try datastore.table(table).query().count
      #expect(count > 0 && count < 400)
      try datastore.close()
    }
  }

  /// No opening takes it, so nobody may call it whole.
  @Test func `a segment of another device is named, and repaired`() async throws {
    let manager = try bench.local()
    let own = try make("notes", table: "t")
    let elsewhere = try DatastoreManager(
      root: bench.bench.place.path + "/elsewhere", options: bench.bench.options)
    let other = try make("notes", table: "t", by: elsewhere)
    // Nothing follows the last one that could say that it is another.
    let place = try #require(try bench.files(own + "/log", ".seg").last)
    let source = try #require(try bench.files(other + "/log", ".seg").last)
    try #require(place.dropFirst(own.count) == source.dropFirst(other.count))
    try bench.bench.write(place, try bench.bench.read(source))
    let error = #expect(throws: CairnError.self) { try manager.openDatastore("notes") }
    #expect(error?.file == place)
    let inspector = try DatastoreInspector(root: manager.root, id: "notes")
    let problems = try inspector.segments().filter { $0.problem != nil }
    inspector.close()
    #expect(problems.map(\.file) == [place])
    let found = await Doctor(root: manager.root).examine()
    #expect(found.findings.contains { $0.file == place && $0.severity == .error })
    let report = try await manager.repairDatastore("notes")
    #expect(report.wasNeeded)
    let told = report.losses.filter { $0.message.contains("is of another device") }
    #expect(told.map(\.file) == [place])
    let repaired = try manager.openDatastore("notes")
    #expect(try repaired.table("t").query().count > 200)
    try repaired.close()
  }
}
