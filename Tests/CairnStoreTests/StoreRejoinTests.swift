import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What a store has under another name is what it had, and other stores agree.
@Suite struct StoreRejoinTests {
  private static let ids = ["r", "s", "AAAAAAAAAAAAAAAAAAAAAQ"]

  private func change(_ store: Store, _ random: SeededRandom, _ label: String) throws {
    let id = Self.ids[random.below(Self.ids.count)]
    let name = RecordName(id)
    guard try store.exists(table: "t", id: name) else {
      return try store.insert(id, ["a": .string(label), "n": .int(Int64(random.below(9)))])
    }
    switch random.below(9) {
    case 0: try store.delete(id)
    case 1: try store.set(id, ["a": .string(label)])
    case 2: try store.set(id, ["n": random.coin() ? nil : .string(label)])
    case 3...5: try store.set(id, ["n": .int(Int64(random.below(100)))])
    default:
      let count: Int
      do { count = try store.listCount(table: "t", id: name, field: "l") ?? 0 } catch { return }
      let operation: ListOperation =
        switch count == 0 ? 0 : random.below(5) {
        case 0, 1: .insert(.string(label), at: random.below(count + 1))
        case 2: .remove(at: random.below(count))
        case 3: .replace(at: random.below(count), .string(label))
        default: .move(from: random.below(count), to: random.below(count))
        }
      try store.edit(table: "t", id: name, field: "l", operation)
    }
  }

  /// Two devices that hear of each other now and then, and all that each has said.
  private func history(_ seed: UInt64) throws -> (a: StoreDevice, b: StoreDevice) {
    let random = SeededRandom(seed)
    let a = try StoreDevice(seed &* 2, time: 1000)
    let b = try StoreDevice(seed &* 2 + 1, time: 1001)
    try a.store.setRule(.sum, table: "t", field: "n")
    var time: Int64 = 1002
    for step in 0..<40 {
      time += 5
      for (number, device) in [a, b].enumerated() {
        device.clock.set(time + Int64(number))
        for _ in 0..<random.below(3) {
          try change(device.store, random, "\(number)-\(step)")
        }
        try device.store.sync()
      }
      if random.below(3) == 0 { try a.store.sync(packs: packs(b)) }
      if random.below(3) == 0 { try b.store.sync(packs: packs(a)) }
    }
    return (a, b)
  }

  private func packs(_ device: StoreDevice) throws -> [[UInt8]] {
    let pack = try device.store.pack()
    return pack.isEmpty ? [] : [pack]
  }

  private func first(_ count: UInt64, of device: StoreDevice) throws -> [[UInt8]] {
    guard count > 0 else { return [] }
    try device.store.flush()
    let found = try device.store.ownPack(after: 0, through: count, limit: 1 << 30)
    return found.map { [$0.pack] } ?? []
  }

  @Test(arguments: 1...30 as ClosedRange<UInt64>)
  func `a history that goes on under another name shows the same`(seed: UInt64) throws {
    let (a, b) = try history(seed)
    let random = SeededRandom(seed + 1000)
    let last = a.store.vector[a.id]
    // What the other has seen was published.
    let seen = b.store.vector[a.id]
    let end = seen + UInt64(random.below(Int(last - seen) + 1))
    let before = try StoreContent(a.store)
    let old = a.id
    var common = CommonBranch(a.id)
    for pack in try first(end, of: a) { try common.add(pack: pack, through: end) }
    let staged = try StoreDevice(seed + 5000)
    let theirs = try packs(b)
    try staged.store.sync(packs: try first(end, of: a) + theirs)
    let shared = try first(end, of: a)
    // What the device has seen of the other must be all there is, to compare the two.
    try a.store.sync(packs: theirs)
    let all = try StoreContent(a.store)
    #expect(all.tables.count >= before.tables.count)
    let inside = try Store.open(
      StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
      options: a.options, machine: a.machine)
    inside.confirmPublished(through: 0)
    try inside.sync(packs: shared + theirs)
    #expect(inside.vector[old] == common.last)
    let plan = Rejoining(staged: inside, device: inside.device, common: common)
    #expect(plan.missing(a.store.vector).isEmpty)
    var kept: [[UInt8]] = []
    let outcome = try #require(try a.store.rejoin(plan) { kept = $0 })
    try inside.close()
    #expect(outcome.newDevice == a.id && a.id != old)
    #expect(kept.isEmpty == (common.last == last))
    #expect(try StoreContent(a.store).differences(from: all) == [])
    #expect(outcome.changed.isEmpty, "nothing is told that is as it was")
    try a.reopen()
    #expect(try StoreContent(a.store).differences(from: all) == [])
    // Somebody who hears of it under the new name has the same, to the byte.
    try staged.store.sync(packs: packs(a))
    #expect(staged.store.vector == a.store.vector)
    _ = try a.store.compact()
    _ = try staged.store.compact()
    #expect(a.snapshotBytes() == staged.snapshotBytes())
    // It goes on.
    try a.store.insert("after", ["x": 1])
    try a.store.sync()
    try staged.store.sync(packs: packs(a))
    #expect(try staged.store.get("after") == ["x": 1])
  }
}
