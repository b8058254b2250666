import CairnBytes
import CairnLog
import CairnMerge

/// Writes two states of one datastore as one snapshot: that of all deltas which are in either.
///
/// Rows that are the same in both, or that only one has and the other has not heard of, are copied;
/// all others go through `RecordState.join`. Two blocks at a time are in memory, the names of what
/// changes, and parts of the new file's index. Works on values, outside the store's lock.
struct SnapshotJoin {
  /// What the join makes of the state that is here.
  struct Result {
    var length: UInt64 = 0
    /// Records that it changes, in the order of their tables and ids.
    var changed: [SyncOutcome.Changed] = []
    /// Conflicts in them.
    var conflicts: [SyncOutcome.Conflict] = []
    /// Records that are here and are gone then.
    var deletes = 0
  }

  private let mine: SnapshotBuild.Source
  private let theirs: SnapshotBuild.Source
  private let mySide: Side
  private let theirSide: Side
  private let fence: VersionVector
  /// Others are left out.
  private let tables: TableChoice
  private var rules = RuleBook()
  private var sink: RowSink
  private var fields = FieldNumbers()
  private var totals = StoreTotals()
  private var result = Result()
  private var row = BlockBuilder.Row()
  private var scratch: [UInt8] = []

  /// How far a state reaches, as the other one's rows are judged by.
  private struct Side {
    let horizon: Horizon
    /// It has seen everything that is settled in the other state.
    let knowsSettled: Bool

    init(_ horizon: Horizon, of other: Horizon) {
      self.horizon = horizon
      knowsSettled = horizon.seen.covers(other.fence)
    }

    func knows(_ stamp: Stamp) -> Bool {
      stamp.isSettled ? knowsSettled : horizon.seen.contains(stamp.dot)
    }

    /// Whether a plain row of the other state has nothing, or only things, that are known here;
    /// nil if it has both.
    func knows(_ row: BlockBuilder.Row) -> Bool? {
      let isKnown = knows(row.presence)
      for cell in row.cells where knows(cell.stamp) != isKnown { return nil }
      return isKnown
    }
  }

  init(
    _ mine: SnapshotBuild.Source, _ theirs: BaseSnapshot, tables: TableChoice = .all,
    writer: SnapshotWriter
  ) {
    self.mine = mine
    self.tables = tables
    var ground = Ground()
    ground.base = theirs
    let tables = theirs.description.tables.map { TableState(name: $0.name, base: theirs) }
    self.theirs = SnapshotBuild.Source(
      datastore: mine.datastore, tables: tables, ground: ground, rules: RuleBook(),
      totals: StoreTotals(), description: theirs.description, isAlone: false)
    let (here, there) = (mine.description.horizon, theirs.description.horizon)
    mySide = Side(here, of: there)
    theirSide = Side(there, of: here)
    fence = here.fence.merged(with: there.fence)
    sink = RowSink(writer: writer)
  }

  /// Writes the whole file.
  mutating func run() throws(StoreError) -> Result {
    try readRules()
    let names = Set(mine.tables.map(\.name)).union(theirs.tables.map(\.name)).sorted()
    for name in names where tables.keeps(name) { try writeTable(name) }
    var description = mine.description.joined(with: theirs.description)
    description.size = totals.size
    description.recordCount = totals.recordCount
    result.length = try sink.finish(description)
    return result
  }

  private mutating func pairs(_ table: String) -> RowPairs {
    RowPairs(rows(table, of: mine), rows(table, of: theirs))
  }

  private mutating func rows(_ name: String, of source: SnapshotBuild.Source) -> SnapshotRows {
    let table = source.tables.first { $0.name == name } ?? TableState(name: name, base: nil)
    return SnapshotRows(table, of: source, &fields)
  }

  /// The rules that will hold: what is in conflict shows, and counts, by them.
  private mutating func readRules() throws(StoreError) {
    let pairs = pairs(RuleBook.table)
    while let holder = try pairs.next(&fields) {
      let name = holder == .theirs ? pairs.theirs.row.name : pairs.mine.row.name
      let state = joined(pairs, holder)
      for (field, value) in state.visible(rule: { _ in .local }) {
        rules.set(record: name.text, field: field, value)
      }
    }
  }

