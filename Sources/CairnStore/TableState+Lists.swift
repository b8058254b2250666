import CairnBytes
import CairnLog
import CairnMerge

/// Lists that are being edited. Their cells say `editedList`, and the word says where the list is:
/// in `lists`, or in the record's full state. Everything else sees ordinary values.
///
/// - In a datastore that nobody else writes to, and for a list that is not committed yet, the list
///   is a plain one in `lists`.
/// - A committed list of a datastore that others write to is part of the record's full state.
extension TableState {
  /// The cell of a list that is in its record's state.
  static let listInState = Cell(tag: CellTag.editedList, word: .max)

  /// Runs `body` on the list of a cell that says `editedList`, in place.
  @inline(__always)
  mutating func withList<R>(
    _ slot: Int, _ column: Int, _ body: (inout ListState) -> R
  ) -> R? {
    guard let place = placeOfShown(slot, column) else { return nil }
    return withList(at: place, body)
  }

  /// Runs `body` on a list with pending edits, whether or not it is visible now.
  mutating func withPending(_ key: ListKey, _ body: (inout ListState) -> Void) {
    if let place = placeOfPending(key) { withList(at: place, body) }
  }

  mutating func addList(_ list: ListState) -> Cell {
    if let free = freeLists.popLast() {
      lists[free] = list
      return Cell(tag: CellTag.editedList, word: UInt64(free))
    }
    lists.append(list)
    return Cell(tag: CellTag.editedList, word: UInt64(lists.count - 1))
  }

  mutating func free(_ cell: Cell) {
    guard cell.tag == CellTag.editedList, cell.word != TableState.listInState.word else { return }
    lists[Int(cell.word)] = ListState(plain: [], isCreated: false)
    freeLists.append(Int(cell.word))
  }

  // MARK: reading

  /// A list that is being edited, as a value.
  mutating func listView(_ slot: Int, _ column: Int) -> CellView {
    let rule = columns[column].rule
    return withList(slot, column) { CellView(items: $0.values(rule), isCreated: $0.isCreated) }
      ?? .none
  }

  /// What a list that is being edited counts with, without the field's 100.
  mutating func listSize(_ slot: Int, _ column: Int) -> Int {
    let rule = columns[column].rule
    return withList(slot, column) { $0.size(rule) } ?? 0
  }

  /// Shows what a field of a record with a full state is now. Returns its size.
  mutating func showAgain(_ slot: Int, _ column: Int, _ ground: inout Ground) -> Int {
    guard let register = complex[slot]?.fields[fieldNames[column]] else { return 0 }
    let rule = columns[column].rule
    if let list = register.visibleList(rule) {
      set(slot, column, TableState.listInState, stamp: StampTable.settled)
      return Sizes.field + register.lists[list].size(rule)
    }
    guard let value = register.visible(rule) else {
      if columns[column].tag(slot) != CellTag.none {
        set(slot, column, .none, stamp: StampTable.settled)
      }
      return 0
    }
    if case .list(let items) = value, !ListCoding.fits(items) {
      // Begun on several devices. Open, it needs no cell that would hold it.
      let field = fieldNames[column]
      complex.update(slot) { state in state.fields.update(field) { _ = $0.openVisible(rule) } }
      set(slot, column, TableState.listInState, stamp: StampTable.settled)
      return Sizes.field(value)
    }
    let start = ground.heap.count
    let old = columns[column].cell(slot)
    var new = cell(value, of: register, rule, &ground)
    if old.tag != CellTag.editedList, CellTag.isHeap(old.tag),
      new.equals(ground.heap, old, ground.heap)
    {
      // A text that stays need not be kept twice.
      ground.heap.removeLast(ground.heap.count - start)
      new = old
    }
    set(slot, column, new, stamp: StampTable.settled)
    return Sizes.field(value)
  }

  /// What a pending field counts with.
  mutating func pendingFieldSize(_ slot: Int, _ column: Int, _ ground: Ground) -> Int {
    let cell = columns[column].cell(slot)
    if cell.tag == CellTag.editedList { return Sizes.field + listSize(slot, column) }
    return CellTag.isValue(cell.tag) ? Sizes.field + cell.valueSize(ground.heap) : 0
  }

  /// The cell of a value that a register shows.
  func cell(
    _ value: FieldValue, of register: Register?, _ rule: Rule, _ ground: inout Ground
  ) -> Cell {
    if case .list(let items) = value, register?.showsCreated(rule) == true {
      return Cell(created: items, heap: &ground.heap)
    }
    return Cell(value, heap: &ground.heap)
  }

