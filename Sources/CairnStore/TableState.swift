import CairnBytes
import CairnMerge

/// A table in memory: the records that changed since the snapshot, as slots of columns. A slot of
/// a record that the snapshot has holds only the cells that changed; the others are read through.
struct TableState {
  let name: String
  /// Rules cost nothing in sizes and counts.
  let isCounted: Bool
  /// Its name says that it is the library's own.
  let isReserved: Bool
  /// Its number in the base snapshot.
  var baseTable: Int?

  var columns: [Column] = []
  /// By column: the overlay's part of the indexes that queries have needed so far.
  var indexes: [Int: OverlayIndex] = [:]
  /// Gives each field's name its column.
  private var fieldNumbers = FieldNumbers()
  /// Number of each column's field in the base snapshot.
  private(set) var baseFields: [Int32] = []

  // By slot:
  private(set) var ids: [RecordName] = []
  var flags: [UInt8] = []
  var presences: [UInt32] = []
  var sizes: [UInt32] = []
  var places: [RowPlace] = []
  var epochs: [UInt32] = []
  /// Index of its pending record plus one.
  var pendingMarks: [UInt32] = []
  /// Its number in the active segment's dictionary plus one; shorter than `ids` at will.
  var references: [UInt32] = []

  var index = SlotIndex()
  /// The slot that was found last: whoever types asks for one record again and again.
  private var lastSlot = 0
  /// Records in conflict, deleted ones that are not forgotten yet, and those with sums.
  var complex = RecordStates()
  /// Lists that are being edited, by the word of their cells: those of records that keep a full
  /// state are there.
  var lists: [ListState] = []
  var freeLists: [Int] = []
  /// Committed lists with pending edits; each knows its number here.
  var pendingLists: [PendingList] = []
  /// By the number of a list in there, while a commit is under way.
  var collectedLists: [CollectedList] = []
  /// The memory of the edit committed last among others; `LogTail` keeps that of one by itself.
  var spareEdit: ListEdit?
  /// Rows of the base that have a slot, by block: 64 rows a word.
  var shadows: [UInt32: [UInt64]] = [:]

  /// Births that the delta being applied states, by slot.
  var pendingBorn: [Int: [Dot]] = [:]
  /// The sync that last reported a slot; and the slots that the current one reports.
  var reportMarks: [UInt32] = []
  var reported: [Int] = []

  var pendingRecords: [PendingRecord] = []
  var undo: [Undo] = []
  var undoLinks = UndoLinks()

  enum Flag {
    static let exists: UInt8 = 1
    /// Cells that are not set here are absent, whatever the base says.
    static let hidesBase: UInt8 = 2
    static let complex: UInt8 = 4
  }

  /// A record that the pending delta touches.
  struct PendingRecord {
    var slot: Int
    var flagsBefore: UInt8
    var presenceBefore: UInt32
    var sizeBefore: UInt32
    /// It was inserted (or deleted and inserted again) since the last commit.
    var inserted = false
    var deleted = false
    /// The delta that is being built found cells of it that were written.
    var hasCells = false
    /// What it adds to the pending delta's size.
    var changeSize = 0
    /// Row in the delta that is being built.
    var row: UInt32 = .max
    /// The number of the last of its lists with pending edits, plus one.
    var lastList: UInt32 = 0

    var existedBefore: Bool { flagsBefore & Flag.exists != 0 }
  }

  /// A cell as it was before the pending delta first touched it.
  struct Undo {
    var slot: UInt32
    var column: UInt32
    var stamp: UInt32
    var tag: UInt8
    var word: UInt64

    var cell: Cell { Cell(tag: tag, word: word) }
  }

  init(name: String, base: BaseSnapshot?) {
    self.init(name: name, baseTable: base?.tableNumber(name))
  }

  /// `baseTable` is the table's number in the base, nil if that has none of this name.
  init(name: String, baseTable: Int?) {
    self.name = name
    isCounted = TableState.isCounted(name)
    isReserved = Identifier.isReserved(name)
    self.baseTable = baseTable
  }

