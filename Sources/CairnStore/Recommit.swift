import CairnBytes
import CairnLog
import CairnMerge

/// Commits a delta once more, on top of everything that is in a state: what its author had not seen
/// counts as seen from now on.
///
/// So its writes cover what is there, whoever wrote it, and its deletes kill it. Where it can be
/// told that the author had not seen a value, `max` and `min` decide all the same, and what loses
/// is reported. A record that was deleted meanwhile stays deleted: what the delta wrote to it is
/// left out and reported. Additions add to what is there now. A list that was begun apart goes
/// behind the one that is there, and so do new items of a list that is there no more.
struct Recommit {
  /// Deltas of a history of another device which has lost: what bears their names is something
  /// else.
  private let isStrange: (Dot) -> Bool
  /// The author's additions so far, by field: to know how much each one added.
  private var totals: [FieldName: Delta.Addition] = [:]
  private(set) var conflicts: [SyncOutcome.Conflict] = []
  private(set) var unseen: UnseenWrites

  private typealias FieldName = CommonBranch.FieldName

  init(_ unseen: UnseenWrites, isStrange: @escaping (Dot) -> Bool) {
    (self.unseen, self.isStrange) = (unseen, isStrange)
  }

  /// Rewrites the cells of one delta; `heap` grows by values that it did not have.
  mutating func rewrite(
    _ delta: Delta, heap: inout [UInt8], names: [RecordName], in state: inout StoreState
  ) throws(StoreError) -> Delta {
    var new = Delta()
    (new.dot, new.time, new.dependencies) = (delta.dot, delta.time, delta.dependencies)
    unseen.begin(delta, in: state)
    // Cuts are about the deltas that they were made with.
    for section in delta.sections where section.table != CutTable.name {
      let table = state.table(section.table)
      var rows: [UInt32: (row: UInt32, state: RecordState)] = [:]
      let first = new.records.count
      for index in section.records {
        let name = names[Int(delta.records[index].reference)]
        let record = try state.fullState(table, name)
        guard let flags = flags(delta.records[index].flags, record) else {
          report(delta, section, UInt32(index), name, heap)
          continue
        }
        if flags & Delta.Flags.delete != 0 { unseen.forget(section.table, name) }
        rows[UInt32(index)] = (UInt32(new.records.count), record)
        add(delta.records[index], flags, record, to: &new)
      }
      if new.records.count == first { continue }
      let firstColumn = new.columns.count
      let edits = state.edits(of: delta, section, rows.mapValues(\.state)) {
        ($0.names(isStrange) ? $0.forgetting(isStrange) : $0)
          .renamed(dots: { state.cuts.presentName(of: $0, seen: state.vector) })
      }
      for column in delta.columns[section.columns] {
        rewrite(
          column, of: delta, section, edits, &heap, names, rows, state, into: &new)
      }
      new.sections.append(
        Delta.Section(
          table: section.table, records: first..<new.records.count,
          columns: firstColumn..<new.columns.count))
    }
    return new
  }

  private func add(
    _ entry: Delta.RecordEntry, _ flags: UInt8, _ record: RecordState, to new: inout Delta
  ) {
    var entry = Delta.RecordEntry(flags: flags, reference: entry.reference)
    let born = births(flags, record, new.dot)
    if !born.isEmpty {
      new.born[new.records.count] = born
      entry.flags |= Delta.Flags.born
    }
    new.records.append(entry)
  }

  /// What is to be done to a record; nil if nothing is.
  private func flags(_ flags: UInt8, _ record: RecordState) -> UInt8? {
    let wanted = flags & (Delta.Flags.delete | Delta.Flags.insert)
    if wanted & Delta.Flags.insert != 0 || record.exists { return wanted }
    return nil
  }

  private func births(_ flags: UInt8, _ record: RecordState, _ dot: Dot) -> [Dot] {
    if flags & Delta.Flags.insert == 0 {
      return flags & Delta.Flags.delete != 0 ? [] : record.bornOfUpdate
    }
    return flags & Delta.Flags.delete != 0 ? [dot] : record.bornOfInsert
  }

  // MARK: cells

