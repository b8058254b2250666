import CairnMerge

/// What puts that are committed once more would cover although their author had not seen it, as far
/// as that can still be told.
///
/// Who wrote what is settled nobody knows any more, so that counts as seen. And so does everything
/// as long as the author had seen something that is not there under any name that is known: it may
/// be there under another one.
struct UnseenWrites {
  /// What is to become of a put.
  enum Verdict {
    case stands
    /// What the rule makes of it is there already.
    case isLeftOut
    /// The rule decides for what an earlier delta of the author has covered.
    case isReplaced(FieldValue?)
  }

  private struct Row: Hashable {
    var table: String
    var record: RecordName
  }

  /// Others' writes of a field that the author had not seen, and what it wrote if that has lost.
  private struct Meeting {
    var others: [Entry]
    var lost: Entry?
  }

  /// What the author had seen at the delta at hand; nil if that can't be told of any.
  private var context: VersionVector?
  /// By delta: what the one before it had not seen.
  private let later: [UInt64: [Dot]]
  /// Whether all of that is there.
  private var isThere = false
  private var cuts = CutBook()
  private var rows: [Row: [String: Meeting]] = [:]

  init(behind context: VersionVector?, later: [UInt64: [Dot]]) {
    (self.context, self.later) = (context, later)
  }

  /// The deltas come in order.
  mutating func begin(_ delta: Delta, in state: StoreState) {
    for dot in later[delta.dot.sequence] ?? [] { context?.insert(dot) }
    cuts = state.cuts
    isThere = context?.entries.allSatisfy {
      state.vector.contains(state.cuts.presentName(of: $0, seen: state.vector))
    } ?? false
  }

  /// The author deletes a record: that goes for what it has not seen, too.
  mutating func forget(_ table: String, _ record: RecordName) {
    rows[Row(table: table, record: record)] = nil
  }

  /// Decides about a put in a field. Of lists, and of values that a delta might have no room for,
  /// the last one stands.
  mutating func meet(
    _ value: FieldValue?, of delta: Delta, at place: CommonBranch.FieldName,
    _ register: Register, _ rule: Rule
  ) -> Verdict {
    guard isThere, let context else { return .stands }
    let (row, cuts) = (Row(table: place.table, record: place.record), cuts)
    func isUnseen(_ entry: Entry) -> Bool {
      entry.dot.device != delta.dot.device
        && !cuts.earlierNames(of: entry.dot).contains(where: context.contains)
    }
    var others = register.survivors(rule, where: isUnseen)
    for old in rows[row]?[place.field]?.others ?? [] where isUnseen(old) {
      if !others.contains(where: { $0.dot == old.dot }) { others.append(old) }
    }
    if others.isEmpty {
      rows[row]?[place.field] = nil
      return .stands
    }
    let stamp = Stamp(dot: delta.dot, time: delta.time)
    let own = Entry(stamp: stamp, born: [], value: value, isAdd: false)
    let all = (others + [own]).sorted { $0.stamp < $1.stamp }
    var verdict = Verdict.stands
    if rule == .max || rule == .min, !all.contains(where: \.isList) {
      let best = Register(entries: all).visible(rule)
      if best != value {
        verdict = UnseenWrites.verdict(
          best, isShown: best == register.visible(rule),
          // What its author had seen is covered all the same.
          isUnseen: register.entries.allSatisfy(isUnseen))
      }
    }
    var meeting = Meeting(others: others, lost: own)
    if case .stands = verdict { meeting.lost = nil }
    rows[row, default: [:]][place.field] = meeting
    return verdict
  }

  /// For a value that wins over a put. Text may be longer than what it would take the place of.
  private static func verdict(_ value: FieldValue?, isShown: Bool, isUnseen: Bool) -> Verdict {
    if isShown, isUnseen { return .isLeftOut }
    switch value {
    case .string, .bytes, .list: return isShown ? .isLeftOut : .stands
    case nil, .bool, .int, .double, .date: return .isReplaced(value)
    }
  }

  /// What has lost and is not in the state any more, which has all of the deltas by now.
  func conflicts(in state: inout StoreState) throws(StoreError) -> [SyncOutcome.Conflict] {
    var conflicts: [SyncOutcome.Conflict] = []
    let sorted = rows.keys.sorted { ($0.table, $0.record) < ($1.table, $1.record) }
    for row in sorted {
      let record = try state.fullState(state.table(row.table), row.record)
      for (field, meeting) in (rows[row] ?? [:]).sorted(by: { $0.key < $1.key }) {
        let register = record.register(field)
        let visible = register.visible(state.rules.rule(table: row.table, field: field))
        // The record tells of those of others that it remembers; under the author's own name it
        // may have another value by now.
        var lost = meeting.others.filter { old in
          !register.entries.contains { $0.dot == old.dot }
        }
        if let own = meeting.lost { lost.append(own) }
        lost.removeAll { $0.value == visible }
        if lost.isEmpty { continue }
        let losers = lost.sorted { $0.stamp < $1.stamp }.map {
          FieldConflict.Loser(value: $0.value, stamp: $0.stamp)
        }
        conflicts.append(
          SyncOutcome.Conflict(
            table: row.table, id: row.record,
            conflict: FieldConflict(field: field, visible: visible, losers: losers),
            isOnlyHere: true))
      }
    }
    return conflicts
  }
}
