import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Object stores used by many tasks at once.
@Suite struct MappingConcurrencyTests {
  typealias Note = MappingBench.Note

  @Test func `writes, rounds, suspensions and looks at once lose nothing`() async throws {
    let bench = MappingBench()
    let a = try await bench.open("a")
    let b = try await bench.open("b")
    try await a.insert(Note(text: "w"), "n")
    try await bench.settle([a, b])
    let (tasks, rounds) = (4, 25)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        let store = task.isMultiple(of: 2) ? a.store : b.store
        group.addTask {
          for round in 0..<rounds {
            try await store.write { objects throws(CairnError) in
              try objects.update(Note.self, "n") { $0.stars += 1 }
              try objects.insert(Note(text: "x"), id: RecordID("t\(task)r\(round)"))
            }
          }
        }
      }
      for store in [a.store, b.store] {
        group.addTask { for _ in 0..<rounds { try await store.exchange() } }
        group.addTask {
          for _ in 0..<rounds {
            store.suspend()
            _ = try await store.pendingChangeSets()
            #expect(store.outbox.isSuspended)
            #expect(try store.objects(Note.self).get("n") != nil)
            store.resume()
            await Task.yield()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await bench.settle([a, b]))
    #expect(try a.note("n")?.stars == tasks * rounds)
    #expect(try a.notes().count == tasks * rounds + 1)
    #expect(try a.notes() == b.notes())
    #expect(a.store.outbox == OutboxStatus())
  }

  @Test func `datastores that sync by themselves meanwhile hide no record from the objects`()
    async throws
  {
    let bench = MappingBench()
    let a = try await bench.open("a")
    let b = try await bench.open("b")
    try await a.insert(Note(text: "w"), "n")
    try await bench.settle([a, b])
    let (rounds, main) = (40, try a.main)
    let (storeA, storeB) = (a.store, b.store)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for round in 0..<rounds {
          try await storeB.write { objects throws(CairnError) in
            try objects.insert(Note(text: "of b"), id: RecordID("b\(round)"))
          }
          _ = try await storeB.exchange()
        }
      }
      group.addTask {
        for round in 0..<rounds {
          try await storeA.write { objects throws(CairnError) in
            try objects.insert(Note(text: "of a"), id: RecordID("a\(round)"))
          }
          _ = try await storeA.exchange()
        }
      }
      group.addTask {
        for _ in 0..<(4 * rounds) {
          _ = try await main.exchange()
          try main.sync()
        }
      }
      try await group.waitForAll()
    }
    #expect(try await bench.settle([a, b]))
    #expect(try a.notes().count == 2 * rounds + 1)
    #expect(try a.notes() == b.notes())
  }

  @Test func `two rounds at once upload each set once`() async throws {
    let bench = MappingBench()
    let device = try await bench.open("a")
    try await device.insert(Note(text: "w"), "n")
    _ = try await device.exchange()
    for _ in 0..<8 { try await device.update("n") { $0.tags.append("x") } }
    try await device.insert(Note(text: "x"), "m")
    let sets = try await device.store.pendingChangeSets().map(\.id)
    let main = try device.main.store
    let before = main.vector[main.device]
    let store = device.store
    async let first = store.exchange()
    async let second = store.exchange()
    async let third = store.exchange()
    let reports = try await [first, second, third]
    let arrived = reports.flatMap(\.arrived)
    #expect(arrived.count == sets.count && Set(arrived) == Set(sets))
    #expect(main.vector[main.device] == before + UInt64(sets.count), "each is one delta")
    #expect(store.outbox == OutboxStatus())
    #expect(try device.record("n")?["tags"] == .list(Array(repeating: "x", count: 8)))
  }

  @Test func `in the background objects find their way, and a close ends it`() async throws {
    let bench = MappingBench()
    bench.options.pollSeconds = 0.01...0.02
    let a = try await bench.open("a")
    let b = try await bench.open("b")
    try await a.store.startExchanging()
    try await b.store.startExchanging()
    var news = b.store.changes.makeAsyncIterator()
    try await a.insert(Note(text: "x"), "n")
    while try b.note("n") == nil { #expect(await news.next() != nil) }
    #expect(try b.note("n") == Note(text: "x"))
    try await a.close()
    try await b.close()
    while await news.next() != nil {}
    #expect(!a.store.isOpen && !b.store.isOpen)
    let error = await #expect(throws: CairnError.self) { _ = try await a.store.exchange() }
    #expect(error?.code == .closed)
  }

  @Test func `a failure handler may exchange`() async throws {
    let bench = MappingBench()
    let store = Shared<ObjectStore?>(nil)
    let told = Told<Bool>()
    let hook = bench.hook
    let device = try await bench.open("a") { _ in
      guard let store = store.withLock({ $0 }) else { return }
      hook.set(nil)
      store.resume()
      do {
        _ = try await store.exchange()
        told.add(true)
      } catch { told.add(false) }
    }
    store.withLock { $0 = device.store }
    // A folder has to be begun: until then a refused write is no failure of an upload.
    _ = try await device.exchange()
    try await device.insert(Note(text: "x"), "n")
    bench.hook.fail([.write], .noConnection)
    await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    #expect(told.all == [true])
    #expect(device.store.outbox == OutboxStatus())
  }
}
