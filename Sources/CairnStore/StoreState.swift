import CairnBytes
import CairnLog
import CairnMerge

/// Everything of an open store that its lock guards: tables, vectors, totals, rules.
/// It knows no files; those are the `Store`'s.
struct StoreState {
  let device: DeviceID
  /// No account: nobody else can ever write here, so nothing is remembered for merging.
  let isAlone: Bool
  var ground = Ground()
  var tables: [TableState] = []
  /// Of all tables once there are more than a few.
  private var tableNumbers: [ExactName: Int] = [:]
  private var lastTable = 0
  /// The title, if it was looked for since something was said of it.
  var knownTitle: Title?
  /// Where the fields of the change at hand go.
  var targets: [Target] = []

  struct Title {
    var text: String?
  }

  struct Target {
    var column: Int
    var cell: Cell
  }
  var rules = RuleBook()
  /// While a segment of the log is read its rules wait for its end: each time that rules are read,
  /// all of the base is looked through for what they decide anew.
  var defersRules = false
  var hasDeferredRules = false
  var access = Access()
  /// The cuts that were applied.
  var cuts = CutBook()
  /// Rows of the base that the current sync reports, since new rules decided them anew.
  var decidedRows: [DecidedRow] = []
  /// What changed, while somebody watches.
  var journal = ChangeJournal()
  /// The indexes that were asked for; each is built when a query first needs it.
  var indexNames: Set<IndexName> = []
  var totals = StoreTotals()
  /// All deltas that are in the state.
  var vector = VersionVector()
  /// What devices had seen at their last deltas in the snapshot that this started from.
  private var adopted = DeviceContexts()
  /// Per device number: what that device had seen at its last delta here, by device number. Empty
  /// for one that has written nothing since the snapshot: there may be any number of those.
  private var contexts: [[UInt64]] = []
  /// The same as vectors, for each delta that is applied: making one takes longer than all else.
  private var vectors: [VersionVector] = []
  /// Highest time of any delta, for `modified` and for the own clock.
  var modified: Int64 = 0
  private(set) var ownTime: Int64 = 0
  /// Size that the pending changes count with, without the delta's own 100.
  var pendingSize = 0

  init(device: DeviceID, isAlone: Bool) {
    self.device = device
    self.isAlone = isAlone
    _ = ground.stamps.device(device)
  }

  /// Starts from a snapshot instead of from nothing. `lastOwnTime`: no own delta in it is of a
  /// later time, if that is known.
  mutating func adopt(_ base: BaseSnapshot, lastOwnTime: Int64? = nil) {
    vector = base.description.vector
    (adopted, contexts, vectors) = (base.description.contexts, [], [])
    modified = base.description.modified
    // What others have written does not count: a clock of theirs that is years ahead would become
    // this device's. Where nobody knows what is whose, own times must not go back all the same.
    ownTime = vector[device] == 0 ? 0 : lastOwnTime ?? base.description.modified
    totals.size = base.description.size
    totals.recordCount = base.description.recordCount
    ground.base = base
    knownTitle = nil
    tables = []
    tableNumbers = [:]
    rules = RuleBook()
    cuts = CutBook()
    for table in base.description.tables where table.name != CutTable.name {
      journal.noteAll(of: table.name)
    }
  }

  // MARK: tables

  /// The number of a table; a new one if nobody asked for it before.
  mutating func table(_ name: String) -> Int {
    // Calls in a row are mostly for one table: a comparison is cheaper than a hash.
    if lastTable < tables.count, tables[lastTable].name.isSameName(as: name) { return lastTable }
    if let known = number(of: name) {
      lastTable = known
      return known
    }
    tables.append(TableState(name: name, baseTable: ground.base?.tableNumber(name)))
    if tables.count > StoreState.fewTables {
      for number in tableNumbers.count..<tables.count {
        tableNumbers[ExactName(tables[number].name)] = number
      }
    }
    return tables.count - 1
  }

  private func number(of name: String) -> Int? {
    if tables.count > StoreState.fewTables { return tableNumbers[ExactName(name)] }
    return tables.indices.first { tables[$0].name.isSameName(as: name) }
  }

  /// So many are found by comparing names: most datastores have no more, and the first dictionary
  /// of strings costs a program's start more than that ever does.
  private static let fewTables = 16

  /// Makes sure that every table of the base has its number.
  mutating func addBaseTables() {
    for table in ground.base?.description.tables ?? [] { _ = self.table(table.name) }
  }

  // MARK: contexts

  mutating func see(_ dot: Dot, by author: DeviceID) {
    let row = ground.stamps.device(author)
    while contexts.count <= row { contexts.append([]) }
    while vectors.count <= row { vectors.append(VersionVector()) }
    if vectors[row].isEmpty, let before = adopted[author] {
      vectors[row] = before
      for dot in before.entries { fill(row, dot, by: author) }
    }
    fill(row, dot, by: author)
    vectors[row].insert(dot)
  }

