import CairnBytes
import CairnLog
import CairnMerge

/// Reading is `mutating` throughout: a call of a mutating method works on the table in its array,
/// where any other would first copy the table with its two dozen arrays (a quarter of a
/// microsecond of reference counting).
extension TableState {
  /// Where a record is: changed here, only in the base, or nowhere.
  enum Place {
    case slot(Int)
    case base(RowPlace)
    case nowhere
  }

  mutating func find(_ id: RecordName, _ ground: inout Ground) throws(StoreError) -> Place {
    if let slot = findSlot(id) { return .slot(slot) }
    return try baseRow(id, &ground).map(Place.base) ?? .nowhere
  }

  /// Where a record without a slot is.
  mutating func baseRow(
    _ id: RecordName, _ ground: inout Ground
  ) throws(StoreError) -> RowPlace? {
    guard let baseTable else { return nil }
    return try ground.base?.find(id, table: baseTable)
  }

  /// Whether there is such a record now.
  mutating func exists(
    _ id: RecordName, _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) -> Bool {
    switch try find(id, &ground) {
    case .slot(let slot): return exists(slot)
    case .nowhere: return false
    case .base(let place): return try baseExists(place, &ground)
    }
  }

  mutating func baseExists(_ place: RowPlace, _ ground: inout Ground) throws(StoreError) -> Bool {
    guard let block = try ground.base?.block(Int(place.block)) else { return false }
    guard let range = block.complexState(Int(place.row)) else { return true }
    return try TableState.exists(block.bytes, range, ground)
  }

  static func state(
    _ bytes: [UInt8], _ range: Range<Int>, _ ground: Ground
  ) throws(StoreError) -> RecordState {
    try decoded(ground) { () throws(DecodeError) in try RecordStateCoding.decode(bytes, range) }
  }

  /// Whether there is a record of such a state.
  static func exists(
    _ bytes: [UInt8], _ range: Range<Int>, _ ground: Ground
  ) throws(StoreError) -> Bool {
    try decoded(ground) { () throws(DecodeError) in try RecordStateCoding.exists(bytes, range) }
  }

  private static func decoded<R>(
    _ ground: Ground, _ body: () throws(DecodeError) -> R
  ) throws(StoreError) -> R {
    do { return try body() } catch {
      throw StoreError(
        LogError(error, ground.base?.reader.path ?? "", at: 0, "a record in conflict"))
    }
  }

  /// What is to be read as the field's value.
  @inline(__always)
  mutating func view(
    _ place: Place, _ column: Int, _ ground: inout Ground
  ) throws(StoreError) -> CellView {
    switch place {
    case .nowhere: return .none
    case .base(let row): return try baseView(row, column, &ground)
    case .slot(let slot):
      let cell = columns[column].cell(slot)
      if cell.tag == CellTag.editedList { return listView(slot, column) }
      if cell.tag != CellTag.none || !seesBase(slot) {
        return CellView(cell: cell, heap: ground.heap)
      }
      return try baseView(places[slot], column, &ground)
    }
  }

  /// The items of a list that was edited, without the detour over a cell: one by one, after their
  /// count. False if it takes the record's state to tell, or there is no such list.
  mutating func forEachListItem(
    _ place: Place, _ column: Int, _ ground: inout Ground, count: (Int) -> Void,
    _ body: (FieldValue) -> Void
  ) throws(StoreError) -> Bool {
    let rule = columns[column].rule
    if case .slot(let slot) = place {
      let list: Void? = withList(slot, column) { list in
        count(list.count)
        list.forEachShown(rule, body)
      }
      return list != nil
    }
    return try readList(place, column, &ground) { field, bytes, range throws(DecodeError) in
      try RecordStateCoding.forEachListItem(of: field, bytes, range, count: count, body) ? () : nil
    } != nil
  }

  /// The same for how many they are.
  mutating func listCount(
    _ place: Place, _ column: Int, _ ground: inout Ground
  ) throws(StoreError) -> Int? {
    if case .slot(let slot) = place { return withList(slot, column) { $0.count } }
    return try readList(place, column, &ground, RecordStateCoding.listCount)
  }

  /// The same for whether it is one at all, which takes no look at its items.
  mutating func holdsList(
    _ place: Place, _ column: Int, _ ground: inout Ground
  ) throws(StoreError) -> Bool {
    if case .slot(let slot) = place {
      let tag = columns[column].tag(slot)
      return tag == CellTag.editedList || CellTag.isList(tag)
    }
    return try readList(place, column, &ground, RecordStateCoding.holdsList) ?? false
  }

  private mutating func readList<R>(
    _ place: Place, _ column: Int, _ ground: inout Ground,
    _ read: (String, [UInt8], Range<Int>) throws(DecodeError) -> R?
  ) throws(StoreError) -> R? {
    // Under other rules one of several values of an item may count that is not the first.
    guard case .base(let row) = place, [.remote, .sum].contains(columns[column].rule),
      let block = try ground.base?.block(Int(row.block)),
      let range = block.complexState(Int(row.row))
    else { return nil }
    let field = fieldNames[column]
    return try TableState.decoded(ground) { () throws(DecodeError) in
      try read(field, block.bytes, range)
    }
  }

