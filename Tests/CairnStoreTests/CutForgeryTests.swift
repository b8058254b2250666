import CairnBytes
import CairnDisk
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// Somebody who may write into the folder, and writes cuts that are not true.
struct CutForgeryTests {
  private let group: FenceGroup
  /// The device whose store is written to by hand.
  private let liar: Int

  /// Two devices that have met, and one that has read what they wrote.
  init() throws {
    group = try FenceGroup(2, isAutomatic: false)
    for number in 0..<2 {
      try group[number].insert("r\(number)", ["x": 1])
      try group[number].sync()
    }
    try group.settle()
    liar = try group.add(99, isAutomatic: false)
    try group.read(liar, from: [0, 1])
  }

  private var next: Dot {
    Dot(device: group[liar].device, sequence: group[liar].vector[group[liar].device] + 1)
  }

  private func bytes(_ vector: VersionVector) -> FieldValue {
    var bytes: [UInt8] = []
    vector.encode(into: &bytes)
    return .bytes(bytes)
  }

  /// A cut of the liar alone, sealed at once, that says to have seen this.
  private func forge(_ context: VersionVector, members: [DeviceID]? = nil) throws {
    let cut = Cut(
      dot: next, context: context, members: members ?? [next.device], line: [next])
    try group[liar].insert(
      table: Cut.table, id: CutTable.record(next),
      [(CutTable.cut, .bytes(cut.encoded)), (CutTable.seal, bytes(context))])
    try group[liar].sync()
    try group.publish(liar)
  }

  private var truth: VersionVector {
    var context = group[liar].vector
    context.insert(next)
    return context
  }

  /// Devices 0 and 1 go on as if nothing had been.
  private func expectNothingHappened(_ outcome: SyncOutcome) throws {
    #expect(outcome.appliedCount == 0)
    #expect(outcome.cutOff == nil)
    #expect(outcome.held.isEmpty)
    #expect(group[0].cuts.isEmpty)
    try group[0].set("r0", ["x": 2])
    try group[1].set("r1", ["x": 3])
    try group.settle([0, 1])
    #expect(group[0].vector == group[1].vector)
    #expect(try group[0].get("r1") == ["x": 3])
  }

  @Test func `a cut that claims more than its author had seen is refused`() throws {
    var context = truth
    context[group[0].device] += 5
    try forge(context)
    // Who has something that it leaves out does not give way to it.
    try group[0].set("r0", ["x": 7])
    try group[0].sync()
    let outcome = try group.read(0, from: [liar])
    #expect(outcome.refused.count == 1)
    try expectNothingHappened(outcome)
  }

  @Test func `a cut that claims less than its author had seen is refused`() throws {
    try forge(VersionVector([next]))
    let outcome = try group.read(0, from: [liar])
    #expect(outcome.refused.count == 1)
    try expectNothingHappened(outcome)
  }

  @Test func `a cut that is sealed before its members can have it is wrong`() throws {
    try forge(truth, members: [group[0].device, group[1].device, next.device].sorted())
    let outcome = try group.read(0, from: [liar])
    #expect(outcome.failures.count == 1)
    try expectNothingHappened(outcome)
  }

  @Test func `a cut that is true passes`() throws {
    try forge(truth)
    let outcome = try group.read(0, from: [liar])
    #expect(outcome.refused.isEmpty && outcome.failures.isEmpty)
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
  }

  @Test func `a record that another delta inserts is no cut`() throws {
    for device in [group[liar].device, group[0].device] {
      let dot = Dot(device: device, sequence: 77)
      let cut = Cut(dot: dot, context: VersionVector([dot]), members: [device], line: [dot])
      try group[liar].insert(
        table: Cut.table, id: CutTable.record(dot), [(CutTable.cut, .bytes(cut.encoded))])
    }
    try group[liar].sync()
    try group.publish(liar)
    let outcome = try group.read(0, from: [liar])
    #expect(outcome.failures.count == 1)
    try expectNothingHappened(outcome)
  }

  @Test func `a seal that does not say what its author had seen is refused`() throws {
    group[liar].requestCut()
    try group[liar].sync()
    let cut = try #require(group[liar].cuts.cuts.first)
    #expect(!cut.isSealed)
    var context = truth
    context[group[1].device] = 0
    try group[liar].update(
      table: Cut.table, id: CutTable.record(cut.dot), [(CutTable.seal, bytes(context))])
    try group[liar].sync()
    try group.publish(liar)
    let outcome = try group.read(0, from: [1, liar])
    #expect(outcome.refused.count == 1)
    #expect(outcome.appliedLast.last == cut.dot.sequence)
    #expect(group[0].cuts.cuts.map(\.isSealed) == [false])
  }

  @Test func `only its author seals a cut`() throws {
    group[0].requestCut()
    try group.settle([0, liar])
    let cut = try #require(group[0].cuts.cuts.first)
    #expect(!cut.isSealed)
    try group[liar].update(
      table: Cut.table, id: CutTable.record(cut.dot), [(CutTable.seal, bytes(truth))])
    try group[liar].sync()
    try group.publish(liar)
    let outcome = try group.read(0, from: [liar])
    #expect(outcome.failures.count == 1)
    #expect(group[0].cuts.cuts.map(\.isSealed) == [false])
  }

  @Test func `nobody deletes what was agreed on`() throws {
    group[0].requestCut()
    try group.settle()
    let cut = try #require(group[0].cuts.cuts.first)
    #expect(cut.isSealed)
    try group[liar].delete(table: Cut.table, id: CutTable.record(cut.dot))
    try group[liar].sync()
    try group.publish(liar)
    let outcome = try group.read(0, from: [liar])
    #expect(outcome.refused.count == 1)
    #expect(group[0].cuts.cuts == [cut])
    #expect(group[0].state.withLock { $0.store.fence } == cut.context)
  }

  @Test func `a cut has one name`() {
    let device = DeviceID(rawValue: 5)
    #expect(CutTable.dot(RecordName("\(device)-12")) == Dot(device: device, sequence: 12))
    for number in ["+12", "012", "0", "-12", "", " 12", "12 ", "18446744073709551616"] {
      #expect(CutTable.dot(RecordName("\(device)-\(number)")) == nil, "\(number)")
    }
    #expect(CutTable.dot(RecordName("\(device)12")) == nil)
  }

  @Test(arguments: [ByteReader.counterMax + 1, UInt64.max])
  func `numbers that nobody can count on from are no sequences`(number: UInt64) {
    let (dot, other) = (Dot(device: DeviceID(rawValue: 5), sequence: 1), DeviceID(rawValue: 6))
    let context = VersionVector([dot, Dot(device: other, sequence: number)])
    let cut = Cut(dot: dot, context: context, members: [dot.device], line: [dot])
    #expect(throws: DecodeError.self) { try Cut(dot, cut.encoded) }
    let name = EarlierName(dot.device, next: other, common: number)
    #expect(throws: DecodeError.self) { try EarlierName(dot.device, name.encoded) }
  }
}