  // MARK: opening

  /// Makes the list of a field ready to be edited. `view` is what the field holds now: a list.
  mutating func openList(
    _ slot: Int, _ column: Int, _ view: CellView, isAlone: Bool, _ ground: inout Ground,
    _ rules: RuleBook
  ) throws(StoreError) {
    if columns[column].tag(slot) == CellTag.editedList { return }
    let isNew = isPending(slot, column)
    if isAlone || isNew {
      guard case .list(let items) = view.value else { return }
      let stamp = try stamp(slot, column, &ground)
      let cell = addList(
        ListState(plain: items, isCreated: view.cell.tag == CellTag.createdList))
      set(slot, column, cell, stamp: stamp)
      return
    }
    let wasPlain = !isComplex(slot)
    if wasPlain {
      if pendingMarks[slot] == 0 {
        try makeComplex(slot, &ground, rules)
      } else {
        try makePendingComplex(slot, &ground, rules)
      }
    }
    let rule = columns[column].rule
    let field = fieldNames[column]
    var isOpen = false
    complex.update(slot) { state in
      state.fields.update(field) { isOpen = $0.openVisible(rule) != nil }
    }
    // Once it is open, or the list would be written out as a value only to be thrown away.
    if wasPlain { refresh(slot, &ground, rules) }
    if isOpen { set(slot, column, TableState.listInState, stamp: StampTable.settled) }
  }

  /// Gives a record with pending changes its full state, as it was before them.
  private mutating func makePendingComplex(
    _ slot: Int, _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) {
    let own = undoIndexes(of: slot)
    var old: [Int: Undo] = [:]
    // Of two notes of a cell the first one counts.
    for index in own.reversed() { old[Int(undo[index].column)] = undo[index] }
    try makeComplex(slot, beforePending: old, &ground, rules)
    // It stays so when the changes are taken back.
    pendingRecords[Int(pendingMarks[slot]) - 1].flagsBefore |= Flag.complex | Flag.hidesBase
    // What was in the base is not looked for there any more.
    for index in own where undo[index].cell.isNone {
      let column = Int(undo[index].column)
      let register = complex[slot]?.fields[fieldNames[column]]
      let rule = columns[column].rule
      guard let value = register?.visible(rule) else { continue }
      let before = cell(value, of: register, rule, &ground)
      undo[index].tag = before.tag
      undo[index].word = before.word
    }
  }

  /// Puts a new list into an absent field.
  mutating func createList(_ slot: Int, _ column: Int, _ list: ListState) {
    put(slot, column, addList(list))
  }

  // MARK: commits

  /// Lists that nobody has seen yet go into the delta as values.
  mutating func flattenNewLists(_ ground: inout Ground) {
    if !mayEditLists { return }
    for entry in undo {
      let (slot, column) = (Int(entry.slot), Int(entry.column))
      let cell = columns[column].cell(slot)
      guard cell.tag == CellTag.editedList, isPending(slot, column) else { continue }
      let flat = ground.cell(of: lists[Int(cell.word)])
      free(cell)
      set(slot, column, flat, stamp: StampTable.pending)
    }
  }

  /// Finds out what there is to say about committed lists with pending edits.
  mutating func collectLists(isAlone: Bool) {
    collectedLists.clear()
    for index in pendingLists.indices {
      collectedLists.append(CollectedList())
      if pendingLists[index].isGone { continue }
      guard isAlone ? collectSplices(index) : collectEdit(index) else {
        pendingLists[index].isGone = true
        continue
      }
      collectedLists[index].hasChange = true
      let mark = pendingMarks[Int(pendingLists[index].key.slot)]
      if mark != 0 { pendingRecords[Int(mark) - 1].row = 0 }
    }
  }

  private mutating func collectSplices(_ index: Int) -> Bool {
    var splices: ListSplices?
    withPending(pendingLists[index].key) { list in
      splices = list.collectSplices()
      if splices == nil { list.rollBack() }
    }
    collectedLists[index].splices = splices
    return splices != nil
  }

  private mutating func collectEdit(_ index: Int) -> Bool {
    let key = pendingLists[index].key
    var edit = spareEdit.take() ?? ListEdit()
    let hasChange = complex.collectList(
      Int(key.slot), fieldNames[Int(key.column)], root: key.root, into: &edit)
    collectedLists[index].edit = consume edit
    return hasChange
  }

