import CairnMerge
import Testing

@testable import Cairn
@testable import CairnStore

/// What several commits have changed, told as one.
@Suite struct SyncPartsTests {
  private func outcome(_ names: [String], in table: String = "t") -> SyncOutcome {
    var outcome = SyncOutcome()
    outcome.appliedCount = 1
    outcome.changed = names.map { name in
      let isDeleted = name.hasSuffix("-")
      return SyncOutcome.Changed(
        table: table, id: RecordName(isDeleted ? String(name.dropLast()) : name),
        isDeleted: isDeleted)
    }
    return outcome
  }

  private func told(_ parts: SyncParts) -> [String] {
    parts.whole().changed.map { "\($0.table)/\($0.id.text)" + ($0.isDeleted ? "-" : "") }
  }

  @Test func `nothing is nothing`() {
    #expect(told(SyncParts(SyncOutcome())) == [])
    #expect(SyncParts(SyncOutcome()).appliedCount == 0)
  }

  @Test func `each record is told once, as the last part says`() {
    var parts = SyncParts(outcome(["a", "b"]))
    parts.add(outcome(["b-", "c"]))
    parts.add(SyncOutcome())
    parts.add(outcome(["a"], in: "u"))
    parts.add(outcome(["c-", "d"]))
    #expect(told(parts) == ["t/a", "t/b-", "u/a", "t/c-", "t/d"])
    #expect(parts.appliedCount == 4)
  }

  /// What a device that returns had to leave behind is in no record.
  @Test func `a conflict of which no record tells is told whatever comes later`() {
    func conflict(_ field: String, _ isOnlyHere: Bool) -> SyncOutcome.Conflict {
      SyncOutcome.Conflict(
        table: "t", id: RecordName("a"),
        conflict: FieldConflict(field: field, visible: nil, losers: []), isOnlyHere: isOnlyHere)
    }
    var first = outcome(["a"])
    first.conflicts = [conflict("known", false), conflict("gone", true)]
    var parts = SyncParts(first)
    parts.add(outcome(["a"]))
    #expect(parts.whole().conflicts.map(\.conflict.field) == ["gone"])
    #expect(told(parts) == ["t/a"])
  }

  /// The cut to give way to may have lost to one that a later part has applied.
  @Test func `whether to give way is said by the last part that has judged packs`() {
    var giving = outcome(["a"])
    let dot = Dot(device: DeviceID(rawValue: 7), sequence: 3)
    giving.cutOff = Cut(dot: dot, context: VersionVector([dot]), members: [dot.device], line: [dot])
    var parts = SyncParts()
    parts.add(judged: giving)
    #expect(parts.cutOff == giving.cutOff && parts.cutOff != nil)
    parts.add(outcome(["b"]))
    #expect(parts.cutOff == giving.cutOff)
    parts.add(judged: outcome(["c"]))
    #expect(parts.cutOff == nil)
    #expect(told(parts) == ["t/a", "t/b", "t/c"])
  }

  /// A snapshot of others may say that it has any number of them.
  @Test func `more deltas than can be counted are as many as can be`() {
    var parts = SyncParts(SyncOutcome())
    for count in [Int.max, 1] {
      var part = outcome(["a"])
      part.appliedCount = count
      parts.add(part)
    }
    #expect(parts.appliedCount == .max)
    #expect(SyncOutcome.share(of: .max) == 1 << 48)
    #expect(SyncOutcome.share(of: 7) == 7)
  }

  @Test func `a part by itself is told as it is`() {
    var parts = SyncParts(SyncOutcome())
    parts.add(outcome(["b", "a-", "c"]))
    #expect(told(parts) == ["t/b", "t/a-", "t/c"])
  }

  @Test func `conflicts of a record that has changed again are no more`() {
    func conflict(_ name: String, _ field: String) -> SyncOutcome.Conflict {
      SyncOutcome.Conflict(
        table: "t", id: RecordName(name),
        conflict: FieldConflict(field: field, visible: nil, losers: []))
    }
    var first = outcome(["a", "b"])
    first.conflicts = [conflict("a", "one"), conflict("b", "two")]
    var parts = SyncParts(first)
    var second = outcome(["a"])
    second.conflicts = [conflict("a", "three")]
    parts.add(second)
    parts.add(outcome(["c"]))
    #expect(parts.whole().conflicts.map(\.conflict.field) == ["two", "three"])
  }
}
