import Cairn
import TestSupport
import Testing

/// Typed tables from many threads at once.
@Suite struct TypedConcurrencyTests {
  struct Counter: Codable, Sendable, Equatable {
    var a = 0
    var b = 0
    var log: [Int] = []
  }

  @Test func `no update is lost`() async throws {
    let bench = try TypedBench()
    let table = try bench.table(of: Counter.self)
    try table.insert(Counter(), id: "r")
    let (threads, rounds) = (6, 50)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<threads {
        group.addTask {
          for _ in 0..<rounds {
            try table.update("r") { counter in
              if thread.isMultiple(of: 2) { counter.a += 1 } else { counter.b += 1 }
              if counter.log.count < 20 { counter.log.append(thread) }
            }
          }
        }
      }
      group.addTask {
        for _ in 0..<rounds { _ = try bench.datastore.sync() }
      }
      try await group.waitForAll()
    }
    let counter = try #require(try table.get("r"))
    #expect(counter.a == threads / 2 * rounds && counter.b == threads / 2 * rounds)
    #expect(counter.log.count == 20)
  }

  @Test func `one of many inserts`() async throws {
    let bench = try TypedBench()
    let table = try bench.table(of: Counter.self)
    let inserted = try await withThrowingTaskGroup(of: Int.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var inserted = 0
          for i in 0..<50 {
            let result = try table.getOrInsert(RecordID("r\(i)"), Counter(a: thread))
            if result.inserted { inserted += 1 }
            let now = try table.get(RecordID("r\(i)"))
            #expect(now == result.record.value)
          }
          return inserted
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(inserted == 50)
    #expect(try table.records().count == 50)
  }
}