  /// The same for the next own delta, if it has no dependencies.
  mutating func seeNext(_ dot: Dot) {
    guard let row = ground.stamps.known(device), row < vectors.count, !vectors[row].isEmpty,
      row < contexts[row].count
    else { return see(dot, by: device) }
    contexts[row][row] = dot.sequence
    vectors[row].insert(dot)
  }

  private mutating func fill(_ row: Int, _ dot: Dot, by author: DeviceID) {
    let number = dot.device == author ? row : ground.stamps.device(dot.device)
    while contexts[row].count <= number { contexts[row].append(0) }
    contexts[row][number] = max(contexts[row][number], dot.sequence)
  }

  /// For repairs: a device had seen all that is before its own delta in its log, also where the
  /// deltas that said so are lost.
  mutating func seeAll(by author: DeviceID) {
    for dot in vector.entries { see(dot, by: author) }
  }

  private func context(_ author: DeviceID) -> VersionVector {
    if let row = ground.stamps.known(author), row < vectors.count, !vectors[row].isEmpty {
      return vectors[row]
    }
    return adopted[author] ?? VersionVector()
  }

  var allContexts: DeviceContexts {
    var result = adopted
    for (row, device) in ground.stamps.allDevices.enumerated() where row < vectors.count {
      if !vectors[row].isEmpty { result[device] = vectors[row] }
    }
    return result
  }

  // MARK: deltas

  /// Whether everything that a delta builds on is here, and it is the next of its device.
  func canApply(_ delta: Delta) -> Bool {
    vector[delta.dot.device] + 1 == delta.dot.sequence
      && delta.dependencies.allSatisfy(vector.contains)
  }

  /// Applies a delta that `canApply`.
  mutating func apply(
    _ delta: Delta, heap: [UInt8], names: [RecordName], slots: inout [UInt32]
  ) throws(StoreError) {
    while slots.count < names.count { slots.append(0) }
    let dot = delta.dot
    for dependency in delta.dependencies { see(dependency, by: dot.device) }
    see(dot, by: dot.device)
    let stamp = Stamp(dot: dot, time: delta.time)
    let author = TableState.Author(
      stamp: stamp, stampNumber: isAlone ? StampTable.settled : ground.stamps.add(stamp),
      seen: contexts[ground.stamps.device(dot.device)],
      context: isAlone ? VersionVector() : context(dot.device), isAlone: isAlone)
    var changesRules = false
    var changesAccess = false
    var changesCuts = false
    for section in delta.sections {
      let number = table(section.table)
      try tables[number].apply(
        delta, section, heap: heap, names: names, slots: &slots, by: author, &ground, rules,
        &totals)
      if section.table == RuleBook.table { changesRules = true }
      if section.table == AccessTable.name { changesAccess = true }
      if section.table == CutTable.name { changesCuts = true }
      if section.table == StoreSummary.infoTable { knownTitle = nil }
    }
    finish(dot, time: delta.time)
    if changesRules, defersRules {
      hasDeferredRules = true
    } else if changesRules {
      try readRules()
    }
    if changesAccess { try readAccess() }
    if changesCuts { try readCuts() }
  }

  mutating func finish(_ dot: Dot, time: Int64) {
    vector.insert(dot)
    modified = max(modified, time)
    if dot.device == device { ownTime = max(ownTime, time) }
    if ground.heap.count > ground.heapLimit { tidyHeap() }
  }

  // MARK: commit

  /// Whether there is anything to commit.
  @inline(__always)
  var hasPending: Bool { tables.havePending }

  /// The delta of everything pending, in one that is emptied first; nil if there is nothing to say.
  mutating func collect(
    into delta: inout Delta, time now: Int64, dictionaryCount: UInt32
  ) throws(StoreError) -> TableState.CommitScope? {
    delta.removeAll()
    guard hasPending else { return nil }
    var scope = TableState.CommitScope(
      dot: nextDot, isAlone: isAlone, dictionaryCount: dictionaryCount)
    delta.dot = nextDot
    delta.time = nextTime(now)
    if !isAlone { delta.dependencies = dependencies() }
    for number in tables.indices where tables[number].hasPending {
      try tables[number].collect(into: &delta, &scope, &ground, rules)
    }
    return delta.isEmpty ? nil : scope
  }

  /// The name of the own next delta.
  var nextDot: Dot { Dot(device: device, sequence: vector[device] + 1) }

  /// The time of the own next delta. Somebody's clock may have reached the end of time.
  func nextTime(_ now: Int64) -> Int64 { max(ownTime == .max ? ownTime : ownTime + 1, now) }

  /// What was seen since the own last delta.
  mutating func dependencies() -> [Dot] {
    if !hasDependencies() { return [] }
    let before = context(device)
    return vector.entries.filter { $0.device != device && !before.contains($0) }
  }

