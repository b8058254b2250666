package import CairnBytes

/// A record in conflict as bytes: everything that merging may still ask of it.
///
///     tombstones · presences · fields, each a count and its parts
///
/// The kind of an entry says 1 for an addition, 2 for a created list, and 4 if the list was edited:
/// its state follows behind the register.
///
/// Devices are written in full: such records are rare.
package enum RecordStateCoding {
  package static func encode(_ state: RecordState, into out: inout [UInt8]) {
    out.putVarint(state.tombstones.count)
    for tombstone in state.tombstones {
      put(tombstone.dot, into: &out)
      out.putVarint(tombstone.context.entries.count)
      for dot in tombstone.context.entries { put(dot, into: &out) }
    }
    out.putVarint(state.presences.count)
    for presence in state.presences { put(presence.stamp, presence.born, into: &out) }
    out.putVarint(state.fields.count)
    for (field, register) in state.fields {
      out.putString(field)
      put(register, into: &out)
    }
  }

  private static func put(_ register: Register, into out: inout [UInt8]) {
    out.putVarint(register.entries.count)
    for entry in register.entries {
      put(entry.stamp, entry.born, into: &out)
      let isEdited = register.listIndex(entry) != nil
      out.put((entry.isAdd ? 1 : 0) | (entry.isCreated ? 2 : 0) | (isEdited ? UInt8(4) : 0))
      put(entry.value, into: &out)
    }
    out.putVarint(register.bases.count)
    for base in register.bases {
      put(base.stamp, base.born, into: &out)
      put(base.value, into: &out)
      out.putVarint(base.covered.count)
      for running in base.covered { put(running, into: &out) }
    }
    out.putVarint(register.totals.count)
    for total in register.totals {
      put(total.stamp, total.born, into: &out)
      out.putVarint(total.since)
      ColumnCoding.put(total.total, into: &out)
    }
    for list in register.lists { ListStateCoding.encode(list, into: &out) }
  }

  private static func put(_ dot: Dot, into out: inout [UInt8]) {
    out.put(dot.device.rawValue)
    out.putVarint(dot.sequence)
  }

  private static func put(_ stamp: Stamp, _ born: [Dot], into out: inout [UInt8]) {
    put(stamp.dot, into: &out)
    out.putZigzag(stamp.time)
    out.putVarint(born.count)
    for dot in born { put(dot, into: &out) }
  }

  private static func put(_ value: FieldValue?, into out: inout [UInt8]) {
    var heap: [UInt8] = []
    let cell = Cell(value, heap: &heap)
    out.put(cell.tag)
    if CellTag.isHeap(cell.tag) {
      out.putBlob(heap)
    } else if cell.tag >= CellTag.int {
      out.put(cell.word)
    }
  }

  private static func put(_ running: RunningTotal, into out: inout [UInt8]) {
    out.put(running.device.rawValue)
    out.putVarint(running.last)
    ColumnCoding.put(running.total, into: &out)
  }

  package static func decode(
    _ bytes: [UInt8], _ range: Range<Int>
  ) throws(DecodeError) -> RecordState {
    var nodes = FormatBounds.cellsInDelta
    return try decode(bytes, range, nodes: &nodes)
  }

  /// One of several records: `nodes` is how many nodes their lists may still have, and those of
  /// this one are taken off.
  package static func decode(
    _ bytes: [UInt8], _ range: Range<Int>, nodes: inout Int
  ) throws(DecodeError) -> RecordState {
    var reader = ByteReader(bytes, range)
    var state = try life(&reader)
    // Of all its lists together: a few bytes can say that one has millions of nodes.
    let most = min(nodes, FormatBounds.cellsInDelta)
    var room = most
    var last: String?
    for _ in 0..<(try reader.count(minimumSize: 4)) {
      let field = try reader.string()
      guard Identifier.isValidField(field) else { throw .malformed("a field's name") }
      guard last.map({ $0 < field }) ?? true else { throw .malformed("fields out of order") }
      last = field
      state.fields[field] = try register(&reader, &room)
    }
    guard reader.isAtEnd else { throw .malformed("bytes after a record's state") }
    nodes -= most - room
    return state
  }

  /// Whether there is such a record. Its fields are only looked at where no insert is alive: then a
  /// value may be, of an author who had seen several incarnations that were deleted one by one.
  package static func exists(_ bytes: [UInt8], _ range: Range<Int>) throws(DecodeError) -> Bool {
    var reader = ByteReader(bytes, range)
    if try !life(&reader).presences.isEmpty { return true }
    return try decode(bytes, range).exists
  }

  /// The state as far as it comes before the fields.
  private static func life(_ reader: inout ByteReader) throws(DecodeError) -> RecordState {
    var state = RecordState()
    for _ in 0..<(try reader.count(minimumSize: 9)) {
      let dot = try dot(&reader)
      let context = try VersionVector(&reader)
      guard context.entries.first?.device.rawValue != 0 else {
        throw .malformed("a dot of no delta")
      }
      state.tombstones.append(Tombstone(dot: dot, context: context))
    }
    for _ in 0..<(try reader.count(minimumSize: 11)) {
      let (stamp, born) = try stamp(&reader)
      state.presences.append(Presence(stamp: stamp, born: born))
    }
    return state
  }

  /// The edited list that is all there is in the record's first field, if it is this one; nil if
  /// it takes the whole state to tell.
  private static func onlyList(
    of field: String, _ bytes: [UInt8], _ range: Range<Int>
  ) throws(DecodeError) -> ListStateSkim? {
    guard let reader = try onlyListBytes(of: field, bytes, range) else { return nil }
    return try ListStateSkim(reader)
  }

  /// The same as a reader at its beginning.
  private static func onlyListBytes(
    of field: String, _ bytes: [UInt8], _ range: Range<Int>
  ) throws(DecodeError) -> ByteReader? {
    var reader = ByteReader(bytes, range)
    guard try life(&reader).exists, try reader.count(minimumSize: 4) > 0,
      try reader.string() == field, try reader.count(minimumSize: 13) == 1
    else { return nil }
    _ = try stamp(&reader)
    guard try reader.u8() & 4 != 0, try value(&reader) != nil else { return nil }
    for _ in 0..<(try reader.count(minimumSize: 13)) { _ = try base(&reader) }
    for _ in 0..<(try reader.count(minimumSize: 14)) { _ = try total(&reader) }
    return reader
  }

  /// True if a field holds a list that was edited, without looking into it; nil if it takes the
  /// whole state to tell.
  package static func holdsList(
    of field: String, _ bytes: [UInt8], _ range: Range<Int>
  ) throws(DecodeError) -> Bool? {
    try onlyListBytes(of: field, bytes, range) == nil ? nil : true
  }

  /// The items of a field's list one by one, after their count; false, and nothing is called, if it
  /// takes the whole state to tell.
  package static func forEachListItem(
    of field: String, _ bytes: [UInt8], _ range: Range<Int>, count: (Int) -> Void,
    _ body: (FieldValue) -> Void
  ) throws(DecodeError) -> Bool {
    guard var list = try onlyList(of: field, bytes, range) else { return false }
    count(list.count)
    try list.forEachValue(body)
    return true
  }

  /// The same in an array, or nil.
  package static func listItems(
    of field: String, _ bytes: [UInt8], _ range: Range<Int>
  ) throws(DecodeError) -> [FieldValue]? {
    var items: [FieldValue] = []
    let isThere = try forEachListItem(
      of: field, bytes, range, count: { items.reserveCapacity($0) }, { items.append($0) })
    return isThere ? items : nil
  }

  /// How many items a field's list has, nil if it takes the whole state to tell.
  package static func listCount(
    of field: String, _ bytes: [UInt8], _ range: Range<Int>
  ) throws(DecodeError) -> Int? { try onlyList(of: field, bytes, range)?.count }

  private static func register(
    _ reader: inout ByteReader, _ room: inout Int
  ) throws(DecodeError) -> Register {
    var register = Register()
    var edited: [Entry] = []
    for _ in 0..<(try reader.count(minimumSize: 13)) {
      let (stamp, born) = try stamp(&reader)
      let kind = try reader.u8()
      guard kind <= 7, kind & 3 != 3 else { throw .malformed("an entry's kind") }
      let value = try value(&reader)
      let entry = Entry(
        stamp: stamp, born: born, value: value, isAdd: kind & 1 != 0, isCreated: kind & 2 != 0)
      guard kind < 2 || entry.isList else { throw .malformed("an entry's kind") }
      if kind & 4 != 0 { edited.append(entry) }
      register.entries.append(entry)
    }
    for _ in 0..<(try reader.count(minimumSize: 13)) {
      register.bases.append(try base(&reader))
    }
    for _ in 0..<(try reader.count(minimumSize: 14)) {
      register.totals.append(try total(&reader))
    }
    try lists(of: edited, &reader, &room, into: &register)
    return register
  }

  private static func base(_ reader: inout ByteReader) throws(DecodeError) -> Base {
    let (stamp, born) = try stamp(&reader)
    let value = try value(&reader)
    var covered: [RunningTotal] = []
    for _ in 0..<(try reader.count(minimumSize: 11)) { covered.append(try running(&reader)) }
    return Base(stamp: stamp, born: born, value: value, covered: covered)
  }

  private static func total(_ reader: inout ByteReader) throws(DecodeError) -> Total {
    let (stamp, born) = try stamp(&reader)
    let since = try reader.varint()
    let total = try ColumnCoding.number(&reader)
    return Total(stamp: stamp, born: born, since: since, total: total)
  }

  private static func lists(
    of edited: [Entry], _ reader: inout ByteReader, _ room: inout Int,
    into register: inout Register
  ) throws(DecodeError) {
    for entry in edited where !entry.isCreated {
      let list = try ListStateCoding.decode(&reader, room: &room)
      guard !list.isCreated, list.rootDots == [entry.dot] else {
        throw .malformed("a list of another entry")
      }
      register.lists.append(list)
    }
    let created = edited.filter(\.isCreated).map(\.dot)
    guard !created.isEmpty else { return }
    let list = try ListStateCoding.decode(&reader, room: &room)
    guard list.isCreated, list.rootDots == created,
      created.count == register.entries.filter(\.isCreated).count
    else { throw .malformed("a list of other entries") }
    register.lists.append(list)
  }

  /// Of a delta that there was: own deltas name it once more, and say so of no other.
  private static func dot(_ reader: inout ByteReader) throws(DecodeError) -> Dot {
    let dot = try anyDot(&reader)
    guard dot.device.rawValue != 0, dot.sequence > 0 else { throw .malformed("a dot of no delta") }
    return dot
  }

  private static func anyDot(_ reader: inout ByteReader) throws(DecodeError) -> Dot {
    let device = DeviceID(rawValue: try reader.u64())
    return Dot(device: device, sequence: try reader.varint())
  }

  private static func stamp(_ reader: inout ByteReader) throws(DecodeError) -> (Stamp, [Dot]) {
    let dot = try anyDot(&reader)
    guard dot == Stamp.settled.dot || dot.device.rawValue != 0 && dot.sequence > 0 else {
      throw .malformed("a stamp of no delta")
    }
    let time = try reader.zigzag()
    var born: [Dot] = []
    for _ in 0..<(try reader.count(minimumSize: 9)) { born.append(try self.dot(&reader)) }
    return (Stamp(dot: dot, time: time), born)
  }

  private static func value(_ reader: inout ByteReader) throws(DecodeError) -> FieldValue? {
    let tag = try reader.u8()
    guard tag >= CellTag.absent, tag <= CellTag.list else { throw .malformed("a value's type") }
    if !CellTag.isHeap(tag) {
      let word = tag >= CellTag.int ? try reader.u64() : 0
      return Cell(tag: tag, word: word).value([])
    }
    let range = try reader.blob()
    guard range.count <= Cell.heapLengthMax else { throw .limit }
    if tag == CellTag.string, !reader.bytes.isUTF8(range) { throw .malformed("text is not UTF-8") }
    if tag == CellTag.list { _ = try ListCoding.decode(reader.bytes, range) }
    return Cell(tag: tag, word: Cell.heapWord(range)).value(reader.bytes)
  }

  private static func running(_ reader: inout ByteReader) throws(DecodeError) -> RunningTotal {
    let device = DeviceID(rawValue: try reader.u64())
    guard device.rawValue != 0 else { throw .malformed("a total of no device") }
    let last = try reader.varint()
    return RunningTotal(device: device, last: last, total: try ColumnCoding.number(&reader))
  }
}
