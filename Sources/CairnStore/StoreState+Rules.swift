import CairnLog
import CairnMerge

/// The rules that hold, and what follows from a change of them: registers in conflict decide anew.
extension StoreState {
  /// What other rules come to, with everything that has to be read to know it.
  struct RuleChange {
    var rules: RuleBook
    /// By how much rows of the base grow.
    fileprivate(set) var growth = 0
    fileprivate(set) var rows: [(id: RecordName, table: String)] = []
  }

  /// Reads the rules from the reserved table, and settles the records that they change.
  mutating func readRules() throws(StoreError) { adopt(try change(to: try writtenRules())) }

  /// Reads, and changes nothing: a disk that fails leaves the rules as they are.
  mutating func change(to next: RuleBook) throws(StoreError) -> RuleChange {
    var change = RuleChange(rules: next)
    addBaseTables()
    for number in tables.indices where isChanged(number, by: next) {
      try recount(number, &change)
    }
    return change
  }

  mutating func adopt(_ change: RuleChange) {
    let changed = tables.indices.filter { isChanged($0, by: change.rules) }
    rules = change.rules
    knownTitle = nil
    for number in changed {
      setRules(number)
      for slot in tables[number].complex.slots {
        tables[number].settle(slot, &ground, rules, &totals)
        let id = tables[number].ids[slot]
        journal.note(id, table: tables[number].name, isLocal: totals.reporting == 0)
      }
    }
    for (id, table) in change.rows {
      journal.note(id, table: table, isLocal: totals.reporting == 0)
    }
    totals.add(size: change.growth, records: 0)
  }

  private func isChanged(_ number: Int, by next: RuleBook) -> Bool {
    let name = tables[number].name
    return rules.rules(of: name) != next.rules(of: name) || rules.fallback != next.fallback
  }

  /// Reads the rules of a snapshot that has just become the base: it was counted by them.
  mutating func readRulesOfBase() throws(StoreError) {
    rules = try writtenRules()
    for number in tables.indices { setRules(number) }
  }

  private mutating func writtenRules() throws(StoreError) -> RuleBook {
    var book = RuleBook()
    let number = table(RuleBook.table)
    for (id, place) in try places(in: number) {
      for (field, value) in try tables[number].fields(place, &ground, rules) {
        book.set(record: id.text, field: field, value)
      }
    }
    return book
  }

  private mutating func setRules(_ number: Int) {
    let name = tables[number].name
    for column in tables[number].columns.indices {
      let rule = rules.rule(table: name, field: tables[number].fieldNames[column])
      tables[number].setRule(rule, column: column)
    }
  }

  /// Rows of the base in conflict show something else now, and count with that.
  private mutating func recount(
    _ number: Int, _ change: inout RuleChange
  ) throws(StoreError) {
    let name = tables[number].name
    guard tables[number].isCounted, let baseTable = tables[number].baseTable,
      let blocks = ground.base?.description.tables[baseTable]
    else { return }
    for blockNumber in blocks.firstBlock..<(blocks.firstBlock + blocks.blockCount) {
      guard let block = try ground.base?.readUnkept(blockNumber) else { return }
      for row in block.complexRows
      where !tables[number].isShadowed(block: blockNumber, row: row) {
        guard let range = block.complexState(row) else { continue }
        let state = try TableState.state(block.bytes, range, ground)
        let old = state.size { rules.rule(table: name, field: $0) }
        let new = state.size { change.rules.rule(table: name, field: $0) }
        change.rows.append((block.name(row), name))
        change.growth += new - old
      }
    }
  }
}
