import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// What each keystroke is: a commit of edits of one list, which goes a way of its own.
struct ListCommitTests {
  private static let list = RecordName("r")

  private func append(_ text: String, _ device: StoreDevice) throws {
    try device.store.edit(
      table: "t", id: Self.list, field: "l", .append(.string(text)))
  }

  private func shown(_ device: StoreDevice) throws -> [FieldValue]? {
    try device.store.listItems(table: "t", id: Self.list, field: "l")
  }

  /// A device with a list of which the last item is not committed yet.
  private func typing(isLinked: Bool) throws -> StoreDevice {
    let device = try StoreDevice(1, isLinked: isLinked)
    try device.store.insert("r", ["l": .list(["a", "b"])])
    try device.store.sync()
    try append("c", device)
    #expect(device.store.state.withLock { $0.store.tables.tableOfOnlyList } != nil)
    return device
  }

  // MARK: what lists of datastores say

  /// Two threads may commit before the first of them has told.
  @Test func `a commit of nothing takes no summary away`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r", ["l": .list(["a"])])
    #expect(try device.store.commit().hasSummary)
    // After that the title is looked for again.
    try device.store.setRule(.max, table: "t", field: "n")
    try device.store.rollBack()
    try #require(device.store.state.withLock { $0.store.knownTitle == nil })
    #expect(try device.store.commit().dot == nil)
    #expect(device.store.takeSummary() != nil)
    #expect(device.store.takeSummary() == nil)
  }

  // MARK: a disk that refuses

  /// How many steps the commit of an item takes.
  private func steps(isLinked: Bool) throws -> Int {
    let device = try typing(isLinked: isLinked)
    let before = device.disk.operations
    try device.store.sync()
    return device.disk.operations - before
  }

  private func failed(
    _ step: Int, _ reason: DiskError.Reason, forever: Bool, isLinked: Bool
  ) throws -> (device: StoreDevice, error: StoreError.Kind?) {
    let device = try typing(isLinked: isLinked)
    let vector = device.store.vector
    device.disk.tearFailedWrites(seed: UInt64(step))
    device.disk.failAt(
      operation: device.disk.operations + step, reason: reason, forever: forever)
    let error = refusal { _ = try device.store.sync() }
    #expect(try shown(device) == ["a", "b", "c"])
    if error != nil, error != .syncFailed {
      #expect(device.store.vector == vector && device.store.totals.pending > 0)
    }
    device.disk.heal()
    return (device, error)
  }

  @Test(arguments: [false, true], [DiskError.Reason.noSpace, .io(errno: 5)])
  func `a commit that fails at any step leaves nothing half done, and the next one has it all`(
    isLinked: Bool, reason: DiskError.Reason
  ) throws {
    var kinds: Set<StoreError.Kind?> = []
    for step in 1...(try steps(isLinked: isLinked)) {
      for forever in [false, true] {
        let (device, error) = try failed(step, reason, forever: forever, isLinked: isLinked)
        kinds.insert(error)
        if error == .syncFailed {
          #expect(refusal { _ = try device.store.sync() } == .syncFailed)
          _ = refusal { try device.store.close() }
          try device.open()
          // The system has it still.
          #expect(try shown(device) == ["a", "b", "c"])
        }
        try append("d", device)
        try device.store.sync()
        #expect(try shown(device) == ["a", "b", "c", "d"])
        #expect(device.store.totals.pending == 0)
        try device.crash(.nothingUnsynced)
        #expect(try shown(device) == ["a", "b", "c", "d"], "step \(step), \(reason)")
        #expect(device.store.vector[device.id] == (error == nil || error == .syncFailed ? 3 : 2))
      }
    }
    // The write, and the sync behind it.
    #expect(kinds.count > 1 && kinds.contains(.syncFailed), "\(kinds)")
  }

  @Test(arguments: [false, true])
  func `what a commit could not write can be taken back`(isLinked: Bool) throws {
    let (device, error) = try failed(1, .noSpace, forever: false, isLinked: isLinked)
    #expect(error != nil && error != .syncFailed)
    try device.store.rollBack()
    #expect(try shown(device) == ["a", "b"])
    #expect(try device.store.sync().committed == nil)
    try append("e", device)
    try device.store.sync()
    try device.reopen()
    #expect(try shown(device) == ["a", "b", "e"])
    #expect(device.store.recovery.isEmpty)
  }

  @Test(arguments: [false, true])
  func `a disk that is really full has the items that were committed, and takes the rest later`(
    isLinked: Bool
  ) throws {
    let device = try typing(isLinked: isLinked)
    try device.store.sync()
    let random = SeededRandom(3)
    // A disk that is nearly full gives what it has: less than a record may be.
    device.disk.capacity = device.disk.usedBytes + 15_000
    var wanted = try #require(try shown(device))
    var error: StoreError.Kind?
    while error == nil, wanted.count < 1000 {
      let item = FieldValue.bytes(random.bytes(3000))
      try device.store.edit(table: "t", id: Self.list, field: "l", .append(item))
      wanted.append(item)
      error = refusal { _ = try device.store.sync() }
    }
    #expect(error != nil && error != .syncFailed && wanted.count > 5)
    #expect(try shown(device) == wanted && device.store.totals.pending > 0)
    // A try may make some room, by sealing a segment.
    for _ in 0..<3 { _ = refusal { _ = try device.store.sync() } }
    #expect(try shown(device) == wanted)
    device.disk.capacity = nil
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    #expect(try shown(device) == wanted)
  }

  // MARK: the general way

  /// What the short way and the general one would write of the same pending changes.
  private struct Both {
    var short: [UInt8]?
    var long: [UInt8]?
    /// What the general one says is that one list has changed.
    var isOneList = false
  }

  private func compared(_ store: Store) throws -> Both {
    try store.state.withLock { guarded in
      var result = Both()
      var (state, encoder, delta) = (guarded.store, guarded.tail.encoder, Delta())
      if try state.collect(into: &delta, time: 5, dictionaryCount: encoder.recordCount) != nil {
        var bytes: [UInt8] = []
        encoder.encode(delta, heap: state.ground.heap, into: &bytes)
        result.long = bytes
      }
      result.isOneList =
        delta.records.count == 1 && delta.records[0].flags == 0 && delta.newNames.isEmpty
        && delta.columns.count == 1 && delta.columns[0].cells.count == 1
        && !delta.columns[0].operation.hasValues
      (state, encoder) = (guarded.store, guarded.tail.encoder)
      var bytes: [UInt8] = []
      if let table = state.tables.tableOfOnlyList,
        state.encodeStroke(in: table, time: 5, by: &encoder, into: &bytes) != nil
      {
        result.short = bytes
      }
      // What is not a stroke leaves nothing behind.
      #expect(result.short != nil || bytes.isEmpty)
      return result
    }
  }

  private func change(_ store: Store, _ random: SeededRandom) throws {
    let (table, id) = (["t", "u"][random.below(2)], RecordName(["r", "s"][random.below(2)]))
    let field = ["l", "m"][random.below(2)]
    let count = try store.listCount(table: table, id: id, field: field) ?? 0
    let item = FieldValue.string(String(repeating: "x", count: random.below(130)))
    switch random.below(count == 0 ? 3 : 12) {
    case 0:
      let new = "new\(random.below(1_000_000))"
      if random.below(4) == 0 { try store.insert(new, ["l": .list([1])]) }
    case 1: try store.update(table: table, id: id, [("n", .int(Int64(random.below(2))))])
    case 3: try store.edit(table: table, id: id, field: field, .remove(at: random.below(count)))
    case 4:
      try store.edit(table: table, id: id, field: field, .replace(at: random.below(count), item))
    case 5:
      let (from, to) = (random.below(count), random.below(count))
      try store.edit(table: table, id: id, field: field, .move(from: from, to: to))
    case 6:
      // No difference, if it is all.
      try store.edit(table: table, id: id, field: field, .insert(item, at: 0))
      try store.edit(table: table, id: id, field: field, .remove(at: 0))
    default:
      try store.edit(
        table: table, id: id, field: field, .insert(item, at: random.below(count + 1)))
    }
  }

  @Test(arguments: 0..<12 as Range<UInt64>, [false, true])
  func `strokes in one list go the short way, nothing else does, and it says the same`(
    seed: UInt64, isLinked: Bool
  ) throws {
    let random = SeededRandom(seed)
    let device = try StoreDevice(seed, isLinked: isLinked)
    let peer = try StoreDevice(seed + 100)
    for table in ["t", "u"] {
      for id in ["r", "s"] {
        try device.store.insert(
          table: table, id: RecordName(id), [("l", .list([1, 2])), ("m", .list(["a"]))])
      }
    }
    try device.store.sync()
    var (short, long) = (0, 0)
    for step in 0..<120 {
      for _ in 0...(random.below(3) / 2) { try change(device.store, random) }
      let both = try compared(device.store)
      if let bytes = both.short {
        #expect(both.isOneList && bytes == both.long, "step \(step)")
        short += 1
      } else if both.long != nil {
        long += 1
      }
      if random.below(8) == 0 { try device.store.rollBack() } else { try device.store.sync() }
      if isLinked, step % 15 == 14 {
        try peer.store.sync(packs: [try device.store.pack()])
        for _ in 0..<3 { try change(peer.store, random) }
        try peer.store.sync()
        try device.store.sync(packs: [try peer.store.pack()])
      }
    }
    #expect(short > 20 && long > 10, "\(short) short, \(long) long")
    let before = try StoreContent(device.store)
    try device.reopen()
    #expect(try StoreContent(device.store) == before)
  }

  // MARK: memory

  @Test(arguments: [false, true])
  func `the room that a large pack took in the log's scratch is given back at once`(
    fails: Bool
  ) throws {
    let (device, peer) = (try StoreDevice(1), try StoreDevice(2))
    for number in 0..<90 {
      let bytes = SeededRandom(UInt64(number)).bytes(60 << 10)
      try peer.store.insert("big\(number)", ["b": .bytes(bytes)])
      if number % 10 == 9 { try peer.store.sync() }
    }
    let pack = try peer.store.pack()
    #expect(pack.count > LogTail.scratchKept)
    try device.store.insert("own")
    try device.store.sync()
    // Once would be no reason to give up: less is reserved then.
    if fails {
      device.disk.failAt(
        operation: device.disk.operations + 1, reason: .noSpace, forever: true)
    }
    #expect((refusal { try device.store.sync(packs: [pack]) } != nil) == fails)
    let kept = device.store.state.withLock { guarded in
      guarded.tail.scratch.capacity + (guarded.tail.segment?.scratch.capacity ?? 0)
    }
    #expect(kept <= LogTail.scratchKept, "\(kept) bytes")
    device.disk.heal()
    try device.store.sync(packs: [pack])
    #expect(try device.store.count(table: "t") == 91)
  }
}
