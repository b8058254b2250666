import Cairn
import CairnDisk
import TestSupport
import Testing

/// What is over says how it ended, whatever is asked of it, and nothing of it goes on.
@Suite struct LifecycleTests {
  private let bench = CatalogueBench()

  /// Everything that can be done with a datastore and what belongs to it.
  private func calls(_ datastore: Datastore) throws -> [(String, () throws -> Void)] {
    let table = try datastore.table("t")
    let record = try #require(try table.record("r"))
    return [
      ("sync", { try datastore.sync() }), ("rollback", { try datastore.rollback() }),
      ("table", { _ = try datastore.table("t") }), ("tables", { _ = try datastore.tables() }),
      ("title", { _ = try datastore.title }), ("setTitle", { try datastore.setTitle("x") }),
      ("setDefaultRule", { try datastore.setDefaultRule(.max) }),
      ("compact", { try datastore.compact() }),
      ("startExchanging", { try datastore.startExchanging() }),
      ("count", { _ = try table.count }), ("query", { _ = try table.query() }),
      ("records", { _ = try table.records() }),
      ("record", { _ = try table.record("r") }), ("insert", { try table.insert([:]) }),
      ("getOrInsert", { _ = try table.getOrInsert("x") }),
      ("setRule", { try table.setRule(.max, field: "x") }),
      ("fields", { _ = try record.fields }), ("get", { _ = try record.get("from") }),
      ("isDeleted", { _ = try record.isDeleted }), ("set", { try record.set("x", 1) }),
      ("delete", { try record.delete() }),
    ]
  }

  @Test func `after a shutdown all objects say so`() async throws {
    let manager = bench.manager("a")
    let datastore = try manager.openDefaultDatastore()
    try datastore.add("r")
    let calls = try calls(datastore)
    try datastore.table("t").insert([:], id: "not-synced")
    try datastore.startExchanging()
    try manager.startExchanging()
    try manager.shutDown()
    #expect(manager.isShutDown && !datastore.isOpen)
    for (name, call) in calls { #expect(code(call) == .shutdown, "\(name)") }
    #expect(await datastore.exchangeError()?.code == .shutdown)
    #expect(await manager.refreshError()?.code == .shutdown)
    let managerCalls: [() throws -> Void] = [
      { _ = try manager.openDefaultDatastore() }, { _ = try manager.openDatastore("default") },
      { _ = try manager.createDatastore() }, { _ = try manager.listDatastores() },
      { _ = try manager.datastoreInfos() }, { try manager.deleteDatastore("default") },
      { try manager.uncacheDatastore("default") }, { try manager.startExchanging() },
    ]
    for call in managerCalls { #expect(code(call) == .shutdown) }
    try datastore.close()
    #expect(bench.disk.heldLocks == 0 && bench.disk.openFiles == 0)
    // What was synced is published the next time, what was not is gone.
    let next = bench.manager("a")
    #expect(try await next.content("default") == ["r"])
    #expect(try await bench.manager("b").content("default") == ["r"])
  }

  @Test func `a datastore that was closed before stays merely closed`() throws {
    let manager = bench.manager("a")
    let datastore = try manager.openDefaultDatastore()
    try datastore.add("r")
    let calls = try calls(datastore)
    try datastore.close()
    for (name, call) in calls { #expect(code(call) == .closed, "\(name)") }
    try manager.shutDown()
    for (name, call) in calls { #expect(code(call) == .closed, "\(name)") }
  }

  @Test func `a deleted local datastore is gone for good`() throws {
    let manager = bench.local("l")
    let datastore = try manager.openOrCreateDatastore("n")
    try datastore.add("r")
    // A local one has nothing to exchange with, open or not.
    let calls = try calls(datastore).filter { $0.0 != "startExchanging" }
    #expect(code { try manager.deleteDatastore("n") } == .alreadyOpen)
    try datastore.close()
    try manager.deleteDatastore("n")
    #expect(bench.files("/l") == [])
    for (name, call) in calls { #expect(code(call) == .closed, "\(name)") }
    #expect(try manager.openOrCreateDatastore("n").ids() == [])
    for (name, call) in calls { #expect(code(call) == .closed, "\(name)") }
  }

  @Test func `a power cut at any step of a delete leaves all of it or nothing`() throws {
    bench.options.durability = .full
    let datastore = try bench.local("l").openOrCreateDatastore("n")
    try datastore.add("r")
    try datastore.compact()
    try datastore.add("s")
    try datastore.close()
    let before = bench.disk.snapshot()
    let start = bench.disk.operations
    try bench.local("l").deleteDatastore("n")
    let count = bench.disk.operations - start
    var (whole, gone) = (0, 0)
    for step in 1...count + 1 {
      let disk = before.snapshot()
      bench.use(disk)
      disk.powerOff(before: disk.operations + step)
      do { try bench.local("l").deleteDatastore("n") } catch {}
      for model in [CrashModel.nothingUnsynced, .everything] + (0..<6).map(CrashModel.subset) {
        bench.use(disk.crash(keep: model))
        let manager = bench.local("l")
        if try manager.ids() == ["n"] {
          let left = try manager.openDatastore("n")
          #expect(try left.ids() == ["r", "s"], "step \(step), \(model)")
          try left.close()
          whole += 1
        } else {
          let next = try manager.openOrCreateDatastore("n")
          #expect(try next.ids() == [], "step \(step), \(model)")
          try next.close()
          gone += 1
        }
      }
    }
    #expect(whole > 0 && gone > 0)
  }

  @Test func `an error on the way to a datastore leaves nothing open`() throws {
    var failures = 0
    for read in 1... {
      let bench = CatalogueBench()
      try bench.manager("a").openOrCreateDatastore("n").close()
      let manager = bench.manager("a")
      bench.disk.failAt(read: bench.disk.reads + read, reason: .tooManyOpen)
      if code({ _ = try manager.openDatastore("n") }) == nil { break }
      failures += 1
      bench.disk.heal()
      #expect(bench.disk.openFiles == 0 && bench.disk.heldLocks == 0, "read \(read)")
      try manager.openDatastore("n").close()
    }
    #expect(failures > 8)
  }
}
