import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// That the log can't be folded is no secret.
@Suite(.timeLimit(.minutes(20))) struct MaintenanceErrorTests {
  private let bench = CatalogueBench()
  private let told = Told<String>()

  init() {
    bench.options.compactsAutomatically = true
    bench.options.tuning.compactFrom = 1000
    bench.options.tuning.compactsInline = true
  }

  private func open() throws -> Datastore { try bench.local("l").openDefaultDatastore() }

  /// The disk takes everything but new snapshots.
  private func refuseSnapshots() {
    bench.disk.intercept { operation in
      let isSnapshot = operation.path.contains("/snap/") && operation.path.hasSuffix(".tmp")
      return operation.verb == "write" && isSnapshot ? .noSpace : nil
    }
  }

  /// A commit after which it is time to fold the log.
  private func commit(_ datastore: Datastore) throws {
    try datastore.table("t").insert(["b": .bytes(SeededRandom(1).bytes(3000))])
    try datastore.sync()
  }

  private func observe(_ datastore: Datastore) -> Observation {
    datastore.observeStatus(on: { $0() }) { [told] status in
      told.add(status.maintenanceError?.code.rawValue ?? "none")
    }
  }

  private func until(_ last: String) async {
    while told.all.last != last { await Task.yield() }
  }

  @Test func `a compaction that fails shows until one succeeds, and observers are told`()
    async throws
  {
    let datastore = try open()
    let observation = observe(datastore)
    await until("none")
    refuseSnapshots()
    try commit(datastore)
    await until("diskSpace")
    let status = datastore.status
    #expect(status.anyError?.code == .diskSpace && status.anyError == status.maintenanceError)
    #expect(try datastore.statistics().maintenanceError == status.maintenanceError)
    bench.disk.heal()
    try commit(datastore)
    await until("none")
    #expect(datastore.status.anyError == nil)
    #expect(try datastore.statistics().maintenanceError == nil)
    #expect(try datastore.table("t").count == 2)
    observation.cancel()
    try datastore.close()
  }

  @Test func `a compaction that was asked for makes good one that failed`() async throws {
    let datastore = try open()
    let observation = observe(datastore)
    refuseSnapshots()
    try commit(datastore)
    await until("diskSpace")
    #expect(code { try datastore.compact() } == .diskSpace)
    #expect(datastore.status.maintenanceError?.code == .diskSpace)
    bench.disk.heal()
    try datastore.compact()
    await until("none")
    #expect(datastore.status.maintenanceError == nil)
    observation.cancel()
    try datastore.close()
  }

  @Test func `a handler may close the datastore because of it`() async throws {
    bench.options.tuning.compactsInline = false
    let datastore = try open()
    refuseSnapshots()
    let isDone = Flag()
    let observation = datastore.observeStatus(on: { $0() }) { [weak datastore] status in
      guard status.maintenanceError != nil else { return }
      do { try datastore?.close() } catch { Issue.record(error) }
      isDone.raise()
    }
    try commit(datastore)
    while !isDone.isUp { await Task.yield() }
    #expect(!datastore.isOpen)
    observation.cancel()
  }
}
