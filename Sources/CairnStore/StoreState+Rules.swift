import CairnLog
import CairnMerge

/// The rules that hold, and what follows from a change of them: registers in conflict decide anew.
extension StoreState {
  /// Reads the rules from the reserved table, and settles the records that they change.
  mutating func readRules() throws(StoreError) {
    let before = rules
    rules = try writtenRules()
    addBaseTables()
    for number in tables.indices {
      let name = tables[number].name
      if before.rules(of: name) == rules.rules(of: name), before.fallback == rules.fallback {
        continue
      }
      setRules(number)
      for slot in tables[number].complex.keys.sorted() {
        tables[number].settle(slot, &ground, rules, &totals)
        let id = tables[number].ids[slot]
        journal.note(id, table: name, isLocal: totals.reporting == 0)
      }
      try recount(number, before: before)
    }
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
  private mutating func recount(_ number: Int, before: RuleBook) throws(StoreError) {
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
        let old = state.size { before.rule(table: name, field: $0) }
        let new = state.size { rules.rule(table: name, field: $0) }
        journal.note(block.name(row), table: name, isLocal: totals.reporting == 0)
        totals.add(size: new - old, records: 0)
      }
    }
  }
}
