import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Fields by number, where there are more of them than are found by comparing names.
struct FieldNumbersTests {
  @Test func `names keep their numbers, however many there are`() {
    for seed in 0..<40 as Range<UInt64> {
      let random = SeededRandom(seed)
      let most = [10, 16, 17, 18, 60][Int(seed % 5)]
      var numbers = FieldNumbers()
      var model: [String] = []
      for _ in 0..<400 {
        let name = "f\(random.below(most))"
        let known = model.firstIndex(of: name)
        switch random.below(3) {
        case 0: #expect(numbers.known(name) == known, "seed \(seed)")
        case 1: #expect(numbers.find(name) == known, "seed \(seed)")
        default:
          if known == nil { model.append(name) }
          #expect(numbers.number(name) == known ?? model.count - 1, "seed \(seed)")
        }
        #expect(numbers.names == model)
      }
      #expect(model.count >= min(most, 18))
    }
  }

  @Test(arguments: [15, 16, 17, 40])
  func `names in one order have their numbers again and again`(count: Int) {
    var numbers = FieldNumbers()
    let names = (0..<count).map { "f\($0)" }
    for _ in 0..<3 {
      #expect(names.map { numbers.number($0) } == Array(0..<count))
      #expect(names.reversed().map { numbers.find($0) } == (0..<count).reversed())
    }
    #expect(numbers.find("other") == nil && numbers.names == names)
  }

  @Test(arguments: [16, 17, 40])
  func `a table of many fields is what it was after every way of storing it`(count: Int) throws {
    let device = try StoreDevice(1)
    let peer = try StoreDevice(2)
    func fields(_ record: Int) -> [(String, FieldValue)] {
      let order = record % 2 == 0 ? Array(0..<count) : (0..<count).reversed()
      return order.filter { ($0 + record) % 3 > 0 }.map { ("f\($0)", .int(Int64($0 * record))) }
    }
    for record in 0..<12 {
      try device.store.insert(
        table: "t", id: RecordName("r\(record)"), fields(record).map { ($0.0, $0.1) })
      if record % 5 == 0 { try device.store.sync() }
    }
    try device.store.sync()
    #expect(try peer.store.sync(packs: [device.store.pack()]).appliedCount > 0)
    func check(_ store: Store) throws {
      for record in 0..<12 {
        let expected = Dictionary(uniqueKeysWithValues: fields(record))
        #expect(try store.get("r\(record)") == expected)
      }
      let last = "f\(count - 1)"
      let found = (0..<12).filter { ($0 + count - 1) % 3 > 0 && $0 == 4 }.map { "r\($0)" }
      #expect(try store.find(last, .int(Int64((count - 1) * 4))) == found)
    }
    try check(device.store)
    try check(peer.store)
    for device in [device, peer] {
      try device.reopen()
      try check(device.store)
      _ = try device.store.compact()
      try device.reopen()
      try check(device.store)
      try device.store.set("r1", ["f0": "changed"])
      try device.store.sync()
      #expect(try device.store.get("r1")?["f0"] == "changed")
      #expect(try device.store.get("r1")?.count == Set(fields(1).map(\.0) + ["f0"]).count)
    }
  }
}
