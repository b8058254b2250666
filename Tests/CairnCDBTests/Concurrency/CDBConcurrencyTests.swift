import Cairn
import CairnCDB
import CairnDisk
import Synchronization
import TestSupport
import Testing

/// Many threads in one store, and in one file.
@Suite struct CDBConcurrencyTests {
  @Test func `what threads write while others save is all there`() throws {
    let place = try TemporaryDirectory()
    let store = CDBStore<String, String>(place.path("s"), keys: .text, values: .text)
    try store.open()
    try Threads.run(6) { thread in
      if thread == 0 {
        for _ in 0..<12 { try store.save() }
        return
      }
      for index in 0..<60 {
        let key = "\(thread)-\(index)"
        try store.set("first", for: key)
        try store.set("value \(index)", for: key)
        if index % 4 == 3 { try store.remove(key) }
        let expected = index % 4 == 3 ? nil : "value \(index)"
        #expect(try store[key] == expected)
        if index % 20 == 19 {
          var mine = 0
          for key in try store.allKeys() where key.hasPrefix("\(thread)-") { mine += 1 }
          #expect(mine == (index + 1) / 4 * 3)
          store.emptyCache()
        }
      }
    }
    let expected = Dictionary(
      uniqueKeysWithValues: (1..<6).flatMap { thread in
        (0..<60).filter { $0 % 4 != 3 }.map { ("\(thread)-\($0)", "value \($0)") }
      })
    #expect(try store.dictionary() == expected)
    try store.close()
    try store.open()
    #expect(try store.dictionary() == expected)
    #expect(try store.count == expected.count)
  }

  @Test func `threads that read one file see all of it`() throws {
    let place = try TemporaryDirectory()
    let random = SeededRandom(4)
    let records = (0..<2000).map { (key: CDBSample.bytes("\($0)"), value: random.bytes(60)) }
    let writer = try CDBWriter(place.path("f"))
    for record in records { try writer.add(record.key, record.value) }
    try writer.finish()
    for cacheBytes in [1 << 20, 50_000, 0] {
      let file = try CDBFile(place.path("f"), cacheBytes: cacheBytes)
      try Threads.run(4) { thread in
        for index in records.indices {
          let record = records[(index * 7 + thread * 500) % records.count]
          let isEqual = try file.withValue(for: record.key.span) { span throws(CairnError) in
            span.count == 60 && span.indices.allSatisfy { span[$0] == record.value[$0] }
          }
          #expect(isEqual == true)
        }
      }
    }
  }

  @Test func `one key is one object, whoever asks`() throws {
    let place = try TemporaryDirectory()
    let store = CDBStore<Int, Counter>(place.path("s"), keys: .decimal, values: Counter.coding)
    try store.open()
    for number in 0..<50 { try store.set(Counter(number), for: number) }
    try store.save()
    store.emptyCache()
    // The objects themselves: where one was that is gone there may be another.
    let seen = Lock<[Int: Counter]>([:])
    try Threads.run(4) { _ in
      for number in 0..<50 {
        let counter = try #require(try store[number])
        #expect(counter.value == number)
        let first = seen.withLock { seen in
          seen[number] = seen[number] ?? counter
          return seen[number]
        }
        #expect(first === counter)
      }
    }
  }

  @Test func `a writer takes records from several threads`() throws {
    let disk = MemoryDisk()
    let writer = try CDBWriter("/f", machine: CDBSample.machine(disk))
    try Threads.run(4) { thread in
      for index in 0..<100 { try writer.add(CDBSample.bytes("\(thread)-\(index)"), [1, 2, 3]) }
    }
    try writer.finish()
    let file = try CDBFile(disk: disk, path: "/f")
    #expect(try file.statistics().keys == 400)
  }
}
