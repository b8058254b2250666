import CairnBytes
import CairnDisk
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// Fences, cuts and retirements in real stores.
struct FenceTests {
  /// Three devices that have met, with a record each and one that was deleted.
  private func met(_ count: Int = 3, isAutomatic: Bool = true) throws -> FenceGroup {
    let group = try FenceGroup(count, isAutomatic: isAutomatic)
    for number in 0..<count {
      try group[number].insert("r\(number)", ["x": 1, "name": "text"])
      try group[number].insert("gone\(number)", ["x": 1])
      try group[number].sync()
    }
    try group.settle()
    for number in 0..<count { try group[number].delete("gone\(number)") }
    try group.settle()
    return group
  }

  @Test func `a quiet datastore remembers nothing but values`() throws {
    let group = try met()
    #expect(try group.rows(0) == (6, false))
    // That compaction has asked for a fence.
    try group.settle()
    for number in 0..<3 { #expect(try group.rows(number) == (3, true)) }
    let bytes = try group.snapshot(0)
    #expect(try group.snapshot(1) == bytes)
    #expect(try group.snapshot(2) == bytes)
  }

  @Test func `nothing is forgotten while one device has not spoken`() throws {
    let group = try met()
    group[0].requestCut()
    try group.settle([0, 1])
    #expect(group[0].cuts.cuts.map(\.isSealed) == [false])
    #expect(try group.rows(0).areSettled == false)
    try group.settle()
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
    #expect(try group.rows(1) == (3, true))
  }

  @Test func `switched off, nobody asks`() throws {
    let group = try FenceGroup(0)
    try group.add(1, isAutomatic: false)
    try group[0].insert("r")
    try group[0].sync()
    _ = try group[0].compact()
    #expect(try group[0].sync().committed == nil)
    #expect(group[0].cuts.isEmpty)
    // Who is asked to does it all the same.
    group[0].requestCut()
    #expect(try group[0].sync().committed != nil)
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
  }

  @Test func `by itself nobody asks`() {
    #expect(!StoreOptions().cutsAutomatically)
  }

  @Test func `behind the fence a compaction shrinks what is remembered`() throws {
    let group = try FenceGroup(2)
    for number in 0..<300 { try group[0].insert("r\(number)", ["x": 1]) }
    try group[0].sync()
    try group.settle()
    for number in 0..<290 { try group[number % 2].delete("r\(number)") }
    for number in 290..<300 {
      for device in 0..<2 { try group[device].set("r\(number)", ["x": .int(Int64(device))]) }
    }
    try group.settle()
    let before = try group.contentBytes(1)
    #expect(try group.rows(1) == (300, false))
    try group.settle()
    // Ten conflicts stay until somebody writes the field.
    let after = try group.contentBytes(1)
    #expect(try group.rows(1).count == 10)
    #expect(after * 3 < before, "\(before) bytes, then \(after)")
    #expect(try group.snapshot(0) == group.snapshot(1))
  }

  @Test func `a compaction is due as soon as there is more behind the fence`() throws {
    let group = try met(2, isAutomatic: false)
    let store = group[0]
    _ = try store.compact()
    func isDue() -> Bool { store.state.withLock { guarded in store.isFenceDue(guarded) } }
    #expect(!isDue())
    group[0].requestCut()
    try group.settle()
    #expect(store.cuts.cuts.map(\.isSealed) == [true])
    #expect(isDue())
    _ = try store.compact()
    #expect(!isDue())
  }

  @Test func `a stranger's delta is held, and the stranger told`() throws {
    let group = try met(2)
    group[0].requestCut()
    try group.settle()
    let stranger = try group.add(77)
    try group[stranger].insert("stray", ["x": 9])
    try group[stranger].sync()
    try group.publish(stranger)
    let outcome = try group.read(0, from: [1, stranger])
    #expect(outcome.appliedCount == 0)
    #expect(Set(outcome.held.values.map(\.dot)) == Set(group[0].cuts.cuts.map(\.dot)))
    #expect(try group[0].get("stray") == nil)
    let before = try StoreContent(group[stranger])
    let told = try group.read(stranger, from: [0, 1])
    #expect(told.cutOff?.dot == group[0].cuts.cuts.first?.dot)
    #expect(try StoreContent(group[stranger]).tables["t"]?["stray"] == before.tables["t"]?["stray"])
  }

  @Test func `a stranger whom a member knew in time comes in`() throws {
    let group = try met(2)
    let stranger = try group.add(77)
    try group[stranger].insert("stray", ["x": 9])
    try group[stranger].sync()
    try group.publish(stranger)
    try group.read(1, from: [stranger])
    group[0].requestCut()
    try group[0].sync()
    #expect(try group.read(0, from: [stranger]).held.count == 1)
    try group.settle()
    #expect(try group[0].get("stray") == ["x": 9])
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
    #expect(group[stranger].vector == group[0].vector)
    let bytes = try group.snapshot(0)
    #expect(try group.snapshot(stranger) == bytes)
  }

  @Test func `who joins after the cut just writes`() throws {
    let group = try met(2)
    group[0].requestCut()
    try group.settle()
    let new = try group.add(78)
    try group.read(new, from: [0, 1])
    try group[new].insert("new")
    try group.settle()
    #expect(try group[0].get("new") == [:])
    #expect(group[0].vector == group[new].vector)
  }

  @Test func `who starts from a pruned snapshot goes on like the others`() throws {
    // With a second cut, of devices that have not heard of it, it would have to give way.
    let group = try met(2, isAutomatic: false)
    group[0].requestCut()
    try group.settle()
    let bytes = try group.snapshot(0)
    let new = try group.add(79)
    let path = group[new].temporarySnapshotPath()
    let file = try group.devices[new].disk.open(path, .create)
    try file.write(bytes.span, at: 0)
    file.close()
    try group[new].adopt(snapshot: path)
    #expect(group[new].cuts == group[0].cuts)
    try group[new].set("r0", ["x": 5])
    try group[0].set("r0", ["x": 6])
    try group.settle()
    #expect(try group[1].get("r0") == group[new].get("r0"))
    let again = try group.snapshot(0)
    #expect(try group.snapshot(new) == again)
    #expect(try group.snapshot(1) == again)
  }

  // MARK: retirement

  @Test func `without a device that is retired the fence moves on`() throws {
    let group = try met()
    let lost = group.devices[2].id
    try group[0].retire(lost)
    #expect(group[0].retired == [lost])
    try group.settle([0, 1])
    #expect(group[1].retired == [lost])
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
    #expect(try group.rows(1) == (3, true))
  }

  @Test func `a retired device that had nothing new goes on, and is retired no longer`() throws {
    let group = try met()
    try group[0].retire(group.devices[2].id)
    try group.settle([0, 1])
    try group.read(2, from: [0, 1])
    #expect(group[2].vector == group[0].vector)
    #expect(group[2].retired == [group.devices[2].id])
    try group[2].set("r0", ["x": 8])
    try group.settle()
    #expect(try group[0].get("r0")?["x"] == 8)
    #expect(group[0].retired.isEmpty)
  }

  @Test func `a retired device that returns resurrects nothing`() throws {
    let group = try met()
    try group[2].set("r0", ["x": 7])
    try group[2].sync()
    try group[0].delete("r0")
    try group[0].retire(group.devices[2].id)
    try group.settle([0, 1])
    #expect(try group.rows(0).count == 2)
    try group.publish(2)
    #expect(try group.read(0, from: [1, 2]).held.count == 1)
    #expect(try group.read(1, from: [0, 2]).held.count == 1)
    #expect(try group[0].get("r0") == nil)
    #expect(try group.read(2, from: [0, 1]).cutOff != nil)
    #expect(try group[2].get("r0")?["x"] == 7)
  }

  @Test func `a rollback takes a retirement back`() throws {
    let group = try met(2)
    try group[0].retire(group.devices[1].id)
    try group[0].rollBack()
    #expect(group[0].retired.isEmpty)
    #expect(try group[0].sync().committed == nil)
  }

  @Test func `a cut and its seal are recognised in different files and deliveries`() throws {
    let group = try met(2)
    let stranger = try group.add(77)
    try group[stranger].insert("stray", ["x": 9])
    try group[stranger].sync()
    let (first, second) = (group[0].vector[group[0].device], group[1].vector[group[1].device])
    try group.read(stranger, from: [0, 1])
    try group[stranger].set("stray", ["x": 10])
    try group[stranger].sync()
    group[0].requestCut()
    try group.settle([0, 1])
    // One delta a pack, and one pack a delivery.
    var told: Cut?
    for (number, start) in [(0, first), (1, second)] {
      for sequence in start..<group[number].vector[group[number].device] {
        let pack = try #require(
          try group[number].ownPack(after: sequence, through: sequence + 1, limit: 1))
        told = try group[stranger].sync(packs: [pack.pack]).cutOff ?? told
      }
    }
    #expect(told?.dot == group[0].cuts.cuts.first?.dot)
    #expect(try group[stranger].get("stray") == ["x": 10])
  }

