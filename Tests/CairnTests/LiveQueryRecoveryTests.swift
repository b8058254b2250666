import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A live query that could not be read once misses nothing.
@Suite(.timeLimit(.minutes(20))) struct LiveQueryRecoveryTests {
  private let bench = CatalogueBench()

  @Test func `after a read that failed the next result is whole`() async throws {
    bench.options.cacheBytes = 0
    let datastore = try bench.local("l").openDefaultDatastore()
    let table = try datastore.table("t")
    for number in 0..<10 {
      try table.insert(["n": .int(Int64(number))], id: RecordID("r\(number)"))
    }
    try datastore.sync()
    var live = try table.live(Query().where("n", .less(5)).sorted(by: "n")).makeAsyncIterator()
    #expect(try await live.next()?.ids == ["r0", "r1", "r2", "r3", "r4"])
    try table["r1"].set("n", 9)
    try datastore.sync()
    // From here on what a record is has to be read from the disk.
    try datastore.compact()
    bench.disk.failAt(read: bench.disk.reads + 1, reason: .io(errno: 5), forever: true)
    await #expect { try await live.next() } throws: { ($0 as? CairnError)?.code == .fileIO }
    bench.disk.heal()
    // The change that could not be looked at was told already: nobody tells it again.
    try table["r3"].set("other", 1)
    let next = try #require(await live.next())
    #expect(next.ids == ["r0", "r2", "r3", "r4"])
    #expect(next.changes.contains(.removed(table["r1"], from: 1)))
    try datastore.close()
  }
}
