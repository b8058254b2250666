package import CairnBytes

/// Reads the deltas of one scope in order, as `DeltaEncoder` wrote them. Nothing in the bytes is
/// believed: ids are checked against their grammar, references against the dictionary, counts
/// against the bytes that are left.
package struct DeltaDecoder: Sendable {
  private(set) var names: [String] = []
  private(set) var devices: [DeviceID] = []
  private(set) var lastTime: Int64 = 0
  /// The scope's records so far, with the number of the table's name.
  package private(set) var records: [RecordName] = []
  private var recordTables: [Int] = []
  /// What is numbered from here on is not known: see `skipDamage`.
  private var known: Known?
  /// How many items the delta may still put into lists: a few bytes can ask for millions.
  private(set) var room = FormatBounds.cellsInDelta

  private struct Known {
    var names: Int
    var devices: Int
    var records: Int
  }

  package init() {}

  /// For repairs: deltas of the scope are lost here, and with them the names that they gave. From
  /// now on only what was named before, and records that are new, can be read; deltas that need
  /// other names are refused.
  package mutating func skipDamage() {
    if known != nil { return }
    known = Known(names: names.count, devices: devices.count, records: records.count)
  }

  /// What was known at a moment.
  package struct Mark: Sendable {
    fileprivate var names: Int
    fileprivate var devices: Int
    fileprivate var records: Int
    fileprivate var lastTime: Int64
  }

  package var mark: Mark {
    Mark(
      names: names.count, devices: devices.count, records: records.count, lastTime: lastTime)
  }

  /// Forgets what a delta named that could not be read.
  package mutating func goBack(to mark: Mark) {
    names.removeLast(names.count - mark.names)
    devices.removeLast(devices.count - mark.devices)
    records.removeLast(records.count - mark.records)
    recordTables.removeLast(recordTables.count - mark.records)
    lastTime = mark.lastTime
  }

  /// For repairs: the scope's records that deltas can still refer to.
  package var hasSkipped: Bool { known != nil }

  /// Decodes the next delta into `delta` (emptied first); its heap is `reader.bytes`. Its dot
  /// stands outside the bytes. `items`: how many it may put into lists.
  package mutating func decode(
    _ reader: inout ByteReader, dot: Dot, into delta: inout Delta,
    items: Int = FormatBounds.cellsInDelta
  ) throws(DecodeError) {
    delta.removeAll()
    room = items
    delta.dot = dot
    delta.time = lastTime &+ (try reader.zigzag())
    lastTime = delta.time
    try dependencies(&reader, into: &delta)
    let tables = try reader.count(minimumSize: 4)
    guard tables <= FormatBounds.tablesInDelta else { throw .limit }
    for _ in 0..<tables { try section(&reader, into: &delta) }
  }

  /// Each device once: a file that names few devices could ask for millions of steps.
  private mutating func dependencies(
    _ reader: inout ByteReader, into delta: inout Delta
  ) throws(DecodeError) {
    let count = try reader.count(minimumSize: 2)
    var named: Set<DeviceID> = []
    for _ in 0..<count {
      let dot = try dot(&reader)
      let isNew =
        count > 16
        ? named.insert(dot.device).inserted
        : !delta.dependencies.contains { $0.device == dot.device }
      guard isNew else { throw .malformed("a delta says twice what it has seen of a device") }
      delta.dependencies.append(dot)
    }
  }

  private mutating func name(
    _ reader: inout ByteReader, _ isValid: (String) -> Bool
  ) throws(DecodeError) -> Int {
    let index = try reader.varint()
    guard index <= UInt64(names.count) else { throw .malformed("unknown name number") }
    if let known, index >= UInt64(known.names) { throw .malformed("a name that was lost") }
    if index == UInt64(names.count) {
      // Tables and fields have one grammar: what is known need not be looked at again.
      let name = try reader.string()
      guard isValid(name) else { throw .malformed("a name breaks the id grammar") }
      names.append(name)
    }
    return Int(index)
  }

  private mutating func device(_ reader: inout ByteReader) throws(DecodeError) -> DeviceID {
    let index = try reader.varint()
    guard index <= UInt64(devices.count), devices.count < FormatBounds.devices else {
      throw .malformed("unknown device number")
    }
    if let known, index >= UInt64(known.devices) { throw .malformed("a device that was lost") }
    if index == UInt64(devices.count) {
      let device = try reader.u64()
      guard device != 0 else { throw .malformed("a device without a number") }
      devices.append(DeviceID(rawValue: device))
    }
    return devices[Int(index)]
  }

  private mutating func dot(_ reader: inout ByteReader) throws(DecodeError) -> Dot {
    let device = try device(&reader)
    let sequence = try reader.varint()
    guard sequence > 0 else { throw .malformed("a dot without a sequence") }
    return Dot(device: device, sequence: sequence)
  }

  private mutating func section(
    _ reader: inout ByteReader, into delta: inout Delta
  ) throws(DecodeError) {
    let table = try name(&reader, Identifier.isValidTable)
    let firstRecord = delta.records.count
    let count = try reader.count()
    guard count > 0, count <= FormatBounds.recordsInDelta else {
      throw .malformed("a table without records")
    }
    try flags(count, &reader, into: &delta)
    try references(firstRecord..<delta.records.count, table: table, &reader, into: &delta)
    for index in firstRecord..<delta.records.count
    where delta.records[index].flags & Delta.Flags.born != 0 {
      let dots = try reader.count(minimumSize: 2)
      var born: [Dot] = []
      for _ in 0..<dots { born.append(try dot(&reader)) }
      if !born.isEmpty { delta.born[index] = born }
    }
    let firstColumn = delta.columns.count
    let columns = try reader.count(minimumSize: 3)
    guard columns <= FormatBounds.columnsInTable else { throw .limit }
    for _ in 0..<columns {
      try column(records: firstRecord..<delta.records.count, &reader, into: &delta)
    }
    delta.sections.append(
      Delta.Section(
        table: names[table], records: firstRecord..<delta.records.count,
        columns: firstColumn..<delta.columns.count))
  }

  private func flags(
    _ count: Int, _ reader: inout ByteReader, into delta: inout Delta
  ) throws(DecodeError) {
    switch try reader.u8() {
    case 0:
      let flags = try known(reader.u8())
      let entry = Delta.RecordEntry(flags: flags, reference: 0)
      delta.records.append(contentsOf: repeatElement(entry, count: count))
    case 1:
      for _ in 0..<count {
        delta.records.append(Delta.RecordEntry(flags: try known(reader.u8()), reference: 0))
      }
    default: throw .malformed("unknown form of record flags")
    }
  }

  private func known(_ flags: UInt8) throws(DecodeError) -> UInt8 {
    guard flags & ~Delta.Flags.known == 0 else { throw .newer("unknown record flags") }
    return flags
  }

  private mutating func references(
    _ range: Range<Int>, table: Int, _ reader: inout ByteReader, into delta: inout Delta
  ) throws(DecodeError) {
    let mode = try reader.u8()
    guard mode <= 1 else { throw .malformed("unknown form of record references") }
    let known = UInt64(self.known?.records ?? records.count)
    // 0 and 1 mark new records; their ids follow the list of references.
    var forms: [UInt8] = []
    for index in range {
      let code = mode == 0 ? 0 : try reader.varint()
      if code >= 2 {
        guard code - 2 < known, recordTables[Int(code - 2)] == table else {
          throw .malformed("unknown record number")
        }
        delta.records[index].reference = UInt32(truncatingIfNeeded: code - 2)
      } else {
        guard forms.count < reader.remaining else { throw .truncated }
        delta.records[index].reference = UInt32(records.count + forms.count)
        forms.append(UInt8(code))
      }
    }
    for form in forms {
      let name = try form == 0 ? packedName(&reader) : textName(&reader)
      records.append(name)
      recordTables.append(table)
    }
  }

  private func packedName(_ reader: inout ByteReader) throws(DecodeError) -> RecordName {
    let high = try reader.u64().byteSwapped
    return .packed(high, try reader.u64().byteSwapped)
  }

  private func textName(_ reader: inout ByteReader) throws(DecodeError) -> RecordName {
    let range = try reader.skip(Int(try reader.u8()))
    guard let text = reader.bytes.text(range), Identifier.isValidRecord(text) else {
      throw .malformed("a record id breaks the id grammar")
    }
    let name = RecordName(text)
    guard case .text = name else { throw .malformed("a record id is not in its one form") }
    return name
  }

  private mutating func column(
    records range: Range<Int>, _ reader: inout ByteReader, into delta: inout Delta
  ) throws(DecodeError) {
    let field = try name(&reader, Identifier.isValidField)
    let code = try reader.u8()
    guard let operation = Delta.Operation(rawValue: code & 0x7F) else {
      throw .newer("unknown operation")
    }
    let start = delta.tags.count
    if code & 0x80 == 0 {
      guard start + range.count <= FormatBounds.cellsInDelta else { throw .limit }
      delta.rows.append(contentsOf: UInt32(range.lowerBound)..<UInt32(range.upperBound))
    } else {
      let count = try reader.count()
      guard count > 0, count <= range.count else { throw .malformed("cells do not fit records") }
      var row = UInt64(range.lowerBound)
      for index in 0..<count {
        let gap = try reader.varint()
        guard index == 0 || gap > 0, gap < UInt64(range.upperBound) - row else {
          throw .malformed("cells are not in order")
        }
        row += gap
        delta.rows.append(UInt32(row))
      }
    }
    guard delta.rows.count <= FormatBounds.cellsInDelta else { throw .limit }
    let cells = start..<delta.rows.count
    if operation.hasValues {
      try ColumnCoding.decode(cells.count, time: delta.time, &reader, into: &delta)
    } else {
      delta.tags.append(contentsOf: repeatElement(CellTag.none, count: cells.count))
      delta.words.append(contentsOf: repeatElement(0, count: cells.count))
    }
    try extras(operation, cells, &reader, into: &delta)
    delta.columns.append(Delta.Column(field: names[field], operation: operation, cells: cells))
  }

  private mutating func extras(
    _ operation: Delta.Operation, _ cells: Range<Int>, _ reader: inout ByteReader,
    into delta: inout Delta
  ) throws(DecodeError) {
    switch operation {
    case .put: break
    case .putCovering:
      for cell in cells {
        let count = try reader.count(minimumSize: 4)
        var covered: [RunningTotal] = []
        for _ in 0..<count { covered.append(try running(&reader)) }
        if count > 0 { delta.covered[cell] = covered }
      }
    case .add:
      for cell in cells {
        let tag = delta.tags[cell]
        guard tag == CellTag.int || tag == CellTag.double else {
          throw .malformed("an addition to something that is no number")
        }
        let since = try reader.varint()
        delta.totals[cell] = Delta.Addition(since: since, total: try ColumnCoding.number(&reader))
      }
    case .splice:
      for cell in cells {
        let range = try reader.blob()
        delta.splices[cell] = try ListSplicesCoding.decode(reader.bytes, range, room: &room)
      }
    case .edit: for cell in cells { delta.edits[cell] = try edit(delta.dot, &reader) }
    }
  }

  private mutating func edit(
    _ dot: Dot, _ reader: inout ByteReader
  ) throws(DecodeError) -> ListEdit {
    var devices: [DeviceID] = []
    for _ in 0..<(try reader.count()) { devices.append(try device(&reader)) }
    let range = try reader.blob()
    return try ListEditCoding.decode(
      reader.bytes, range, dot: dot, devices: devices, room: &room)
  }

  private mutating func running(_ reader: inout ByteReader) throws(DecodeError) -> RunningTotal {
    let device = try device(&reader)
    let last = try reader.varint()
    return RunningTotal(device: device, last: last, total: try ColumnCoding.number(&reader))
  }
}