  /// Appends a column for each field with edited lists.
  mutating func addListColumns(into delta: inout Delta) {
    if pendingLists.count > 1 {
      addSortedListColumns(into: &delta)
    } else if !pendingLists.isEmpty, collectedLists[0].hasChange {
      let operation = addListCell(0, into: &delta)
      addListColumn(0, operation, delta.tags.count - 1, into: &delta)
    }
  }

  private mutating func addSortedListColumns(into delta: inout Delta) {
    let lists = pendingLists.indices.filter { collectedLists[$0].hasChange }
      .map { (index: $0, key: pendingLists[$0].key, row: row(of: pendingLists[$0].key)) }
      .sorted { ($0.key.column, $0.row, $0.key.root) < ($1.key.column, $1.row, $1.key.root) }
    numberOn(lists.map(\.index))
    var next = 0
    while next < lists.count {
      let started = next
      let first = delta.tags.count
      var operation = Delta.Operation.edit
      // A second list of the same field, when the rule has changed meanwhile, gets another column.
      while next < lists.count, lists[next].key.column == lists[started].key.column,
        delta.tags.count == first || lists[next].row != lists[next - 1].row
      {
        operation = addListCell(lists[next].index, into: &delta)
        next += 1
      }
      addListColumn(lists[started].index, operation, first, into: &delta)
    }
  }

  /// Lists of one field that are edited in one delta share its numbers, or their new items would
  /// have the same names.
  private mutating func numberOn(_ sorted: [Int]) {
    var last: ListKey?
    var count = 0
    for index in sorted {
      let key = pendingLists[index].key
      if last?.isOf(Int(key.slot), Int(key.column)) != true { count = 0 }
      last = key
      collectedLists[index].edit?.numberOn(from: count, root: key.root)
      count = max(count, collectedLists[index].edit?.nodeCount ?? 0)
    }
  }

  /// The row in the delta of the record that a list is in.
  @inline(__always)
  private func row(of key: ListKey) -> UInt32 {
    pendingRecords[Int(pendingMarks[Int(key.slot)]) - 1].row
  }

  /// Hands what there is to say about a list over to a new cell. How the cell says it.
  private mutating func addListCell(_ index: Int, into delta: inout Delta) -> Delta.Operation {
    let cell = delta.tags.count
    collectedLists[index].cell = cell
    delta.rows.append(row(of: pendingLists[index].key))
    delta.tags.append(CellTag.none)
    delta.words.append(0)
    if let splices = collectedLists[index].splices.take() {
      delta.splices.append(cell, splices)
      return .splice
    }
    if let edit = collectedLists[index].edit.take() { delta.edits.append(cell, edit) }
    return .edit
  }

  /// The column of the cells from `first` on, the first of which is this list's.
  private mutating func addListColumn(
    _ index: Int, _ operation: Delta.Operation, _ first: Int, into delta: inout Delta
  ) {
    delta.columns.append(
      Delta.Column(
        field: fieldNames[Int(pendingLists[index].key.column)], operation: operation,
        cells: first..<delta.tags.count))
  }

  /// Whether a pending record that was collected changes nothing but committed lists.
  func hasOnlyLists(_ slot: Int) -> Bool {
    if pendingLists.isEmpty || pendingMarks[slot] == 0 { return false }
    let pending = pendingRecords[Int(pendingMarks[slot]) - 1]
    return !pending.inserted && !pending.deleted && !pending.hasCells
  }

  /// The delta is in the log. `seen` is what this device had seen before it.
  mutating func commitLists(_ delta: inout Delta, stamp: Stamp, seen: VersionVector) {
    for index in pendingLists.indices {
      guard let cell = collectedLists[index].cell else { continue }
      let key = pendingLists[index].key
      guard let edit = delta.edits.take(cell, leaving: ListEdit()) else {
        withPending(key) { $0.commitPlain() }
        continue
      }
      complex.commitList(
        Int(key.slot), fieldNames[Int(key.column)], root: key.root, edit, stamp: stamp, seen: seen)
      // The next keystroke's takes its memory.
      if edit.takesLittle { spareEdit = edit }
    }
  }

  /// Lists that were replaced as a whole can't come back any more.
  mutating func freeReplacedLists() {
    for entry in undo where entry.tag == CellTag.editedList {
      let now = columns[Int(entry.column)].cell(Int(entry.slot))
      if now != entry.cell { free(entry.cell) }
    }
  }

