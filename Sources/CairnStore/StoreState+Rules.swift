import CairnLog
import CairnMerge

/// The rules that hold, and what follows from a change of them: registers in conflict decide anew.
extension StoreState {
  /// What other rules come to, with everything that has to be read to know it.
  struct RuleChange {
    var rules: RuleBook
    /// By how much rows of the base grow.
    fileprivate(set) var growth = 0
    /// Those that show something else then.
    fileprivate(set) var rows: [DecidedRow] = []
  }

  /// A row of the base that shows something else by new rules.
  struct DecidedRow {
    var table: Int
    var id: RecordName
    var state: RecordState
  }

  /// Reads the rules from the reserved table, and settles the records that they change.
  mutating func readRules() throws(StoreError) { adopt(try change(to: try writtenRules())) }

  /// Reads those that deltas of a log have changed while it was read.
  mutating func readDeferredRules() throws(StoreError) {
    if !hasDeferredRules { return }
    try readRules()
    hasDeferredRules = false
  }

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
    let before = rules
    rules = change.rules
    knownTitle = nil
    for number in changed {
      setRules(number)
      for slot in tables[number].complex.slots {
        tables[number].settle(slot, &ground, rules, &totals)
        guard let state = tables[number].complex[slot],
          state.showsAnew(by: rules, not: before, table: tables[number].name)
        else { continue }
        // A sync tells the journal of what it reports.
        if totals.reporting == 0 {
          journal.note(tables[number].ids[slot], table: tables[number].name)
        } else {
          totals.report(slot, in: &tables[number])
        }
      }
    }
    if totals.reporting == 0 {
      for row in change.rows { journal.note(row.id, table: tables[row.table].name) }
    } else {
      decidedRows += change.rows
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
        change.growth += new - old
        if state.showsAnew(by: change.rules, not: rules, table: name) {
          change.rows.append(DecidedRow(table: number, id: block.name(row), state: state))
        }
      }
    }
  }
}

extension RecordState {
  /// Whether what shows of it by some rules is not what shows by others.
  func showsAnew(by rules: RuleBook, not before: RuleBook, table: String) -> Bool {
    exists
      && visible { rules.rule(table: table, field: $0) }
        != visible { before.rule(table: table, field: $0) }
  }
}
