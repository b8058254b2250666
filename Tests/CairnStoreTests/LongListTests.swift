import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Lists that no device could have made longer, and that merging has: they are read, made shorter,
/// folded into snapshots and joined like all others.
@Suite struct LongListTests {
  /// How two devices come to have a list of 18 MiB between them.
  enum Way: CaseIterable, CustomTestStringConvertible {
    /// Both add to one that was put.
    case put
    /// Both begin it.
    case begun
    /// Both begin it, and one goes on.
    case goneOn
    /// As `put`; the rule goes by what is greater, which looks at all of it.
    case greatest

    var testDescription: String { "\(self)" }
  }

  private static let id = RecordName("r")

  private static func items(_ value: UInt8) -> [FieldValue] {
    (0..<9).map { .bytes([UInt8](repeating: value * 16 + $0, count: 1 << 20)) }
  }

  private static func device(_ seed: UInt64, isWide: Bool = true) throws -> StoreDevice {
    try StoreDevice(seed, time: 1000 * Int64(seed)) {
      if !isWide { return }
      $0.limits = Limits(
        recordBytes: 64 << 20, datastoreBytes: 1 << 30, deltaBytes: 32 << 20)
    }
  }

  private static func edit(_ device: StoreDevice, _ operation: ListOperation) throws {
    try device.store.edit(table: "t", id: id, field: "l", operation)
  }

  /// Two devices with such a list, and their packs.
  private static func pair(_ way: Way) throws -> (devices: [StoreDevice], packs: [[UInt8]]) {
    let (a, b) = (try device(1), try device(2))
    let isBegun = way == .begun || way == .goneOn
    try a.store.insert("r", isBegun ? ["n": 1] : ["n": 1, "l": .list(["first"])])
    if way == .greatest { try a.store.setRule(.max, table: "t", field: "l") }
    try a.store.sync()
    _ = try b.store.sync(packs: [try a.store.pack()])
    for (number, device) in [a, b].enumerated() {
      try edit(device, .insertAll(items(UInt8(number)), at: isBegun ? 0 : number))
      try device.store.sync()
    }
    if way == .goneOn {
      try edit(a, .replace(at: 0, "replaced"))
      try a.store.sync()
    }
    let packs = [try a.store.pack(), try b.store.pack()]
    for device in [a, b] { _ = try device.store.sync(packs: packs) }
    return ([a, b], packs)
  }

  /// Whether all devices show the same, and count it right.
  private static func check(_ devices: [StoreDevice], count: Int) throws {
    let content = try StoreContent(devices[0].store)
    for device in devices {
      let now = try StoreContent(device.store)
      // To say what differs of so much would take minutes.
      let isSame = now == content
      #expect(isSame)
      let record = now.tables["t"]?["r"] ?? [:]
      guard case .list(let items)? = record["l"] else {
        Issue.record("there is no list")
        continue
      }
      #expect(items.count == count && record["n"] == 1)
      let store = device.store
      let isValue = try store.value(table: "t", id: id, field: "l") == .list(items)
      let areItems = try store.listItems(table: "t", id: id, field: "l") == items
      #expect(isValue && areItems)
      #expect(try store.listCount(table: "t", id: id, field: "l") == count)
      #expect(store.totals.size == now.size && store.totals.records == 1)
      #expect(try store.query(table: "t", [("l", .list(items))]).map(\.text) == ["r"])
    }
  }

  @Test(arguments: Way.allCases)
  func `it is the same everywhere, also in a snapshot`(way: Way) throws {
    let (devices, packs) = try Self.pair(way)
    let count = way == .put || way == .greatest ? 19 : 18
    try Self.check(devices, count: count)
    for device in devices {
      try device.reopen()
      _ = try device.store.compact()
    }
    let areSame = devices[0].snapshotBytes() == devices[1].snapshotBytes()
    #expect(areSame)
    try Self.check(devices, count: count)
    for device in devices { try device.reopen() }
    try Self.check(devices, count: count)
    // One with the usual limits can't keep it from coming.
    let (c, d) = (try Self.device(3, isWide: false), try Self.device(4, isWide: false))
    _ = try c.store.sync(packs: packs)
    let path = d.store.temporarySnapshotPath()
    try d.disk.setBytes(path, try #require(devices[0].snapshotBytes()))
    try d.store.insert("mine")
    try d.store.sync()
    _ = try d.store.join(snapshot: path)
    try d.store.delete("mine")
    try d.store.sync()
    try Self.check(devices + [c, d], count: count)
    for device in [c, d] {
      _ = try device.store.compact()
      try device.reopen()
    }
    try Self.check(devices + [c, d], count: count)
  }

  @Test(arguments: Way.allCases, [false, true])
  func `it can be made shorter, and then longer again`(way: Way, isFolded: Bool) throws {
    let (devices, _) = try Self.pair(way)
    let (a, b) = (devices[0], devices[1])
    var count = way == .put || way == .greatest ? 19 : 18
    if isFolded {
      for device in devices {
        _ = try device.store.compact()
        try device.reopen()
      }
    }
    #expect(refusal { try Self.edit(a, .append("more")) } == .sizeLimit)
    var sent = a.store.vector[a.id]
    func meet() throws {
      try a.store.sync()
      _ = try b.store.sync(packs: [try a.store.pack(after: sent)])
      sent = a.store.vector[a.id]
    }
    // One step at a time, so that it is still too long after the first.
    for _ in 0..<4 {
      try Self.edit(a, .remove(at: 1))
      count -= 1
      try meet()
      try Self.check(devices, count: count)
    }
    try Self.edit(a, .move(from: 0, to: 3))
    try Self.edit(a, .append("more"))
    count += 1
    try meet()
    try Self.check(devices, count: count)
    try a.store.set("r", ["n": 2])
    try a.store.rollBack()
    for device in devices {
      try device.reopen()
      _ = try device.store.compact()
    }
    let areSame = a.snapshotBytes() == b.snapshotBytes()
    #expect(areSame)
    try Self.check(devices, count: count)
  }

  @Test(arguments: Way.allCases)
  func `it can be replaced and taken away as a whole`(way: Way) throws {
    let (devices, _) = try Self.pair(way)
    let (a, b) = (devices[0], devices[1])
    var sent = a.store.vector[a.id]
    try a.store.set("r", ["l": nil])
    try a.store.rollBack()
    try Self.check(devices, count: way == .put || way == .greatest ? 19 : 18)
    for value: FieldValue? in [.list(["short"]), nil] {
      try a.store.set("r", ["l": value])
      try a.store.sync()
      _ = try b.store.sync(packs: [try a.store.pack(after: sent)])
      sent = a.store.vector[a.id]
      for device in devices { #expect(try device.store.get("r")?["l"] == value) }
    }
  }
}
