import CairnBytes

/// Writes deltas one after another into one scope (a log segment or a pack): names, devices and
/// records are written in full where the scope first mentions them and by number after that.
package struct DeltaEncoder: Sendable {
  private var names = NameNumbers()
  private var devices = DeviceNumbers()
  /// Of the last stroke: the next one is mostly in the same list.
  private var strokeNames: ListDelta.Names?
  private var lastTime: Int64 = 0
  /// What has to be measured before it is written.
  private var part: [UInt8] = []
  /// How many records the scope's dictionary holds; the next new record gets this number.
  package private(set) var recordCount: UInt32 = 0

  /// How many devices it has named. A reader takes fewer than `FormatBounds.devices`.
  package var deviceCount: Int { devices.count }

  package init() {}

  /// Goes on in a scope that was read up to its end.
  package init(resuming decoder: DeltaDecoder) {
    names = NameNumbers(decoder.names)
    devices = DeviceNumbers(decoder.devices)
    lastTime = decoder.lastTime
    recordCount = UInt32(decoder.records.count)
  }

  /// Forgets all that was written, for another scope.
  package mutating func beginScope() {
    names.removeAll()
    devices.removeAll()
    (lastTime, recordCount, strokeNames) = (0, 0, nil)
  }

  /// Appends a delta's bytes. Its records' references must be below `recordCount`, or, for the
  /// records of `newNames`, the next numbers in order.
  package mutating func encode(_ delta: Delta, heap: [UInt8], into out: inout [UInt8]) {
    putHead(time: delta.time, dependencies: delta.dependencies, into: &out)
    out.putVarint(delta.sections.count)
    var nextNew = 0
    for section in delta.sections {
      put(name: section.table, into: &out)
      putRecords(of: section, in: delta, nextNew: &nextNew, into: &out)
      out.putVarint(section.columns.count)
      for column in delta.columns[section.columns] {
        put(name: column.field, into: &out)
        putColumn(column, section: section, delta: delta, heap: heap, into: &out)
      }
    }
  }

  /// The numbers of a table and a field; nil if the scope does not know both yet.
  package mutating func numbers(table: String, field: String) -> ListDelta.Names? {
    if let last = strokeNames, names.isNumber(last.table, of: table),
      names.isNumber(last.field, of: field)
    {
      return last
    }
    guard let table = names.number(table), let field = names.number(field) else { return nil }
    strokeNames = ListDelta.Names(table: table, field: field)
    return strokeNames
  }

  /// Appends the same bytes as for a `Delta` that says the same. The stroke is pending in `list`.
  /// Appends nothing and returns false if the scope does not know the device that it names yet.
  package mutating func encode(
    _ delta: ListDelta, _ stroke: ListStroke, of list: inout ListState, into out: inout [UInt8]
  ) -> Bool {
    var other: Int?
    let id = list.isPlain ? NodeID(delta.dot, 0) : list.authors.id(of: stroke.node)
    if id.dot.device != delta.dot.device {
      other = devices.number(id.dot.device)
      if other == nil { return false }
    }
    let since = delta.time &- lastTime
    lastTime = delta.time
    let before = out.count
    var (length, isWhole) = (0, false)
    out.append(addingCapacity: DeltaEncoder.strokeMost) { room in
      room.putZigzag(since)
      // No dependencies; one section …
      room.put(0)
      room.put(1)
      room.putVarint(delta.names.table)
      // … of one record, without flags, that is not new.
      room.put(1)
      room.put(0)
      room.put(0)
      room.put(1)
      room.putVarint(UInt64(delta.reference) + 2)
      // One column that every row has.
      room.put(1)
      room.putVarint(delta.names.field)
      room.put((list.isPlain ? Delta.Operation.splice : .edit).rawValue)
      if !list.isPlain {
        room.put(other == nil ? 0 : 1)
        if let other { room.putVarint(other) }
      }
      // A keystroke is short: its length is one byte.
      room.put(0)
      length = room.count
      isWhole = list.encode(stroke, id, dot: delta.dot, into: &room)
    }
    if !isWhole { list.encodeValue(of: stroke, into: &out) }
    putLength(from: before + length, into: &out)
    return true
  }

  /// More than a stroke takes with a short value: some fifteen bytes and seven varints.
  private static var strokeMost: Int { 96 }

  /// Writes the length of what begins at a place where a byte was left for it.
  private mutating func putLength(from start: Int, into out: inout [UInt8]) {
    if out.count - start < 0x80 {
      out[start - 1] = UInt8(truncatingIfNeeded: out.count - start)
      return
    }
    part.clear()
    part.put(out, start..<out.count)
    out.removeLast(out.count - start + 1)
    out.putBlob(part)
  }

  private mutating func putHead(time: Int64, dependencies: [Dot], into out: inout [UInt8]) {
    out.putZigzag(time &- lastTime)
    lastTime = time
    out.putVarint(dependencies.count)
    for dot in dependencies { put(dot, into: &out) }
  }

  private mutating func put(name: String, into out: inout [UInt8]) {
    if let index = names.number(name) {
      out.putVarint(index)
    } else {
      out.putVarint(names.count)
      out.putString(name)
      names.add(name)
    }
  }

  private mutating func put(device: DeviceID, into out: inout [UInt8]) {
    if let index = devices.number(device) {
      out.putVarint(index)
    } else {
      out.putVarint(devices.count)
      out.put(device.rawValue)
      devices.add(device)
    }
  }

  private mutating func put(_ dot: Dot, into out: inout [UInt8]) {
    put(device: dot.device, into: &out)
    out.putVarint(dot.sequence)
  }

  private mutating func putRecords(
    of section: Delta.Section, in delta: Delta, nextNew: inout Int, into out: inout [UInt8]
  ) {
    let entries = delta.records[section.records]
    out.putVarint(entries.count)
    guard let first = entries.first else { return }
    let uniform = entries.allSatisfy { $0.flags == first.flags }
    out.put(uniform ? UInt8(0) : 1)
    if uniform {
      out.put(first.flags)
    } else {
      for entry in entries { out.put(entry.flags) }
    }
    putReferences(entries, names: delta.newNames, nextNew: &nextNew, into: &out)
    for index in section.records where delta.records[index].flags & Delta.Flags.born != 0 {
      let dots = delta.born[index] ?? []
      out.putVarint(dots.count)
      for dot in dots { put(dot, into: &out) }
    }
  }

  private mutating func putReferences(
    _ entries: ArraySlice<Delta.RecordEntry>, names: [RecordName], nextNew: inout Int,
    into out: inout [UInt8]
  ) {
    let start = nextNew
    var allNewPacked = true
    for entry in entries {
      guard entry.reference >= recordCount, case .packed = names[nextNew] else {
        allNewPacked = false
        break
      }
      nextNew += 1
    }
    nextNew = start
    out.put(allNewPacked ? UInt8(0) : 1)
    if !allNewPacked {
      var new = nextNew
      for entry in entries {
        if entry.reference < recordCount {
          out.putVarint(UInt64(entry.reference) + 2)
        } else {
          if case .packed = names[new] { out.putVarint(0) } else { out.putVarint(1) }
          new += 1
        }
      }
    }
    var added: UInt32 = 0
    for entry in entries where entry.reference >= recordCount {
      switch names[nextNew] {
      case .packed(let high, let low):
        out.put(high.byteSwapped)
        out.put(low.byteSwapped)
      case .text(let text):
        out.put(UInt8(truncatingIfNeeded: text.utf8.count))
        out.putUTF8(text)
      }
      nextNew += 1
      added += 1
    }
    recordCount += added
  }

  private mutating func putColumn(
    _ column: Delta.Column, section: Delta.Section, delta: Delta, heap: [UInt8],
    into out: inout [UInt8]
  ) {
    let cells = column.cells
    let base = UInt32(section.records.lowerBound)
    let everyRow =
      cells.count == section.records.count
      && zip(cells, 0...).allSatisfy { delta.rows[$0] == base + UInt32($1) }
    out.put(column.operation.rawValue | (everyRow ? 0 : 0x80))
    if !everyRow {
      out.putVarint(cells.count)
      var previous = base
      for cell in cells {
        out.putVarint(UInt64(delta.rows[cell] - previous))
        previous = delta.rows[cell]
      }
    }
    if column.operation.hasValues {
      ColumnCoding.encode(delta, cells, heap: heap, into: &out)
    }
    switch column.operation {
    case .put: break
    case .putCovering:
      for cell in cells {
        let covered = delta.covered[cell] ?? []
        out.putVarint(covered.count)
        for running in covered { put(running, into: &out) }
      }
    case .add:
      for cell in cells {
        let addition = delta.totals[cell]
        out.putVarint(addition?.since ?? delta.dot.sequence)
        ColumnCoding.put(addition?.total ?? .zero, into: &out)
      }
    case .splice:
      for cell in cells { put(delta.splices[cell] ?? ListSplices(), into: &out) }
    case .edit:
      for cell in cells {
        // Looked at where it lies: a copy counts the references of all its parts.
        if let index = delta.edits.index(cell) {
          put(delta.edits.values.span[index], dot: delta.dot, into: &out)
        } else {
          put(ListEdit(), dot: delta.dot, into: &out)
        }
      }
    }
  }

  private mutating func put(_ edit: ListEdit, dot: Dot, into out: inout [UInt8]) {
    // A keystroke names no other devices and is short: as if it were, it is written in its place.
    let start = out.count
    out.put(0 as UInt8)
    out.put(0 as UInt8)
    let first = out.count
    let devices = ListEditCoding.encode(edit, dot: dot, into: &out)
    if devices.isEmpty, out.count - first < 0x80 {
      out[first - 1] = UInt8(truncatingIfNeeded: out.count - first)
      return
    }
    part.clear()
    part.put(out, first..<out.count)
    out.removeLast(out.count - start)
    out.putVarint(devices.count)
    for device in devices { put(device: device, into: &out) }
    out.putBlob(part)
  }

  private mutating func put(_ splices: ListSplices, into out: inout [UInt8]) {
    part.clear()
    ListSplicesCoding.encode(splices, into: &part)
    out.putBlob(part)
  }

  private mutating func put(_ running: RunningTotal, into out: inout [UInt8]) {
    put(device: running.device, into: &out)
    out.putVarint(running.last)
    ColumnCoding.put(running.total, into: &out)
  }
}
