import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Walks over a result while the table changes.
struct QueryWalkTests {
  private func device(_ count: Int) throws -> StoreDevice {
    let device = try StoreDevice(1)
    for number in 0..<count {
      try device.store.insert("r\(number)", ["a": .int(Int64(number % 10)), "n": 0])
    }
    try device.store.sync()
    return device
  }

  private func condition(_ field: String, _ test: ValueTest) -> RecordQuery {
    var query = RecordQuery()
    query.conditions = [RecordQuery.Condition(field: field, test: test)]
    return query
  }

  @Test func `ids come once each, whatever happens between two steps`() throws {
    let device = try device(4000)
    _ = try device.store.compact()
    let random = SeededRandom(3)
    var walk = QueryWalk(condition("a", .range(ValueRange(lower: 5))))
    var seen: [String] = []
    var touched: Set<String> = []
    var steps = 0
    while !walk.hasEnded {
      seen += try device.store.advance(&walk, table: "t").map(\.text)
      steps += 1
      for _ in 0..<200 {
        let id = "r\(random.below(4000))"
        guard try device.store.get(id) != nil else { continue }
        touched.insert(id)
        if random.below(4) == 0 {
          try device.store.delete(id)
        } else {
          try device.store.set(id, ["a": .int(Int64(random.below(10)))])
        }
      }
      try device.store.sync()
      if steps % 2 == 1 { _ = try device.store.compact() }
    }
    #expect(steps > 2)
    #expect(Set(seen).count == seen.count)
    let steady = (0..<4000).filter { $0 % 10 >= 5 }.map { "r\($0)" }
    #expect(steady.allSatisfy { touched.contains($0) || seen.contains($0) })
  }

  @Test func `a large overlay is walked over in order`() throws {
    let device = try device(3000)
    var walk = QueryWalk(RecordQuery())
    var seen: [RecordName] = []
    while !walk.hasEnded { seen += try device.store.advance(&walk, table: "t") }
    #expect(seen.count == 3000)
    #expect(seen == seen.sorted())
  }

  @Test func `a table that is not there has nothing to walk over`() throws {
    let device = try device(1)
    var walk = QueryWalk(RecordQuery())
    #expect(try device.store.advance(&walk, table: "none").isEmpty)
    #expect(walk.hasEnded)
  }

  @Test func `a walk over a snapshot goes on in the middle of a block`() throws {
    let device = try device(1000)
    _ = try device.store.compact()
    try device.reopen()
    var walk = QueryWalk(RecordQuery())
    var seen: [RecordName] = []
    while !walk.hasEnded { seen += try device.store.advance(&walk, table: "t") }
    #expect(seen == (0..<1000).map { RecordName("r\($0)") }.sorted())
  }
}
