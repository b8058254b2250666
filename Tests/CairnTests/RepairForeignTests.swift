import Cairn
import CairnDisk
import TestSupport
import Testing

/// Files that came to the wrong datastore: somebody has restored them into another directory.
@Suite struct RepairForeignTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  /// A local datastore of 400 records, half of them in its snapshot; its directory.
  private func make(_ id: String, table: String) throws -> String {
    let manager = try bench.local()
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
}