  mutating func baseView(
    _ place: RowPlace, _ column: Int, _ ground: inout Ground
  ) throws(StoreError) -> CellView {
    guard let block = try ground.base?.block(Int(place.block)) else { return .none }
    if let range = block.complexState(Int(place.row)) {
      return view(try TableState.state(block.bytes, range, ground), column)
    }
    let name = Int(baseFields[column])
    if name < 0 { return .none }
    return CellView(cell: block.cell(Int(place.row), name), heap: block.bytes)
  }

  /// What a record's state shows.
  private mutating func view(_ state: RecordState, _ column: Int) -> CellView {
    guard let register = state.fields[fieldNames[column]] else { return .none }
    let rule = columns[column].rule
    return CellView(register.visible(rule), isCreated: register.showsCreated(rule))
  }

  /// The stamp of a slot's cell, from the base if it is there.
  mutating func stamp(
    _ slot: Int, _ column: Int, _ ground: inout Ground
  ) throws(StoreError) -> UInt32 {
    let tag = columns[column].tag(slot)
    if tag != CellTag.none || !seesBase(slot) { return columns[column].stamp(slot) }
    return try baseStampNumber(slot, column, &ground)
  }

  /// The stamp of the cell that the base has for a slot's record.
  mutating func baseStampNumber(
    _ slot: Int, _ column: Int, _ ground: inout Ground
  ) throws(StoreError) -> UInt32 {
    let place = places[slot]
    let name = Int(baseFields[column])
    guard name >= 0, let block = try ground.base?.block(Int(place.block)),
      let found = block.column(name)
    else { return StampTable.settled }
    return ground.stamps.add(block.stamp(Int(place.row), found))
  }

  /// All fields of a record with their values.
  mutating func fields(
    _ place: Place, _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) -> [(String, FieldValue)] {
    let found = try addBaseColumns(place, &ground, rules)
    // Decoded once: for each column anew it would take the square of what there is.
    let state: RecordState? = if case .base = place { found } else { nil }
    var result: [(String, FieldValue)] = []
    for column in columns.indices {
      let view: CellView
      if let state { view = self.view(state, column) } else {
        view = try self.view(place, column, &ground)
      }
      if let value = view.value { result.append((fieldNames[column], value)) }
    }
    return result
  }

  /// Makes columns for all fields that the base has of a record. Returns its state there, if it
  /// takes one to tell.
  @discardableResult
  mutating func addBaseColumns(
    _ place: Place, _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) -> RecordState? {
    let row: RowPlace
    switch place {
    case .nowhere: return nil
    case .base(let found): row = found
    case .slot(let slot):
      guard seesBase(slot) else { return nil }
      row = places[slot]
    }
    guard let block = try ground.base?.block(Int(row.block)) else { return nil }
    for column in block.columns where !column.cell(Int(row.row), block.bytes).isNone {
      if let name = ground.base?.fields.names[column.field] {
        _ = self.column(name, &ground, rules)
      }
    }
    guard let range = block.complexState(Int(row.row)) else { return nil }
    let state = try TableState.state(block.bytes, range, ground)
    for field in state.fields.keys { _ = self.column(field, &ground, rules) }
    return state
  }

  /// The slot of a record that is about to change; base rows get one.
  mutating func writableSlot(
    _ id: RecordName, _ place: Place, _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) -> Int {
    switch place {
    case .slot(let slot):
      epochs[slot] = ground.epoch
      return slot
    case .nowhere:
      return addSlot(
        id, hash: id.hash, flags: 0, place: .none, size: 0, epoch: ground.epoch)
    case .base(let row): return try promote(id, row, &ground, rules)
    }
  }

  private mutating func promote(
    _ id: RecordName, _ row: RowPlace, _ ground: inout Ground, _ rules: RuleBook
  ) throws(StoreError) -> Int {
    guard let block = try ground.base?.block(Int(row.block)) else {
      throw StoreError(.notFound, "the snapshot has no block \(row.block)")
    }
    if let range = block.complexState(Int(row.row)) {
      let state = try TableState.state(block.bytes, range, ground)
      let slot = addSlot(
        id, hash: id.hash, flags: Flag.complex | Flag.hidesBase, place: row, size: 0,
        epoch: ground.epoch)
      complex[slot] = state
      refresh(slot, &ground, rules)
      return slot
    }
    let slot = addSlot(
      id, hash: id.hash, flags: Flag.exists, place: row,
      size: TableState.size(block, Int(row.row)), epoch: ground.epoch)
    presences[slot] = ground.stamps.add(block.presence(Int(row.row)))
    return slot
  }

  /// The size of a plain row of a snapshot.
  static func size(_ block: Block, _ row: Int) -> Int {
    var size = Sizes.record
    for column in block.columns {
      let cell = column.cell(row, block.bytes)
      if CellTag.isValue(cell.tag) { size += Sizes.field + cell.valueSize(block.bytes) }
    }
    return size
  }
}

extension Cell {
  var isNone: Bool { tag == CellTag.none }
}