  mutating func rollBackLists() {
    for list in pendingLists where !list.isGone { withPending(list.key) { $0.rollBack() } }
    for entry in undo where isPending(Int(entry.slot), Int(entry.column)) {
      let (slot, column) = (Int(entry.slot), Int(entry.column))
      guard columns[column].tag(slot) == CellTag.editedList else { continue }
      free(columns[column].cell(slot))
      // Once only, also if a commit that failed has left two notes of the cell.
      set(slot, column, .none, stamp: StampTable.settled)
    }
  }

  // MARK: deltas

  /// Applies a column of edits that were committed before.
  mutating func applyLists(
    _ column: Delta.Column, _ target: Int, of delta: Delta, _ slots: [UInt32],
    by author: Author, _ ground: inout Ground, _ rules: RuleBook, _ totals: inout StoreTotals,
    _ refreshed: inout Set<Int>
  ) throws(StoreError) {
    for index in column.cells {
      let slot = Int(slots[Int(delta.records[Int(delta.rows[index])].reference)]) - 1
      if let splices = delta.splices[index] {
        try splice(slot, target, splices, &ground, rules, &totals)
      } else if let place = delta.edits.index(index) {
        try edit(
          slot, target, delta.edits.values.span[place], by: author, &ground, rules, &totals,
          &refreshed)
      }
    }
  }

  private mutating func splice(
    _ slot: Int, _ column: Int, _ splices: ListSplices, _ ground: inout Ground,
    _ rules: RuleBook, _ totals: inout StoreTotals
  ) throws(StoreError) {
    guard exists(slot) else { throw TableState.noList(name, ids[slot], fieldNames[column]) }
    if columns[column].tag(slot) != CellTag.editedList {
      let view = try view(.slot(slot), column, &ground)
      guard CellTag.isList(view.cell.tag) else {
        throw TableState.noList(name, ids[slot], fieldNames[column])
      }
      try openList(slot, column, view, isAlone: true, &ground, rules)
    }
    let before = listSize(slot, column)
    let fits = withList(slot, column) { list in
      guard splices.reach <= list.count else { return false }
      list.apply(splices)
      return true
    }
    guard fits == true else { throw TableState.noList(name, ids[slot], fieldNames[column]) }
    count(slot, listSize(slot, column) - before, &totals)
  }

  private static func noList(_ table: String, _ id: RecordName, _ field: String) -> StoreError {
    StoreError(
      LogError(
        .corrupt, "",
        "a delta edits a list that is not in field \(field) of record \(id.text) of table \(table)"
      ))
  }

  private mutating func edit(
    _ slot: Int, _ column: Int, _ edit: ListEdit, by author: Author, _ ground: inout Ground,
    _ rules: RuleBook, _ totals: inout StoreTotals, _ refreshed: inout Set<Int>
  ) throws(StoreError) {
    if !isComplex(slot) {
      guard exists(slot) else { return }
      try makeComplex(slot, &ground, rules)
    }
    let field = fieldNames[column]
    let rule = columns[column].rule
    if columns[column].cell(slot) == TableState.listInState, !refreshed.contains(slot) {
      var growth: Int?
      complex.update(slot) { state in
        state.fields.update(field) {
          growth = $0.applyToOnlyList(edit, stamp: author.stamp, context: author.context, rule)
        }
      }
      if let growth {
        count(slot, growth, &totals)
        return
      }
    }
    complex.update(slot) { state in
      state.fields.update(field) {
        $0.apply(edit, stamp: author.stamp, context: author.context)
      }
    }
    refreshed.insert(slot)
  }

  private mutating func count(_ slot: Int, _ growth: Int, _ totals: inout StoreTotals) {
    if growth == 0 { return }
    sizes[slot] = UInt32(clamping: Int(sizes[slot]) + growth)
    if isCounted { totals.add(size: growth, records: 0) }
  }

  // MARK: a new base

  /// Copies a cell to a table of another ground, with the list that it stands for.
  mutating func move(
    _ cell: Cell, of old: TableState, _ oldGround: Ground, to ground: inout Ground
  ) -> Cell {
    guard cell.tag == CellTag.editedList, cell.word != TableState.listInState.word else {
      return ground.adopt(cell, from: oldGround.heap)
    }
    return addList(old.lists[Int(cell.word)])
  }
}

extension Ground {
  /// A list that is being edited, as a value.
  mutating func cell(of list: ListState) -> Cell {
    let values = list.values(.remote)
    return list.isCreated
      ? Cell(created: values, heap: &heap) : Cell(.list(values), heap: &heap)
  }
}