  private mutating func writeTable(_ name: String) throws(StoreError) {
    sink.begin(name)
    let book = rules
    let hasNewRules =
      book.rules(of: name) != mine.rules.rules(of: name) || book.fallback != mine.rules.fallback
    let scope = Scope(name: name, rules: book, before: mine.rules, hasNewRules: hasNewRules)
    let pairs = pairs(name)
    while let holder = try pairs.next(&fields) {
      switch holder {
      case .mine: try takeMine(pairs, scope)
      case .theirs: try takeTheirs(pairs, scope)
      case .both:
        if isSame(pairs) {
          try keepMine(pairs, scope)
        } else {
          try join(pairs, .both, scope)
        }
      }
    }
    try sink.end(name, fields)
  }

  /// The table at hand, and the rules of its fields.
  private struct Scope {
    var name: String
    var rules: RuleBook
    var before: RuleBook
    var hasNewRules: Bool

    func rule(_ field: String) -> Rule { rules.rule(table: name, field: field) }

    func showsAnew(_ state: RecordState) -> Bool {
      hasNewRules && state.showsAnew(by: rules, not: before, table: name)
    }
  }

  // MARK: one record

  private mutating func takeMine(_ pairs: RowPairs, _ scope: Scope) throws(StoreError) {
    if pairs.mine.full == nil, let isKnown = theirSide.knows(pairs.mine.row) {
      // The other side has seen all of it, and seen it go; or has not heard of it.
      if isKnown {
        note(pairs.mine.row.name, existed: true, exists: false, nil, scope)
      } else {
        try copy(pairs, .mine, scope)
      }
      return
    }
    try join(pairs, .mine, scope)
  }

  private mutating func takeTheirs(_ pairs: RowPairs, _ scope: Scope) throws(StoreError) {
    if pairs.theirs.full == nil, let isKnown = mySide.knows(pairs.theirs.row) {
      if !isKnown {
        note(pairs.theirs.row.name, existed: false, exists: true, nil, scope)
        try copy(pairs, .theirs, scope)
      }
      return
    }
    try join(pairs, .theirs, scope)
  }

  /// Whether both sides say the same of a record, stamps included.
  private func isSame(_ pairs: RowPairs) -> Bool {
    let (a, b) = (pairs.mine.row, pairs.theirs.row)
    let (myHeap, myBase) = (pairs.mine.heap, pairs.mine.baseHeap)
    let (heap, base) = (pairs.theirs.heap, pairs.theirs.baseHeap)
    if a.state != nil || b.state != nil { return a.state == b.state }
    guard a.presence == b.presence, a.cells.count == b.cells.count else { return false }
    for cell in a.cells {
      // Mostly in the same order; there are few of them.
      guard let other = b.cells.first(where: { $0.field == cell.field }),
        cell.stamp == other.stamp,
        cell.cell.equals(
          cell.isBase ? myBase : myHeap, other.cell, other.isBase ? base : heap)
      else { return false }
    }
    return true
  }

  private mutating func keepMine(_ pairs: RowPairs, _ scope: Scope) throws(StoreError) {
    if let full = pairs.mine.full, scope.showsAnew(full) {
      note(pairs.mine.row.name, existed: true, exists: true, full, scope)
    }
    // Pruned once more if the fence has moved on.
    if pairs.mine.full != nil, fence != mine.description.fence {
      try write(pairs.mine.row.name, joined(pairs, .both), scope)
    } else {
      try copy(pairs, .mine, scope)
    }
  }

  private mutating func join(
    _ pairs: RowPairs, _ holder: RowPairs.Holder, _ scope: Scope
  ) throws(StoreError) {
    let name = holder == .theirs ? pairs.theirs.row.name : pairs.mine.row.name
    let state = joined(pairs, holder)
    var before = holder == .theirs ? RecordState() : pairs.mine.state(fields.names)
    let existed = before.exists
    // What the fence alone makes of it is no change.
    before.prune(fence)
    if state != before || scope.showsAnew(state) {
      note(name, existed: existed, exists: state.exists, state, scope)
    }
    try write(name, state, scope)
  }

