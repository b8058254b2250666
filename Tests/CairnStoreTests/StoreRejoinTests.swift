import CairnLog
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

/// Which own deltas a store still has that got another name.
@Suite struct StoreOutboxTests {
  /// They are in an outbox, and what came after is published and in a snapshot: simulation seed
  /// 6825.
  @Test func `an outbox is not all where the log has lost what followed it`() throws {
    let (a, b) = (try StoreDevice(1, time: 1000), try StoreDevice(2, time: 2000))
    for name in ["r", "s"] {
      try a.store.insert(name)
      try a.store.sync()
    }
    try b.store.insert("theirs")
    try b.store.sync()
    let staged = try Store.open(
      StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
      options: a.options, machine: a.machine)
    try staged.sync(packs: [try b.store.pack()])
    let plan = Rejoining(
      staged: staged, device: staged.device, common: CommonBranch(a.store.device))
    #expect(try a.store.rejoin(plan) { _ in } != nil)
    try plan.staged.close()
    try a.store.insert("after")
    try a.store.sync()
    try a.store.checkOwnDeltas(after: 0, through: 3)
    a.store.confirmPublished(through: 3)
    _ = try a.store.compact()
    try a.store.checkOwnDeltas(after: 0, through: 2)
    for start in 0...2 as ClosedRange<UInt64> {
      let error = #expect(throws: StoreError.self) {
        try a.store.checkOwnDeltas(after: start, through: 3)
      }
      #expect(error?.log?.reason == .missing)
    }
  }
}

/// A device that comes back after the others have stopped to wait for it: what it has is committed
/// on top of what they have.
@Suite struct StoreOnTopTests {
  /// A device that has published its first delta, and what another one made of it meanwhile.
  private func result(
    mine: [(Store) throws -> Void], _ first: (Store) throws -> Void,
    theirs: (Store) throws -> Void, configure: (inout StoreOptions) -> Void = { _ in }
  ) throws -> (content: [String: [String: FieldValue]], outcome: SyncOutcome) {
    let a = try StoreDevice(1, time: 1000, configure: configure)
    let b = try StoreDevice(2, time: 2000, configure: configure)
    try first(a.store)
    try a.store.sync()
    let published = try a.store.pack()
    for change in mine {
      a.clock.advance(by: 100)
      try change(a.store)
      try a.store.sync()
    }
    try b.store.sync(packs: [published])
    try theirs(b.store)
    try b.store.sync()
    let plan = try a.rejoining(published: published, others: try b.store.pack())
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    try b.store.sync(packs: [try a.store.pack()])
    let content = try StoreContent(a.store)
    #expect(try StoreContent(b.store).differences(from: content) == [])
    #expect(a.store.vector == b.store.vector)
    _ = try a.store.compact()
    _ = try b.store.compact()
    #expect(a.snapshotBytes() == b.snapshotBytes())
    return (content.tables["t"] ?? [:], outcome)
  }

  @Test func `writes cover what is there, and that is told`() throws {
    let (content, outcome) = try result(mine: [
      { try $0.set("r", ["a": "mine"]) }, { try $0.set("r", ["c": nil, "a": "again"]) },
    ]) {
      try $0.insert("r", ["a": 1, "b": 1])
    } theirs: { try $0.set("r", ["a": "theirs", "b": "theirs"]) }
    #expect(content["r"] == ["a": "again", "b": "theirs"])
    #expect(outcome.conflicts.map(\.conflict.field) == ["a"])
    #expect(outcome.conflicts.map(\.conflict.visible) == ["again"])
    #expect(outcome.conflicts.flatMap { $0.conflict.losers.map(\.value) } == ["theirs"])
  }

  @Test func `a record that was deleted stays so, and what was written to it is told`() throws {
    let (content, outcome) = try result(mine: [
      {
        try $0.set("gone", ["a": "mine"])
        try $0.insert("new", ["x": 1])
        try $0.delete("again")
        try $0.insert("again", ["b": 2])
      },
      { try $0.set("gone", ["a": "more"]) },
    ]) {
      try $0.insert("gone", ["a": 1])
      try $0.insert("again", ["a": 1])
    } theirs: {
      try $0.delete("gone")
      try $0.delete("again")
    }
    #expect(content == ["again": ["b": 2], "new": ["x": 1]])
    #expect(outcome.conflicts.map(\.id.text) == ["gone", "gone"])
    #expect(outcome.conflicts.flatMap { $0.conflict.losers.map(\.value) } == ["mine", "more"])
    #expect(outcome.conflicts.allSatisfy { $0.conflict.visible == nil })
  }

  @Test func `additions add to what is there`() throws {
    let (content, _) = try result(mine: [
      {
        try $0.set("r", ["n": 107])
        try $0.set("put", ["n": 101])
      }, { try $0.set("r", ["n": 110]) },
    ]) {
      try $0.setRule(.sum, table: "t", field: "n")
      try $0.insert("r", ["n": 100])
      try $0.insert("put", ["n": 100])
    } theirs: {
      try $0.set("r", ["n": 150])
      try $0.set("put", ["n": nil])
      try $0.sync()
      try $0.set("put", ["n": 5])
    }
    #expect(content["r"]?["n"] == 160)
    #expect(content["put"]?["n"] == 6)
  }

