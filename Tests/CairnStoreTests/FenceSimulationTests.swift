import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Stores that cut, fold and retire at any moment, and hear of each other late: devices that have
/// the same deltas write the same snapshot, and one that starts from nothing ends like them.
struct FenceSimulationTests {
  private static let records = ["r", "s", "t", "u"]
  private static let fields = ["a", "n", "l"]

  private func change(_ store: Store, _ random: SeededRandom) throws {
    let id = Self.records[random.below(Self.records.count)]
    let field = Self.fields[random.below(Self.fields.count)]
    let value: FieldValue? =
      field == "l"
      ? .list([.int(Int64(random.below(5)))])
      : random.below(6) == 0 ? nil : .int(Int64(random.below(9)))
    guard try store.get(id) != nil else {
      return try store.insert(
        table: "t", id: RecordName(id), value.map { [(field, $0)] } ?? [])
    }
    if random.below(4) == 0 { return try store.delete(id) }
    try store.update(table: "t", id: RecordName(id), [(field, value)])
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `devices agree to the last byte`(seed: UInt64) throws {
    let random = SeededRandom(seed)
    let group = try FenceGroup(2 + random.below(3), seed: seed + 1)
    let all = Array(group.devices.indices)
    for number in all {
      try group[number].setRule(.sum, table: "t", field: "n")
      try change(group[number], random)
    }
    // Everybody knows everybody: nobody is a stranger.
    try group.settle()
    for _ in 0..<60 {
      let number = random.below(all.count)
      switch random.below(12) {
      case 0...3: try change(group[number], random)
      case 4, 5: try group[number].sync()
      case 6: try group.publish(number)
      case 7, 8: try group.read(number, from: all.filter { _ in random.coin() })
      case 9: group[number].requestCut()
      case 10: _ = try group[number].compact()
      default: try group.devices[number].reopen()
      }
    }
    for _ in 0..<3 {
      try group.settle()
      group[0].requestCut()
    }
    try group.settle()
    let new = try group.add(seed + 9000)
    try group.read(new, from: all)
    for number in all {
      #expect(group[number].vector == group[new].vector, "seed \(seed), device \(number)")
    }
    let bytes = try group.snapshot(new)
    let content = try StoreContent(group[new])
    for number in all {
      #expect(try group.snapshot(number) == bytes, "seed \(seed), device \(number)")
      #expect(
        try StoreContent(group[number]).differences(from: content) == [],
        "seed \(seed), device \(number)")
    }
    #expect(group[0].cuts.cuts.contains { $0.isSealed })
  }
}
