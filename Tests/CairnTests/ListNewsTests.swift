import CairnDisk
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// What the list of datastores is told, and what it finds after a crash.
@Suite struct ListNewsTests {
  private let bench = CatalogueBench()

  @Test func `a datastore that a repair has brought back is told to those who watch the list`()
    async throws
  {
    let manager = bench.local("a")
    try await manager.with("n") { try $0.add("r") }
    try bench.disk.remove("/a/p-n/CURRENT")
    let told = Told<[String]>()
    let observation = manager.observeDatastores(on: { $0() }) { told.add($0.map(\.id)) }
    #expect(try manager.ids() == [])
    let dry = try await manager.repairDatastore("n", dryRun: true)
    #expect(dry.wasNeeded && told.all.allSatisfy { $0 == [] })
    let report = try await manager.repairDatastore("n")
    #expect(report.wasNeeded && report.original != nil)
    #expect(told.all.last == ["n"])
    #expect(try manager.ids() == ["n"])
    let mended = try manager.openDatastore("n")
    #expect(report.device == mended.device, "it says under which name it goes on")
    #expect(try mended.ids() == ["r"] && report.records == mended.recordCount)
    withExtendedLifetime(observation) {}
  }

  /// Otherwise a title that is in the folder would be taken for one that is still to be published.
  @Test func `what was published is in INFO from then on, and not only when it is closed`()
    async throws
  {
    let a = try bench.manager("a").openOrCreateDatastore("n")
    try a.setTitle("title")
    try a.sync()
    let before = try #require(try InfoFile.read("/a/p-n", disk: bench.disk))
    #expect(before.view.title == "title" && before.published?.title == nil)
    try await a.exchange()
    let after = try #require(try InfoFile.read("/a/p-n", disk: bench.disk))
    #expect(after.published?.title == "title" && after.published == after.view)
  }

  @Test func `what was taken in before a crash is in the list as soon as it is open again`()
    async throws
  {
    let a = try bench.manager("a").openOrCreateDatastore("n")
    let b = try bench.manager("b").openOrCreateDatastore("n")
    try a.add("of-a")
    try await a.exchange()
    try b.add("of-b")
    try await b.exchange()
    try await a.pull()
    #expect(try a.ids() == ["of-a", "of-b"])
    let before = try #require(try InfoFile.read("/a/p-n", disk: bench.disk))
    #expect(before.view.records == 1, "it is written when something is published")
    bench.crash(.everything)
    let manager = bench.manager("a")
    let again = try manager.openDatastore("n")
    #expect(try manager.listDatastores().map(\.recordCount) == [2])
    try again.close()
  }

  /// They are for simulations, in which a few records are to reach them.
  @Test func `all sizes that are tuned reach the store`() {
    var tuning = Tuning()
    (tuning.segmentBytes, tuning.compactFrom, tuning.replayBytes) = (1, 2, 3)
    (tuning.overlayBytes, tuning.indexRecords, tuning.compactsInline) = (4, 5, true)
    var options = StoreOptions()
    tuning.apply(to: &options)
    #expect(options.segmentBytes == 1 && options.compactFrom == 2 && options.replayBytes == 3)
    #expect(options.overlayBytes == 4 && options.indexRecords == 5 && options.compactsInline)
    // What the app has chosen stays.
    tuning.segmentBytes = nil
    options.segmentBytes = 7
    tuning.apply(to: &options)
    #expect(options.segmentBytes == 7)
  }
}