  @Test(arguments: [1.0, -1.0])
  func `additions beyond all doubles come to the most that one holds, and go on from there`(
    sign: Double
  ) throws {
    let (content, _) = try result(mine: [
      {
        try $0.set("r", ["n": .double(0x1p1023 * sign)])
        try $0.set("further", ["n": .double(0x1p1023 * sign)])
      }, { try $0.set("further", ["n": .double(0x1p1022 * sign)]) },
    ]) {
      try $0.setRule(.sum, table: "t", field: "n")
      try $0.insert("r", ["n": .double(0)])
      try $0.insert("further", ["n": .double(0)])
    } theirs: {
      try $0.set("r", ["n": .double(0x1p1023 * sign)])
      try $0.set("further", ["n": .double(0x1p1023 * sign)])
    }
    let most = Double.greatestFiniteMagnitude
    #expect(content["r"]?["n"] == .double(most * sign))
    #expect(content["further"]?["n"] == .double((most - 0x1p1022) * sign))
  }

  /// The folder has lost the files of the deltas that the others have, and what these had added to
  /// the sum has gone with the record: simulation seed 4620.
  ///
  /// - Parameter folded: After which of its deltas the device had made a snapshot; what came before
  ///   that is not in its log.
  @Test(arguments: [0, 1, 2, 3, 4] as [UInt64])
  func `a sum goes on from what the own snapshot and log say of it`(folded: UInt64) throws {
    let a = try StoreDevice(1, time: 1000)
    let b = try StoreDevice(2, time: 2000)
    func fold(_ sequence: UInt64) throws {
      guard sequence == folded else { return }
      a.store.confirmPublished(through: min(sequence, 3))
      _ = try a.store.compact()
    }
    try a.store.setRule(.sum, table: "t", field: "n")
    try a.store.insert("r", ["n": 100])
    try a.store.sync()
    var published = [try a.store.pack()]
    try fold(1)
    for (sequence, number) in [(2, 105), (3, 108)] as [(UInt64, Int64)] {
      a.clock.advance(by: 100)
      try a.store.set("r", ["n": .int(number)])
      try a.store.sync()
      published.append(try a.store.pack(after: sequence - 1))
      try fold(sequence)
    }
    try a.store.set("r", ["n": 110])
    try a.store.sync()
    try b.store.sync(packs: published)
    try b.store.delete("r")
    try b.store.insert("r", ["n": 1000])
    try b.store.sync()
    let staged = try Store.open(
      StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
      options: a.options, machine: a.machine)
    try staged.sync(packs: published + [try b.store.pack()])
    let common = CommonBranch(a.id, through: 3)
    var plan = Rejoining(staged: staged, device: staged.device, common: common)
    plan.isOnTop = true
    let early = try a.store.certainBranch(plan)
    #expect(early != nil)
    try fold(4)
    // A snapshot of later has one number for what the others have and what they lack.
    let isKnown = folded < 4
    #expect(try (a.store.certainBranch(plan) != nil) == isKnown)
    if !isKnown { #expect(try a.store.rejoin(plan) { _ in } == nil) }
    // What was known before it still holds.
    if !isKnown { plan.common = try #require(early) }
    #expect(try a.store.rejoin(plan) { _ in } != nil)
    try plan.staged.close()
    #expect(try a.store.get("r")?["n"] == 1002)
    try b.store.sync(packs: [try a.store.pack()])
    try a.reopen()
    #expect(try StoreContent(a.store).differences(from: StoreContent(b.store)) == [])
  }

  @Test func `edits of lists go on, and lists that both have begun are one`() throws {
    let name = RecordName("r")
    let (content, _) = try result(mine: [
      {
        try $0.edit(table: "t", id: name, field: "l", .append("mine"))
        try $0.edit(table: "t", id: name, field: "begun", .insertAll(["x", "y"], at: 0))
      },
      {
        try $0.edit(table: "t", id: name, field: "l", .remove(at: 0))
        try $0.edit(table: "t", id: name, field: "begun", .remove(at: 0))
        try $0.edit(table: "t", id: name, field: "begun", .append("z"))
      },
    ]) {
      try $0.insert("r", ["l": .list(["A", "B"])])
    } theirs: {
      try $0.edit(table: "t", id: name, field: "l", .insert("theirs", at: 0))
      try $0.edit(table: "t", id: name, field: "begun", .append("b"))
    }
    #expect(content["r"]?["l"] == .list(["theirs", "B", "mine"]))
    #expect(content["r"]?["begun"] == .list(["b", "y", "z"]))
  }

  @Test func `a list that would be longer than a delta can say is left out and told`() throws {
    let name = RecordName("r")
    let items = (0..<18).map { FieldValue.bytes([UInt8](repeating: $0, count: 1 << 20)) }
    let (content, outcome) = try result(mine: [
      { try $0.edit(table: "t", id: name, field: "l", .insertAll(Array(items[..<9]), at: 0)) },
      { try $0.edit(table: "t", id: name, field: "l", .append("z")) },
    ]) {
      try $0.insert("r")
    } theirs: {
      try $0.edit(table: "t", id: name, field: "l", .insertAll(Array(items[9...]), at: 0))
    } configure: {
      $0.limits = Limits(recordBytes: 64 << 20, datastoreBytes: 1 << 30, deltaBytes: 32 << 20)
    }
    #expect(content["r"] == ["l": .list(items[9...] + ["z"])])
    let losers = outcome.conflicts.flatMap { $0.conflict.losers.map(\.value) }
    #expect(losers == [.list(Array(items[..<9]))])
  }
}