  private mutating func rewrite(
    _ column: Delta.Column, of delta: Delta, _ section: Delta.Section, _ edits: [Int: ListEdit],
    _ heap: inout [UInt8], _ names: [RecordName],
    _ rows: [UInt32: (row: UInt32, state: RecordState)], _ state: StoreState,
    into new: inout Delta
  ) {
    var cells: [Delta.Operation: [(row: UInt32, cell: Cell, change: Change)]] = [:]
    for index in column.cells {
      let reference = Int(delta.records[Int(delta.rows[index])].reference)
      let name = FieldName(table: section.table, record: names[reference], field: column.field)
      guard let (row, record) = rows[delta.rows[index]] else { continue }
      let isNew = delta.records[Int(delta.rows[index])].flags & Delta.Flags.delete != 0
      let register = isNew ? Register() : record.register(column.field)
      let rule = state.rules.rule(table: section.table, field: column.field)
      var cell = Cell(tag: delta.tags[index], word: delta.words[index])
      let change: Change
      if delta.edits.index(index) != nil {
        // Else another one does what it did.
        guard let edit = edits[index] else { continue }
        guard let homed = register.homed(edit, rule) else {
          let items = edit.newItems
          if !items.isEmpty {
            report(.list(items), delta, section.table, name.record, column.field)
          }
          continue
        }
        change = .edit(homed)
      } else if cell.tag == CellTag.createdList, case .list(let items) = cell.value(heap),
        case .list(let there) = register.visible(rule)
      {
        // An edit, and no value for all of it: others may be editing what is there.
        guard ListCoding.fits(there + items), let edit = register.appending(items, rule) else {
          report(.list(items), delta, section.table, name.record, column.field)
          continue
        }
        if edit.isEmpty { continue }
        cell = Cell.none
        change = .edit(edit)
      } else {
        guard let put = write(index, delta, name, register, rule, &cell, &heap) else { continue }
        change = put
      }
      cells[change.operation, default: []].append((row, cell, change))
    }
    for operation in [Delta.Operation.putCovering, .add, .edit] {
      guard let list = cells[operation] else { continue }
      let start = new.tags.count
      for (row, cell, change) in list {
        let index = new.tags.count
        new.rows.append(row)
        new.tags.append(cell.tag)
        new.words.append(cell.word)
        switch change {
        case .put(let covered): new.covered[index] = covered
        case .add(let addition): new.totals[index] = addition
        case .edit(let edit): new.edits[index] = edit
        }
      }
      new.columns.append(
        Delta.Column(
          field: column.field, operation: operation, cells: start..<new.tags.count))
    }
  }

  private enum Change {
    case put([RunningTotal])
    case add(Delta.Addition)
    case edit(ListEdit)

    var operation: Delta.Operation {
      switch self {
      case .put: .putCovering
      case .add: .add
      case .edit: .edit
      }
    }
  }

  /// Nil if another value is to stay.
  private mutating func write(
    _ index: Int, _ delta: Delta, _ name: FieldName, _ register: Register, _ rule: Rule,
    _ cell: inout Cell, _ heap: inout [UInt8]
  ) -> Change? {
    var value = cell.value(heap)
    if let addition = delta.totals[index] {
      let before = totals[name].flatMap { $0.since == addition.since ? $0.total : nil }
      totals[name] = addition
      let amount = Recommit.held(addition.total.subtracting(before ?? .zero))
      if rule == .sum {
        let visible = register.visible(rule).flatMap { Number($0) } ?? .zero
        value = Recommit.held(visible.adding(amount)).value
        cell = Cell(value, heap: &heap)
      }
    }
    let asWritten = delta.totals[index] == nil ? Rule.remote : rule
    switch register.write(value, rule: asWritten, dot: delta.dot) {
    case .add(let result, let total, let since):
      cell = Cell(result, heap: &heap)
      return .add(Delta.Addition(since: since, total: total))
    case .put(_, let covered), .create(_, let covered):
      switch unseen.meet(value, of: delta, at: name, register, rule) {
      case .stands: break
      case .isLeftOut: return nil
      case .isReplaced(let other): cell = Cell(other, heap: &heap)
      }
      return .put(covered)
    case .edit: return .put([])
    }
  }

  /// The most that a double holds stands for what is beyond it: an infinite number would be no sum
  /// any more, and nothing could be taken from it or added to it.
  private static func held(_ number: Number) -> Number {
    guard case .double(let value) = number, !value.isFinite else { return number }
    let most = Double.greatestFiniteMagnitude
    return .double(value < 0 ? -most : most)
  }

  // MARK: what is left out

