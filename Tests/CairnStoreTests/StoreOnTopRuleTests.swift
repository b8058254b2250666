import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A device that comes back after the others have stopped to wait for it, with values for fields
/// that they have written meanwhile: `max` and `min` decide, and what is lost is told, as far as it
/// can be told that it has not seen theirs.
@Suite final class StoreOnTopRuleTests {
  /// What both write to one field, and what comes of it.
  struct Meeting: Sendable, CustomTestStringConvertible {
    var rule: Rule
    var mine: [FieldValue?]
    var theirs: FieldValue?
    var shown: FieldValue?
    var lost: FieldValue??

    init(
      _ rule: Rule, _ mine: [FieldValue?], _ theirs: FieldValue?, shows: FieldValue?,
      losing: FieldValue??
    ) {
      (self.rule, self.mine, self.theirs) = (rule, mine, theirs)
      (shown, lost) = (shows, losing)
    }

    var testDescription: String { "\(rule) \(mine) \(String(describing: theirs))" }
  }

  private let a: StoreDevice
  private let b: StoreDevice
  private var published: [UInt8] = []

  init() throws {
    (a, b) = (try StoreDevice(1, time: 1000), try StoreDevice(2, time: 2000))
  }

  /// Both have a record, and know the rule of its field. No more of what `a` does is known to
  /// others.
  private func begin(_ rule: Rule) throws {
    try a.store.setRule(rule, table: "t", field: "n")
    try a.store.insert("r", ["n": 6])
    try a.store.sync()
    published = try a.store.pack()
    try b.store.sync(packs: [published])
  }

  private func put(_ value: FieldValue?, _ device: StoreDevice) throws {
    device.clock.advance(by: 100)
    try device.store.set("r", ["n": value])
    try device.store.sync()
  }

  /// Comes back, and all hear of all. Returns who lost.
  private func comeBack(
    _ plan: Rejoining, _ others: [StoreDevice], shows value: FieldValue?
  ) throws -> [FieldConflict.Loser] {
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    #expect(try a.store.get("r")?["n"] == value)
    #expect(outcome.conflicts.allSatisfy { $0.conflict.visible == value })
    try a.expectSame(as: others, and: try StoreDevice(9), after: published)
    return outcome.conflicts.flatMap(\.conflict.losers)
  }

  static let meetings = [
    Meeting(.max, [5], 7, shows: 7, losing: 5),
    Meeting(.max, [9], 7, shows: 9, losing: 7),
    Meeting(.min, [5], 7, shows: 5, losing: 7),
    Meeting(.min, [9], 7, shows: 7, losing: 9),
    Meeting(.max, [nil], 7, shows: 7, losing: .some(nil)),
    Meeting(.max, [5], nil, shows: 5, losing: .some(nil)),
    Meeting(.min, [5], nil, shows: nil, losing: 5),
    Meeting(.max, [7], 7, shows: 7, losing: nil),
    Meeting(.max, ["m"], "z", shows: "z", losing: "m"),
    Meeting(.remote, [5], 7, shows: 5, losing: 7),
    Meeting(.local, [5], 7, shows: 5, losing: 7),
    Meeting(.remote, [5], .list([7]), shows: 5, losing: FieldValue.list([7])),
    // What it ends with counts, also where it has been beyond theirs.
    Meeting(.max, [9, 4], 7, shows: 7, losing: 4),
    Meeting(.max, [5, 9], 7, shows: 9, losing: 7),
    Meeting(.max, [9, nil], 7, shows: 7, losing: .some(nil)),
    Meeting(.min, [2, 8], 7, shows: 7, losing: 8),
    Meeting(.min, [2, 8], nil, shows: nil, losing: 8),
    // Of text and lists a delta might have no room for theirs.
    Meeting(.max, ["z", "a"], "m", shows: "a", losing: "m"),
    Meeting(.max, [5], .list([7]), shows: 5, losing: FieldValue.list([7])),
  ]