  // MARK: what is kept

  @Test func `cuts count for no limit and are nobody's data`() throws {
    let group = try met(2)
    let before = group[0].totals
    group[0].requestCut()
    try group.settle()
    #expect(!group[0].cuts.isEmpty)
    #expect(group[0].totals.size == before.size)
    #expect(group[0].totals.records == before.records)
    #expect(try !group[0].allTables().contains(":cuts"))
    #expect(try group[0].tables().map(\.name) == ["t"])
  }

  @Test func `cuts of a joined snapshot count for nothing, and nobody hears of them`() throws {
    let group = try met(2)
    group[0].requestCut()
    try group[0].sync()
    try group[0].set("r0", ["x": 77])
    try group[0].sync()
    let bytes = try group.snapshot(0)
    let path = group[1].temporarySnapshotPath()
    let file = try group.devices[1].disk.open(path, .create)
    try file.write(bytes.span, at: 0)
    file.close()
    let outcome = try #require(try group[1].join(snapshot: path))
    #expect(outcome.changed.map(\.table) == ["t"])
    #expect(group[1].cuts == group[0].cuts)
    #expect(group[1].totals.size == group[0].totals.size)
    #expect(group[1].totals.records == group[0].totals.records)
  }

  @Test func `who says to have seen all of itself stops nobody, and is not believed`() throws {
    let group = try met()
    let (liar, other) = (DeviceID(rawValue: 77), group.devices[1].id)
    group[0].state.withLock { guarded in
      var gate = DeliveryGate(guarded.store, words: [:], rumours: CutRumours())
      let first = DeliveryPlan.Step(
        dot: Dot(device: liar, sequence: 1),
        dependencies: [Dot(device: liar, sequence: .max), Dot(device: other, sequence: 1)],
        news: nil)
      let second = DeliveryPlan.Step(
        dot: Dot(device: liar, sequence: 2), dependencies: [], news: nil)
      gate.noteCuts([first, second])
      #expect(gate.rumours.contexts[liar]?[liar] == 2)
      #expect(gate.context(first)[liar] == 1)
      #expect(gate.context(first)[other] == 1)
    }
  }

