import CairnMerge

/// An index, both parts up to date. The overlay's is in the table, under the column.
struct IndexView {
  var column: Int
  var base: BaseIndex?
}

extension StoreState {
  /// The index of a field, built or brought up to date; nil if nobody asked for one.
  mutating func index(_ number: Int, _ field: String) throws(StoreError) -> IndexView? {
    if indexNames.isEmpty { return nil }
    let name = IndexName(table: tables[number].name, field: field)
    guard indexNames.contains(name) else { return nil }
    let column = tables[number].column(field, &ground, rules)
    tables[number].updateIndex(column, ground.heap)
    let rule = tables[number].columns[column].rule
    return IndexView(column: column, base: try baseIndex(name, rule))
  }

  private mutating func baseIndex(
    _ name: IndexName, _ rule: Rule
  ) throws(StoreError) -> BaseIndex? {
    if let known = ground.base?.indexes[name], known.holds(under: rule) { return known }
    guard var base = ground.base else { return nil }
    let index = try BaseIndex.build(name, rule: rule, over: &base)
    base.indexes[name] = index
    ground.base = base
    return index
  }

  /// How many entries of an index a condition leaves, hidden ones among them.
  func candidates(_ number: Int, _ index: IndexView, _ ranges: [KeyRange]) -> Int {
    guard let overlay = tables[number].indexes[index.column] else { return 0 }
    return ranges.reduce(0) { sum, range in
      let (start, end) = overlay.positions(range, ground.heap)
      return sum + (index.base?.positions(range).count ?? 0) + overlay.distance(start, end)
    }
  }

  /// The record that an entry of the base stands for: its row, or a slot that reads the field from
  /// it; nil if it is deleted, or its slot has another entry.
  mutating func place(
    _ number: Int, _ column: Int, base entry: IndexEntry
  ) throws(StoreError) -> TableState.Place? {
    let row = RowPlace(reference: entry.reference)
    guard !tables[number].shadows.isEmpty,
      tables[number].isShadowed(block: Int(row.block), row: Int(row.row))
    else { return .base(row) }
    guard let block = try ground.base?.block(Int(row.block)) else { return nil }
    let name = block.name(Int(row.row))
    guard let slot = tables[number].findSlot(name, hash: name.hash),
      tables[number].exists(slot), tables[number].seesBase(slot),
      tables[number].columns[column].cell(slot).isNone
    else { return nil }
    return .slot(slot)
  }

  /// The record that an entry of the overlay stands for, nil if it is deleted, or reads the field
  /// from the base.
  func place(_ number: Int, _ column: Int, overlay entry: IndexEntry) -> TableState.Place? {
    let slot = Int(entry.reference)
    guard tables[number].exists(slot) else { return nil }
    if entry.rank == IndexEntry.Rank.absent, tables[number].seesBase(slot),
      tables[number].columns[column].cell(slot).isNone
    {
      return nil
    }
    return .slot(slot)
  }

  // MARK: a new base

  /// The indexes in use, with the rules of their fields: a new base should have them, too.
  var indexesInUse: [(name: IndexName, rule: Rule)] {
    var result: [(name: IndexName, rule: Rule)] = []
    for table in tables {
      for column in table.indexes.keys.sorted() {
        let name = IndexName(table: table.name, field: table.fieldNames[column])
        if indexNames.contains(name) { result.append((name, table.columns[column].rule)) }
      }
    }
    return result
  }
}

extension TableState {
  /// Makes the overlay's index of a column, or brings it up to date.
  mutating func updateIndex(_ column: Int, _ heap: [UInt8]) {
    var index = indexes.removeValue(forKey: column) ?? OverlayIndex()
    index.update(&columns[column], slots: ids.count, heap)
    indexes[column] = index
  }

  /// Drops the overlay's index of a column: writes need not be followed any more.
  mutating func dropIndex(_ column: Int) {
    indexes[column] = nil
    columns[column].touched = nil
  }
}