  @Test(arguments: meetings)
  func `a rule decides, and what loses is told`(meeting: Meeting) throws {
    try begin(meeting.rule)
    for value in meeting.mine { try put(value, a) }
    try put(meeting.theirs, b)
    let plan = try a.rejoining(published: published, others: try b.store.pack())
    let losers = try comeBack(plan, [b], shows: meeting.shown)
    #expect(losers.map(\.value) == (meeting.lost.map { [$0] } ?? []))
    // Each under the name that it has now.
    let isMine = meeting.shown != meeting.mine.last
    #expect(losers.allSatisfy { $0.device == (isMine ? a.id : b.id) })
    // Nothing is left to be merged, and both go on.
    try put(3, a)
    try b.store.sync(packs: [try a.store.pack()])
    #expect(try b.store.get("r")?["n"] == 3)
  }

  @Test func `what it has seen in time it covers`() throws {
    try begin(.max)
    try put(9, a)
    try put(7, b)
    try a.store.sync(packs: [try b.store.pack()])
    try put(4, a)
    let plan = try a.rejoining(published: published, others: try b.store.pack())
    #expect(try comeBack(plan, [b], shows: 4) == [])
  }

  /// Under another rule, or once the winner is written over, it would show.
  @Test func `what it has seen it covers also where what it has not seen wins`() throws {
    try begin(.max)
    let e = try StoreDevice(3, time: 3000)
    try e.store.sync(packs: [published])
    try put(4, e)
    try a.store.sync(packs: [try e.store.pack()])
    try put(5, a)
    try put(7, b)
    var plan = try a.rejoining(published: published, others: try b.store.pack())
    try plan.staged.sync(packs: [try e.store.pack()])
    plan.admitted = plan.staged.vector
    #expect(try comeBack(plan, [b, e], shows: 7).map(\.value) == [5])
    try a.store.setRule(.min, table: "t", field: "n")
    try a.store.sync()
    #expect(try a.store.get("r")?["n"] == 7)
  }

  /// That goes for what it had not seen, too.
  @Test func `what it has deleted does not come back with the record`() throws {
    try begin(.max)
    try put(9, a)
    try a.store.delete("r")
    try a.store.insert("r", ["n": 4])
    try a.store.sync()
    try put(7, b)
    let plan = try a.rejoining(published: published, others: try b.store.pack())
    #expect(try comeBack(plan, [b], shows: 4) == [])
  }

  /// Whose stamps are gone.
  @Test(arguments: [false, true])
  func `what others have settled it covers`(isSettled: Bool) throws {
    try begin(.max)
    try put(5, a)
    try put(7, b)
    try b.store.retire(a.id)
    try b.store.sync()
    try #require(b.store.cuts.cuts.map(\.isSealed) == [true])
    let plan = try a.rejoining(published: published, others: try b.store.pack())
    if isSettled { _ = try plan.staged.compact() }
    let losers = try comeBack(plan, [b], shows: isSettled ? 5 : 7)
    #expect(losers.map(\.value) == (isSettled ? [] : [5]))
  }

  /// - Parameter isThere: another one has come back before, and its deltas are there under its next
  ///   name.
  @Test(arguments: [false, true])
  func `what it has seen of a device that was left out, too, it covers`(
    isThere: Bool
  ) throws {
    try begin(.max)
    let e = try StoreDevice(3, time: 3000)
    try e.store.sync(packs: [published])
    try put(8, e)
    try a.store.sync(packs: [try e.store.pack()])
    try put(5, a)
    try put(7, b)
    var others = [b]
    if isThere {
      let staged = try Store.open(
        StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
        options: e.options, machine: e.machine)
      try staged.sync(packs: [published, try b.store.pack()])
      var plan = Rejoining(
        staged: staged, device: staged.device, common: CommonBranch(e.id))
      (plan.isOnTop, plan.leavesName) = (true, true)
      let outcome = try #require(try e.store.rejoin(plan) { _ in })
      try staged.close()
      #expect(outcome.conflicts.flatMap(\.conflict.losers).map(\.value) == [7])
      others.append(e)
    }
    var plan = try a.rejoining(published: published, others: try b.store.pack())
    if isThere { try plan.staged.sync(packs: [try e.store.pack()]) }
    plan.admitted = plan.staged.vector
    // Without the other one's deltas nobody knows under which names they are there.
    #expect(try comeBack(plan, others, shows: 5) == [])
  }
}