  private mutating func report(
    _ delta: Delta, _ section: Delta.Section, _ row: UInt32, _ name: RecordName, _ heap: [UInt8]
  ) {
    for column in delta.columns[section.columns] {
      for index in column.cells where delta.rows[index] == row {
        let cell = Cell(tag: delta.tags[index], word: delta.words[index])
        let value = delta.edits[index].map { FieldValue.list($0.newItems) }
          ?? cell.value(heap)
        report(value, delta, section.table, name, column.field)
      }
    }
  }

  private mutating func report(
    _ value: FieldValue?, _ delta: Delta, _ table: String, _ name: RecordName, _ field: String
  ) {
    let place = FieldName(table: table, record: name, field: field)
    conflicts.append(SyncOutcome.Conflict(place, leftOut: value, of: delta))
  }
}

extension SyncOutcome.Conflict {
  /// What is committed once more without something that a delta said.
  init(_ place: CommonBranch.FieldName, leftOut value: FieldValue?, of delta: Delta) {
    let loser = FieldConflict.Loser(
      value: value, stamp: Stamp(dot: delta.dot, time: delta.time))
    self.init(
      table: place.table, id: place.record,
      conflict: FieldConflict(field: place.field, visible: nil, losers: [loser]),
      isOnlyHere: true)
  }
}

extension StoreState {
  /// Everything about a record, as it would be merged.
  mutating func fullState(_ number: Int, _ name: RecordName) throws(StoreError) -> RecordState {
    let place = try tables[number].find(name, &ground)
    if case .nowhere = place { return RecordState() }
    let slot = try tables[number].writableSlot(name, place, &ground, rules)
    if let state = tables[number].complex[slot] { return state }
    return try tables[number].plainState(slot, &ground, rules, old: [:])
  }
}

extension Store {
  /// Commits deltas of packs of another author once more, on top of what is here, under the time
  /// that they had. Returns them as they are now, what they wrote to records that are gone, and
  /// what lost where they met others' writes that their author had not seen.
  func recommit(
    _ packs: [[UInt8]], author: DeviceID, _ unseen: UnseenWrites,
    isStrange: @escaping (Dot) -> Bool
  ) throws(StoreError) -> (packs: [[UInt8]], conflicts: [SyncOutcome.Conflict]) {
    var recommit = Recommit(unseen, isStrange: isStrange)
    let packs = try commit(packs, author: author) {
      delta, heap, names, state throws(StoreError) in
      try recommit.rewrite(delta, heap: &heap, names: names, in: &state)
    }
    let lost = try withState { guarded throws(StoreError) in
      try recommit.unseen.conflicts(in: &guarded.store)
    }
    return (packs, recommit.conflicts + lost)
  }

  /// Commits deltas one by one, each as it is to be on top of those before it; returns them so.
  func commit(
    _ packs: [[UInt8]], author: DeviceID,
    rewritten: (Delta, inout [UInt8], [RecordName], inout StoreState) throws(StoreError) -> Delta
  ) throws(StoreError) -> [[UInt8]] {
    var finished: [[UInt8]] = []
    var writer = PackWriter(device: author, first: vector[author] + 1)
    for pack in packs {
      var reader: PackReader
      do { reader = try PackReader(pack) } catch { throw Store.badPack(error, directory) }
      var delta = Delta()
      while true {
        do throws(DecodeError) { guard try reader.next(into: &delta) else { break } } catch {
          throw Store.badPack(error, directory)
        }
        guard delta.dot.sequence >= writer.nextSequence else { continue }
        var heap = reader.heap
        let new = try withState { guarded throws(StoreError) in
          try rewritten(delta, &heap, reader.records, &guarded.store)
        }
        var single = PackWriter(device: author, first: delta.dot.sequence)
        var maps: ([UInt32], [UInt32]) = ([], [])
        single.append(new, heap: heap, names: reader.records, map: &maps.0)
        let bytes = single.bytes()
        // Each becomes a file, and nobody reads one that is larger than it may be.
        if !writer.isEmpty, writer.byteCount + bytes.count > Store.ownPackBytes {
          finished.append(writer.bytes())
          writer = PackWriter(device: author, first: writer.nextSequence)
        }
        writer.append(new, heap: heap, names: reader.records, map: &maps.1)
        if let failure = try sync(packs: [bytes]).failures.values.first {
          throw StoreError(LogError(failure, directory, at: 0, "own deltas once more"))
        }
      }
    }
    return finished + (writer.isEmpty ? [] : [writer.bytes()])
  }

  private static func badPack(_ error: DecodeError, _ directory: String) -> StoreError {
    StoreError(LogError(error, directory, at: 0, "own deltas"))
  }
}