  /// Whether anything was. Mutating, or all of the state would be copied for the question.
  mutating func hasDependencies() -> Bool {
    // Nobody else has written anything.
    if vector.isOnly(of: device) { return false }
    if let row = ground.stamps.known(device), row < vectors.count, !vectors[row].isEmpty {
      return !vectors[row].covers(vector, butFor: device)
    }
    if let seen = adopted[device] { return !seen.covers(vector, butFor: device) }
    return vector.entries.contains { $0.device != device }
  }

  /// The delta is in the log: pending changes are committed ones.
  mutating func commit(
    _ delta: inout Delta, _ scope: TableState.CommitScope
  ) throws(StoreError) {
    for dependency in delta.dependencies { see(dependency, by: device) }
    see(delta.dot, by: device)
    let stamp = Stamp(dot: delta.dot, time: delta.time)
    let number = isAlone ? StampTable.settled : ground.stamps.add(stamp)
    var hasReserved = false
    for index in tables.indices where tables[index].hasPending {
      if tables[index].isReserved { hasReserved = true }
      try tables[index].commit(
        &delta, stampNumber: number, stamp: stamp, seen: vector, scope, &ground, rules)
    }
    pendingSize = 0
    finish(delta.dot, time: delta.time)
    if !hasReserved { return }
    var (changesRules, changesCuts) = (false, false)
    for section in delta.sections {
      if section.table == RuleBook.table { changesRules = true }
      if section.table == CutTable.name { changesCuts = true }
      if section.table == StoreSummary.infoTable { knownTitle = nil }
    }
    if changesRules { try readRules() }
    if changesCuts { try readCuts() }
  }

  /// Whether pending changes say who may do what, or by which rules is merged.
  var hasPendingRules: Bool {
    tables.indices.contains { number in
      tables[number].hasPending
        && (tables[number].name == RuleBook.table || tables[number].name == AccessTable.name)
    }
  }

  /// About what the overlay takes in memory, but for lists and records in conflict.
  var overlayBytes: Int {
    tables.indices.reduce(ground.heap.count) { $0 + tables[$1].overlayBytes }
  }

  mutating func rollBack() {
    for number in tables.indices where tables[number].hasPending {
      for pending in tables[number].pendingRecords where journal.isOn {
        journal.note(tables[number].ids[pending.slot], table: tables[number].name)
      }
      let before = tables[number].pendingTotals
      let slots = tables[number].pendingRecords.map(\.slot)
      tables[number].rollBack()
      if tables[number].isCounted { totals.add(size: before.size, records: before.records) }
      // What was noted of a record in conflict is what showed when it was first touched: by a rule
      // that was pending then, or before another one of several lists came to show.
      for slot in slots where tables[number].isComplex(slot) {
        tables[number].settle(slot, &ground, rules, &totals)
      }
    }
    pendingSize = 0
  }

  /// A new segment has an empty dictionary.
  mutating func forgetReferences() {
    for number in tables.indices { tables[number].references = [] }
  }

  // MARK: walking

  /// All records of a table, deleted ones not among them: those in the base, then the slots.
  mutating func places(
    in number: Int
  ) throws(StoreError) -> [(RecordName, TableState.Place)] {
    var result: [(RecordName, TableState.Place)] = []
    try forEachBaseRow(in: number) { block, blockNumber, row in
      let place = RowPlace(block: UInt32(blockNumber), row: UInt32(row))
      result.append((block.name(row), .base(place)))
    }
    for slot in tables[number].ids.indices where tables[number].exists(slot) {
      result.append((tables[number].ids[slot], .slot(slot)))
    }
    return result
  }

  /// Rows of the base that no slot replaces, as long as they exist.
  mutating func forEachBaseRow(
    in number: Int, _ body: (Block, Int, Int) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let baseTable = tables[number].baseTable,
      let blocks = ground.base?.description.tables[baseTable]
    else { return }
    for blockNumber in blocks.firstBlock..<(blocks.firstBlock + blocks.blockCount) {
      guard let block = try ground.base?.block(blockNumber) else { return }
      for row in 0..<block.rowCount {
        if tables[number].isShadowed(block: blockNumber, row: row) { continue }
        if let range = block.complexState(row) {
          guard try TableState.exists(block.bytes, range, ground) else { continue }
        }
        try body(block, blockNumber, row)
      }
    }
  }
}

// Asked of the tables alone: asked of the whole state, it would be copied for the question.
extension [TableState] {
  fileprivate var havePending: Bool {
    for number in indices where self[number].hasPending { return true }
    return false
  }

  /// Whether what is to be committed is about cuts.
  var havePendingCuts: Bool {
    // By number: each table that a loop hands out is a copy.
    indices.contains {
      self[$0].isReserved && self[$0].hasPending && self[$0].name == CutTable.name
    }
  }
}

extension TableState {
  /// What rolling back gives to the totals.
  var pendingTotals: (size: Int, records: Int) {
    var size = 0
    var records = 0
    for pending in pendingRecords {
      size += Int(pending.sizeBefore) - Int(sizes[pending.slot])
      records += (pending.existedBefore ? 1 : 0) - (exists(pending.slot) ? 1 : 0)
    }
    return (size, records)
  }
}
