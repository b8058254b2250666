import CairnBytes

/// The changes of one commit, in columns: what is written to logs and exchanged.
///
/// Records are listed once a table, then each field has a column of (record, cell). Text, bytes and
/// lists are words that refer to a heap which travels beside the delta (the decoded bytes
/// themselves, or the writer's own heap), so that taking a delta apart allocates nothing per value.
package struct Delta: Sendable {
  package var dot = Dot(device: DeviceID(rawValue: 0), sequence: 0)
  /// Milliseconds since 1970; never smaller than in the device's previous delta.
  package var time: Int64 = 0
  /// What the author had seen, as far as it changed since its previous delta; never its own device.
  package var dependencies: [Dot] = []
  package var sections: [Section] = []
  package var records: [RecordEntry] = []
  package var columns: [Column] = []
  /// For each cell: the index of its record in `records`.
  package var rows: [UInt32] = []
  package var tags: [UInt8] = []
  package var words: [UInt64] = []
  /// To be encoded: names of the records that this delta is the first of its scope to mention, in
  /// order. Of a decoded one they are the last of `DeltaDecoder.records`.
  package var newNames: [RecordName] = []
  /// By index in `records`: the deletes that this change's incarnation was born after.
  package var born = SparseMap<[Dot]>()
  /// By cell: the running totals that a plain put of a summed field covers.
  package var covered = SparseMap<[RunningTotal]>()
  /// By cell: the author's running total after an addition.
  package var totals = SparseMap<Addition>()
  /// By cell: what an edit of a list does.
  package var edits = SparseMap<ListEdit>()
  /// By cell: what is done to a list that nobody else edits.
  package var splices = SparseMap<ListSplices>()

  package init() {}

  /// A table's part of the delta.
  package struct Section: Sendable, Equatable {
    package var table: String
    package var records: Range<Int>
    package var columns: Range<Int>

    package init(table: String, records: Range<Int>, columns: Range<Int>) {
      self.table = table
      self.records = records
      self.columns = columns
    }
  }

  package struct RecordEntry: Sendable, Equatable {
    package var flags: UInt8
    /// Index in the scope's dictionary of records.
    package var reference: UInt32

    package init(flags: UInt8, reference: UInt32) {
      self.flags = flags
      self.reference = reference
    }
  }

  /// Cells of one field written in one way.
  package struct Column: Sendable, Equatable {
    package var field: String
    package var operation: Operation
    package var cells: Range<Int>

    package init(field: String, operation: Operation, cells: Range<Int>) {
      self.field = field
      self.operation = operation
      self.cells = cells
    }
  }

  /// The author's running total after an addition, and the delta that its run began with.
  package struct Addition: Sendable, Equatable {
    package var since: UInt64
    package var total: Number

    package init(since: UInt64, total: Number) {
      self.since = since
      self.total = total
    }
  }

  /// How a column writes. Embedded in formats: DO NOT CHANGE THESE NUMBERS.
  package enum Operation: UInt8, Sendable {
    case put = 0
    case putCovering = 1
    case add = 2
    /// Steps over items by position: in datastores that nobody else writes to. Its cells have no
    /// values.
    case splice = 3
    /// Changes of items by name. Its cells have no values.
    case edit = 4

    /// Whether the column's cells are values.
    package var hasValues: Bool { self != .splice && self != .edit }
  }

  /// What a record's entry says, beyond the fields that are written. Embedded in formats.
  package enum Flags {
    package static let insert: UInt8 = 1
    /// The record is deleted, before it is inserted again if both are set.
    package static let delete: UInt8 = 2
    /// Dots of the deletes that this incarnation was born after follow.
    package static let born: UInt8 = 4
    package static let known: UInt8 = 7
  }

  /// Empties everything and keeps the memory: deltas are decoded by the thousand.
  package mutating func removeAll() {
    dependencies.clear()
    sections.clear()
    records.clear()
    columns.clear()
    rows.clear()
    tags.clear()
    words.clear()
    newNames.clear()
    born.removeAll()
    covered.removeAll()
    totals.removeAll()
    edits.removeAll()
    splices.removeAll()
  }

  package var isEmpty: Bool { records.isEmpty }

  /// Whether it is more than a reader takes, but for its bytes: these are known once it is encoded.
  /// Mutating, though nothing changes: it is asked where it lies, and would otherwise be copied.
  package mutating func isBeyondBounds() -> Bool {
    if sections.count > FormatBounds.tablesInDelta || rows.count > FormatBounds.cellsInDelta
      || listItemCount() > FormatBounds.cellsInDelta
    {
      return true
    }
    // All of them together mostly are not more than one table may have.
    if columns.count <= FormatBounds.columnsInTable, records.count <= FormatBounds.recordsInDelta {
      return false
    }
    return sections.contains {
      $0.columns.count > FormatBounds.columnsInTable
        || $0.records.count > FormatBounds.recordsInDelta
    }
  }

  /// How many items are put into lists, as a reader counts them.
  mutating func listItemCount() -> Int {
    var count = 0
    // Looked at where they lie: a copy counts the references of all its parts.
    for index in edits.values.indices { count += edits.values.span[index].nodeCount }
    for index in splices.values.indices {
      for step in splices.values.span[index].steps { count += step.inserted }
    }
    return count
  }

  /// Leaves out what is said of a table, but for those of its records, given by their references,
  /// that are to be kept.
  package mutating func drop(table: String, keeping isKept: (UInt32) -> Bool = { _ in false }) {
    guard let index = sections.firstIndex(where: { $0.table == table }) else { return }
    let range = sections[index].records
    let kept = range.filter { isKept(records[$0].reference) }
    func moved(_ record: Int) -> Int {
      if record >= range.upperBound { return record - range.count + kept.count }
      if record <= range.lowerBound { return record }
      return range.lowerBound + kept.partitionPoint { $0 >= record }
    }
    if kept.isEmpty {
      sections.remove(at: index)
    } else {
      // Cells stay where they are, as what they have beside their values is by their numbers.
      let first = columns.count
      for column in columns[sections[index].columns] { columns += runs(of: column, isKept) }
      sections[index].columns = first..<columns.count
    }
    var left = SparseMap<[Dot]>()
    for (record, dots) in born.pairs
    where !range.contains(record) || isKept(records[record].reference) {
      left.append(moved(record), dots)
    }
    born = left
    let entries = kept.map { records[$0] }
    records.replaceSubrange(range, with: entries)
    for number in sections.indices {
      let part = sections[number].records
      sections[number].records = moved(part.lowerBound)..<moved(part.upperBound)
    }
    for cell in rows.indices { rows[cell] = UInt32(moved(Int(rows[cell]))) }
  }

  /// The parts of a column that are about records which are kept.
  private func runs(of column: Column, _ isKept: (UInt32) -> Bool) -> [Column] {
    var runs: [Column] = []
    for cell in column.cells where isKept(records[Int(rows[cell])].reference) {
      if let last = runs.last?.cells, last.upperBound == cell {
        runs[runs.count - 1].cells = last.lowerBound..<(cell + 1)
      } else {
        runs.append(
          Column(field: column.field, operation: column.operation, cells: cell..<(cell + 1)))
      }
    }
    return runs
  }
}

/// Hard bounds of the formats: what a reader refuses whatever the limits of a datastore are.
package enum FormatBounds {
  /// Unpacked bytes of one delta.
  package static let deltaBytes = 64 << 20
  /// Unpacked bytes of one pack of deltas.
  package static let packBytes = 64 << 20
  package static let deltasInPack = 1 << 24
  package static let tablesInDelta = 1 << 16
  package static let recordsInDelta = 1 << 26
  package static let columnsInTable = 1 << 20
  /// Cells of one delta: booleans take a bit each, but 16 bytes in memory. All its edits together
  /// put no more items into lists than this, either.
  package static let cellsInDelta = 1 << 24
  /// Items that all deltas of a pack together put into lists. Writers begin another pack long
  /// before.
  package static let itemsInPack = 1 << 25
  package static let devices = 1 << 16
  /// In a snapshot of others, and together with it: the rest is room for who comes later, and for
  /// new names of this device.
  package static let devicesOfOthers = devices - 1024
}
