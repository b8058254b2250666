import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Agreements that somebody keeps open: who that is, and who goes on without whom.
struct OpenAgreementTests {
  /// Devices that have met, with a record each.
  private func met(_ count: Int) throws -> FenceGroup {
    let group = try FenceGroup(count, isAutomatic: false)
    for number in 0..<count {
      try group[number].insert("r\(number)", ["x": 1])
      try group[number].sync()
    }
    try group.settle()
    return group
  }

  @Test func `what can't be agreed on any more keeps nobody from asking again`() throws {
    let group = try met(3)
    let lost = group.devices[2].id
    // One asks, and at the same moment another one retires the device that is gone.
    group[0].requestCut()
    try group[0].sync()
    try group[1].retire(lost)
    try group[1].sync()
    try group.settle([0, 1])
    #expect(group[0].cuts == group[1].cuts)
    #expect(group[0].cuts.cuts.count { $0.isSealed } == 1)
    #expect(group[0].cuts.cuts.count == 2)
    #expect(group[0].silentMembers.isEmpty && !group[0].hasOpenCuts)
    try group[1].set("r0", ["x": 2])
    try group[1].sync()
    group[1].requestCut()
    try group.settle([0, 1])
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
    #expect(group[1].cuts == group[0].cuts)
  }

  @Test func `so it is where the one that asked is gone`() throws {
    let group = try met(3)
    let lost = group.devices[2].id
    group[2].requestCut()
    try group[2].sync()
    try group.publish(2)
    for number in 0..<2 {
      try group.read(number, from: [2])
      try group.publish(number)
    }
    #expect(group[0].cuts.cuts.map(\.isSealed) == [false])
    try group.read(0, from: [1, 2])
    // All have answered; it only has to say so.
    #expect(group[0].silentMembers == [lost])
    try group[1].retire(lost)
    try group.settle([0, 1])
    try group[1].set("r0", ["x": 2])
    group[0].requestCut()
    try group.settle([0, 1])
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
  }

  @Test func `whose word is missing is told once others were listened to`() throws {
    let group = try met(3)
    group[0].requestCut()
    try group[0].sync()
    try group.devices[0].reopen()
    #expect(group[0].silentMembers.isEmpty)
    try group.publish(0)
    try group.read(1, from: [0])
    try group.publish(1)
    try group.read(0, from: [1])
    #expect(group[0].silentMembers == [group.devices[2].id])
    #expect(group[0].standing.awaited == [group.devices[2].id])
    try group.settle()
    #expect(group[0].silentMembers.isEmpty)
  }

  @Test func `a rollback takes the wish to forget back`() throws {
    let group = try met(2)
    group[0].requestCut()
    try group[0].rollBack()
    #expect(try group[0].sync().committed == nil)
    #expect(group[0].cuts.isEmpty)
  }

  // MARK: who is left out

  /// Devices 0 to 3, of which 0 has asked and 1 knows that; what `4` wrote last is held by 1, and
  /// known to 3 if it `hasHeard`.
  private func held(hasHeard: Bool) throws -> (FenceGroup, other: DeviceID) {
    let group = try met(4)
    let other = try group.add(77, isAutomatic: false)
    try group.read(other, from: [0, 1, 2, 3])
    try group[other].insert("of-other", ["x": 1])
    try group[other].sync()
    try group.publish(other)
    for number in [1, 3] { try group.read(number, from: [other]) }
    try group[other].set("of-other", ["x": 2])
    try group[other].sync()
    try group.publish(other)
    if hasHeard { try group.read(3, from: [other]) }
    group[0].requestCut()
    try group[0].sync()
    try group.publish(0)
    try group.read(1, from: [0])
    return (group, group.devices[other].id)
  }

  @Test func `whose changes may still come in is not left out with another one`() throws {
    let (group, other) = try held(hasHeard: true)
    let lost = group.devices[2].id
    #expect(try group.read(1, from: [0, 4]).held.count == 1)
    try group[1].retire(lost)
    try group[1].sync()
    #expect(group[1].retired == [lost])
    let cut = try #require(group[1].cuts.cuts.first { $0.dot.device == group[1].device })
    #expect(cut.members.contains(other) && !cut.members.contains(lost))
    // The one that has it speaks, and all go on, under their names.
    try group.publish(3)
    try group.settle([0, 1, 3, 4])
    #expect(try group[0].get("of-other") == ["x": 2])
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
    for number in [1, 3, 4] { #expect(group[number].vector == group[0].vector) }
  }

  @Test func `whose changes are held for good is left out, and listed`() throws {
    let (group, other) = try held(hasHeard: false)
    let lost = group.devices[2].id
    try group.read(3, from: [0])
    try group.publish(3)
    #expect(try group.read(1, from: [0, 3, 4]).held.count == 1)
    try group[1].retire(lost)
    try group[1].sync()
    #expect(group[1].retired == [lost, other])
    let cut = try #require(group[1].cuts.cuts.first { $0.dot.device == group[1].device })
    #expect(!cut.members.contains(other))
    try group.settle([0, 1, 3, 4])
    #expect(group[0].cuts.cuts.map(\.isSealed) == [true])
    #expect(group[3].retired == [lost, other])
    // That one hears that the others go on without it.
    #expect(try group.read(4, from: [0, 1, 3]).cutOff != nil)
  }
}
