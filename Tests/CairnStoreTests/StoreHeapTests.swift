import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What is set again and again takes no more memory than what is there, whether or not a compaction
/// has a reason to come.
struct StoreHeapTests {
  private static let bound = 16 << 20

  private func overlay(_ device: StoreDevice) throws -> Int {
    try device.store.withState { $0.store.overlayBytes }
  }

  /// A text of 20,000 bytes, another one for each number.
  private func text(_ number: Int) -> FieldValue {
    .string("\(number) " + String(repeating: "x", count: 20_000))
  }

  @Test(arguments: [0, 100])
  func `a text that is set 5,000 times is kept a few times only`(syncs: Int) throws {
    let device = try StoreDevice(1)
    try device.store.addIndex(IndexName(table: "t", field: "s"))
    try device.store.insert("r", ["s": text(-1), "other": "as it was"])
    try device.store.insert("q", ["s": text(-2)])
    try device.store.sync()
    var most = 0
    for number in 0..<5000 {
      try device.store.set("r", ["s": text(number)])
      if syncs > 0, number % syncs == syncs - 1 { try device.store.sync() }
      most = max(most, try overlay(device))
      if number % 500 == 499 {
        #expect(try device.store.find("s", text(number)) == ["r"])
        #expect(try device.store.find("s", text(number - 1)) == [])
        #expect(try device.store.find("s", text(-2)) == ["q"])
      }
    }
    #expect(most < Self.bound)
    try device.store.rollBack()
    let last = syncs > 0 ? text(4999) : text(-1)
    #expect(try device.store.get("r") == ["s": last, "other": "as it was"])
    let content = try StoreContent(device.store)
    try device.reopen()
    #expect(try StoreContent(device.store) == content)
  }

  @Test func `what is taken back leaves nothing behind`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["s": text(-1)])
    try device.store.sync()
    var most = 0
    for number in 0..<3000 {
      try device.store.set("r", ["s": text(number)])
      try device.store.insert("new", ["s": text(number), "l": .list([text(number)])])
      try device.store.rollBack()
      most = max(most, try overlay(device))
    }
    #expect(most < Self.bound)
    #expect(try device.store.get("r") == ["s": text(-1)])
    #expect(try device.store.get("new") == nil)
  }

  /// All that refers to the heap: cells of full columns and of rare ones, of several tables, of
  /// what is pending, and of what was there before.
  @Test(arguments: 0..<4 as Range<UInt64>)
  func `whatever is set, deleted, committed and taken back, all else stays what it is`(
    seed: UInt64
  ) throws {
    let random = SeededRandom(seed)
    let device = try StoreDevice(seed, isLinked: random.coin()) {
      $0.limits = Limits(
        recordBytes: 8 << 20, datastoreBytes: 1 << 30, deltaBytes: 32 << 20)
    }
    var pending = StoreContent()
    // Among so many records a field that few have is kept in another way.
    for number in 0..<400 {
      let name = RecordName("many\(number)")
      try device.store.insert(table: "t", id: name, [("f0", FieldValue.int(1))])
      pending.tables["t", default: [:]][name.text] = ["f0": 1]
    }
    try device.store.sync()
    var committed = pending
    var most = 0
    for step in 0..<3000 {
      let table = random.coin() ? "t" : "u"
      let id = "r\(random.below(4))"
      let field = random.below(4) == 0 ? "rare\(random.below(6))" : "f\(random.below(3))"
      let value: FieldValue
      switch random.below(8) {
      case 0: value = .list([text(step), .int(Int64(step))])
      case 1...2: value = .int(Int64(step))
      default: value = text(step)
      }
      let name = RecordName(id)
      if pending.tables[table]?[id] == nil {
        try device.store.insert(table: table, id: name, [(field, value)])
        pending.tables[table, default: [:]][id] = [field: value]
      } else if random.below(20) == 0 {
        try device.store.delete(table: table, id: name)
        pending.tables[table]?[id] = nil
      } else {
        try device.store.update(table: table, id: name, [(field, value)])
        pending.tables[table]?[id]?[field] = value
      }
      switch random.below(40) {
      case 0:
        try device.store.rollBack()
        pending = committed
      case 1...2:
        try device.store.sync()
        committed = pending
      case 3 where step % 5 == 0: _ = try device.store.compact()
      default: break
      }
      most = max(most, try device.store.withState { $0.store.ground.heap.count })
      if step % 300 == 299 { try check(device, pending) }
    }
    #expect(most < Self.bound)
    try device.store.sync()
    try check(device, pending)
    try device.reopen()
    try check(device, pending)
  }

  private func check(_ device: StoreDevice, _ wanted: StoreContent) throws {
    let content = try StoreContent(device.store)
    for table in ["t", "u"] {
      // To say what differs of so much would take minutes.
      let isSame = (content.tables[table] ?? [:]) == (wanted.tables[table] ?? [:])
      #expect(isSame)
    }
  }
}