  @Test func `what an author has seen grows from delta to delta`() throws {
    let group = try met()
    let author = DeviceID(rawValue: 77)
    let steps = (1...UInt64(50)).map { number in
      DeliveryPlan.Step(
        dot: Dot(device: author, sequence: number),
        dependencies: [Dot(device: DeviceID(rawValue: 100 + number % 7), sequence: number)],
        news: nil)
    }
    let all = VersionVector(steps.flatMap { $0.dependencies + [$0.dot] })
    group[0].state.withLock { guarded in
      var gate = DeliveryGate(guarded.store, words: [:], rumours: CutRumours())
      gate.noteCuts(Array(steps[..<20]))
      // From there on, and no further behind a gap.
      gate.noteCuts(Array(steps[10..<40]))
      gate.noteCuts(Array(steps[41...]))
      let some = VersionVector(steps[..<40].flatMap { $0.dependencies + [$0.dot] })
      #expect(gate.rumours.contexts[author] == some)
      for step in steps { gate.apply(step) }
      #expect(gate.contexts[author] == all)
    }
  }

  @Test func `a later cut takes the place of the earlier ones`() throws {
    let group = try met(2)
    for round in 0..<5 {
      try group[0].set("r0", ["x": .int(Int64(round))])
      group[round % 2].requestCut()
      try group.settle()
    }
    #expect(group[0].cuts.cuts.count == 1)
    #expect(group[1].cuts == group[0].cuts)
  }

  @Test func `cuts are there again after opening, from the log and from a snapshot`() throws {
    let group = try met(2)
    group[0].requestCut()
    try group.settle()
    let cuts = group[0].cuts
    #expect(!cuts.isEmpty)
    try group.devices[0].reopen()
    #expect(group[0].cuts == cuts)
    _ = try group.snapshot(0)
    try group.devices[0].reopen()
    #expect(group[0].cuts == cuts)
  }

  @Test func `a cut that can't be read is found before anything of it counts`() throws {
    let device = try StoreDevice(3)
    let name = RecordName("\(device.id)-1")
    try device.store.insert(table: ":cuts", id: name, [("cut", .bytes([9, 9]))])
    try device.store.sync()
    var reader = try PackReader(try device.store.pack())
    var delta = Delta()
    #expect(try reader.next(into: &delta))
    #expect(throws: DecodeError.self) {
      try CutTable.check(delta, heap: reader.heap, names: reader.records)
    }
    #expect(try CutTable.occurs(in: device.store.pack()))
    let other = try StoreDevice(4)
    try other.store.insert("r", ["text": ":cuts"])
    try other.store.sync()
    #expect(try !CutTable.occurs(in: other.store.pack()))
  }

  @Test func `a commit that fails leaves no cut behind`() throws {
    let group = try met(2)
    group[0].requestCut()
    try group[0].set("r0", ["x": 3])
    let disk = group.devices[0].disk
    disk.intercept { _ in .noSpace }
    #expect(throws: StoreError.self) { try group[0].sync() }
    disk.heal()
    try group.settle()
    #expect(group[0].cuts.cuts.count == 1)
    #expect(try group[1].get("r0")?["x"] == 3)
    #expect(group[1].cuts == group[0].cuts)
  }
}