  /// Whether its records count for sizes and limits.
  static func isCounted(_ name: String) -> Bool {
    name != RuleBook.table && name != CutTable.name
  }

  /// Rows of the table in the base.
  func baseRows(_ base: BaseSnapshot?) -> Int {
    guard let base, let baseTable else { return 0 }
    return base.description.tables[baseTable].rowCount
  }

  // MARK: columns

  /// By column.
  var fieldNames: [String] { fieldNumbers.names }

  @inline(__always)
  mutating func findColumn(_ field: String) -> Int? { fieldNumbers.find(field) }

  /// The column of a field; a new one if there is none.
  mutating func column(_ field: String, _ ground: inout Ground, _ rules: RuleBook) -> Int {
    if let known = findColumn(field) { return known }
    let index = fieldNumbers.number(field)
    columns.append(Column(field: index, rule: rules.rule(table: name, field: field)))
    baseFields.append(Int32(ground.base?.fields.number(field) ?? -1))
    return index
  }

  /// The column of a field, if there is one; for those who only look.
  func existingColumn(_ field: String) -> Int? { fieldNumbers.known(field) }

  mutating func setRule(_ rule: Rule, column: Int) { columns[column].rule = rule }

  @inline(__always)
  mutating func set(_ slot: Int, _ column: Int, _ cell: Cell, stamp: UInt32) {
    columns[column].set(slot, cell, stamp: stamp)
  }

  mutating func set(_ slot: Int, _ column: Int, stamp: UInt32) {
    columns[column].set(slot, stamp: stamp)
  }

  // MARK: slots

  /// Adds a slot for a record that has none yet.
  mutating func addSlot(
    _ id: RecordName, hash: UInt64, flags slotFlags: UInt8, place: RowPlace, size: Int,
    epoch: UInt32
  ) -> Int {
    let slot = ids.count
    ids.append(id)
    flags.append(slotFlags)
    presences.append(StampTable.settled)
    sizes.append(UInt32(clamping: size))
    places.append(place)
    epochs.append(epoch)
    pendingMarks.append(0)
    index.insert(hash, slot: slot)
    if place != .none { shadow(place) }
    return slot
  }

  private mutating func shadow(_ place: RowPlace) {
    let word = Int(place.row >> 6)
    var rows = shadows[place.block] ?? []
    while rows.count <= word { rows.append(0) }
    rows[word] |= 1 << UInt64(place.row & 63)
    shadows[place.block] = rows
  }

  /// About what the slots and their cells take in memory.
  var overlayBytes: Int {
    columns.indices.reduce(ids.count * TableState.slotBytes) {
      $0 + columns[$1].denseCount * Column.cellBytes
    }
  }

  /// With its place in the index.
  private static let slotBytes = 80

  func isShadowed(block: Int, row: Int) -> Bool {
    guard let rows = shadows[UInt32(block)], row >> 6 < rows.count else { return false }
    return rows[row >> 6] >> UInt64(row & 63) & 1 == 1
  }

  @inline(__always)
  func findSlot(_ id: RecordName, hash: UInt64) -> Int? {
    index.find(hash) { ids[$0] == id }
  }

  /// The same; the one that was found last takes no look at the index.
  @inline(__always)
  mutating func findSlot(_ id: RecordName) -> Int? {
    if lastSlot < ids.count, ids[lastSlot] == id { return lastSlot }
    guard let slot = findSlot(id, hash: id.hash) else { return nil }
    lastSlot = slot
    return slot
  }

  @inline(__always)
  func exists(_ slot: Int) -> Bool { flags[slot] & Flag.exists != 0 }

  /// False if there is no list that was edited, neither here nor in a record's full state.
  var mayEditLists: Bool { !lists.isEmpty || !complex.isEmpty }

  func isComplex(_ slot: Int) -> Bool { flags[slot] & Flag.complex != 0 }

  /// Whether cells that the slot does not have may be in the base.
  @inline(__always)
  func seesBase(_ slot: Int) -> Bool {
    flags[slot] & Flag.hidesBase == 0 && places[slot] != .none
  }
}