  private func joined(_ pairs: RowPairs, _ holder: RowPairs.Holder) -> RecordState {
    let names = fields.names
    return RecordState.join(
      holder == .theirs ? RecordState() : pairs.mine.state(names), mySide.horizon,
      holder == .mine ? RecordState() : pairs.theirs.state(names), theirSide.horizon)
  }

  private mutating func note(
    _ id: RecordName, existed: Bool, exists: Bool, _ state: RecordState?, _ scope: Scope
  ) {
    // Whoever neither had nor gets it need not hear of it.
    guard existed || exists, scope.name != CutTable.name else { return }
    if existed, !exists, TableState.isCounted(scope.name) { result.deletes += 1 }
    result.changed.append(
      SyncOutcome.Changed(table: scope.name, id: id, isDeleted: !exists))
    guard let state, !state.isPlain else { return }
    for conflict in state.conflicts(rule: scope.rule) {
      result.conflicts.append(
        SyncOutcome.Conflict(table: scope.name, id: id, conflict: conflict))
    }
  }

  // MARK: writing

  /// Copies a row as one side has it.
  private mutating func copy(
    _ pairs: RowPairs, _ holder: RowPairs.Holder, _ scope: Scope
  ) throws(StoreError) {
    let isTheirs = holder == .theirs
    var row = isTheirs ? pairs.theirs.row : pairs.mine.row
    let heap = isTheirs ? pairs.theirs.heap : pairs.mine.heap
    let baseHeap = isTheirs ? pairs.theirs.baseHeap : pairs.mine.baseHeap
    if let full = isTheirs ? pairs.theirs.full : pairs.mine.full {
      count(full.size(rule: scope.rule), exists: full.exists, scope)
    } else {
      row.settle(fence)
      var size = Sizes.record
      for cell in row.cells where CellTag.isValue(cell.cell.tag) {
        size += Sizes.field + cell.cell.valueSize(cell.isBase ? baseHeap : heap)
      }
      count(size, exists: true, scope)
    }
    try sink.add(row, heap: heap, baseHeap: baseHeap, fields)
  }

  private mutating func write(
    _ name: RecordName, _ state: RecordState, _ scope: Scope
  ) throws(StoreError) {
    scratch.removeAll(keepingCapacity: true)
    guard try row.fill(name, state, settlesAll: false, heap: &scratch, &fields) else { return }
    count(state.size(rule: scope.rule), exists: state.exists, scope)
    try sink.add(row, heap: [], baseHeap: scratch, fields)
  }

  private mutating func count(_ size: Int, exists: Bool, _ scope: Scope) {
    guard exists, TableState.isCounted(scope.name) else { return }
    totals.add(size: size, records: 1)
  }
}

extension BlockBuilder.Row {
  /// Forgets in a plain row what is behind a fence.
  mutating func settle(_ fence: VersionVector) {
    if fence.isEmpty { return }
    if fence.contains(presence.dot) { presence = .settled }
    for index in cells.indices
    where fence.contains(cells[index].stamp.dot) && !CellTag.isList(cells[index].cell.tag) {
      cells[index].stamp = .settled
    }
    cells.removeAll { !CellTag.isValue($0.cell.tag) && $0.stamp.isSettled }
  }
}

extension RecordState {
  var isPlain: Bool { plain != nil }
}

extension SnapshotDescription {
  var horizon: Horizon { Horizon(seen: vector, fence: fence) }

  /// What is to be said of the state of both, but for what counting its records gives.
  func joined(with other: SnapshotDescription) -> SnapshotDescription {
    var result = SnapshotDescription()
    result.vector = vector.merged(with: other.vector)
    result.fence = fence.merged(with: other.fence)
    result.contexts = contexts.merged(with: other.contexts)
    result.modified = max(modified, other.modified)
    return result
  }
}
