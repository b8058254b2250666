package import CairnBytes

/// Edits of lists as bytes.
///
///     parts:   bit 0 chains, 1 deleted, 2 replaced
///     chains:  count · (nodes * 4 + hasMoves * 2 + side · parent · [moves]) … · new items
///     deleted: count · (items · first) …
///     replaced: count · names … · items
///
/// A name is a device's number, a sequence and an index. Number 0 is the delta's own device, whose
/// sequences count back from the delta; the others are listed beside the edit, by the scope's
/// numbers.
package enum ListEditCoding {
  private enum Part {
    static let chains: UInt8 = 1
    static let deleted: UInt8 = 2
    static let replaced: UInt8 = 4
  }

  /// Appends an edit of the delta `dot`. Returns the devices that its names refer to.
  package static func encode(
    _ edit: ListEdit, dot: Dot, into out: inout [UInt8]
  ) -> [DeviceID] {
    var names = NameWriter(dot: dot)
    out.put(
      (edit.chains.isEmpty ? 0 : Part.chains) | (edit.deleted.isEmpty ? 0 : Part.deleted)
        | (edit.replaced.isEmpty ? 0 : Part.replaced))
    if !edit.chains.isEmpty {
      out.putVarint(edit.chains.count)
      for chain in edit.chains { put(chain, &names, into: &out) }
      ListItemsCoding.encode(edit.inserted, into: &out)
    }
    if !edit.deleted.isEmpty {
      out.putVarint(edit.deleted.count)
      for span in edit.deleted {
        out.putVarint(UInt64(span.count))
        names.put(span.first, into: &out)
      }
    }
    if !edit.replaced.isEmpty {
      out.putVarint(edit.replaced.count)
      for id in edit.replaced { names.put(id, into: &out) }
      ListItemsCoding.encode(edit.replacements, into: &out)
    }
    return names.others.devices
  }

  /// Appends a stroke of the delta `dot`, whose node has this name, but for the value of an item
  /// that it puts in. If it names a node of another device, that is the only one that it refers to.
  @inline(__always)
  static func encode(
    _ stroke: ListStroke, _ id: NodeID, dot: Dot, into out: inout OutputSpan<UInt8>
  ) {
    out.put(stroke.isRemoval ? Part.deleted : Part.chains)
    // One span of one item, or one chain of one node that was not moved there.
    out.put(1)
    let chain: UInt8 = 1 << 2 | stroke.side.rawValue
    out.put(stroke.isRemoval ? 1 : chain)
    let isOwn = id.dot.device == dot.device
    out.put(isOwn ? 0 : 1)
    out.putVarint(isOwn ? dot.sequence &- id.dot.sequence : id.dot.sequence)
    out.putVarint(UInt64(id.index))
  }

  private static func put(
    _ chain: ListEdit.Chain, _ names: inout NameWriter, into out: inout [UInt8]
  ) {
    let hasMoves: UInt64 = chain.moves.isEmpty ? 0 : 2
    out.putVarint(UInt64(chain.count) << 2 | hasMoves | UInt64(chain.side.rawValue))
    names.put(chain.parent, into: &out)
    if chain.moves.isEmpty { return }
    out.putVarint(chain.moves.count)
    var next: UInt32 = 0
    for move in chain.moves {
      out.putVarint(UInt64(move.offset - next))
      next = move.offset + 1
      names.put(move.item, into: &out)
    }
  }

  private struct NameWriter {
    let dot: Dot
    var others = DeviceNumbers()

    mutating func put(_ id: NodeID, into out: inout [UInt8]) {
      if id.dot.device == dot.device {
        out.putVarint(0)
        out.putVarint(dot.sequence &- id.dot.sequence)
      } else {
        let known = others.number(id.dot.device)
        if known == nil { others.add(id.dot.device) }
        out.putVarint((known ?? others.count - 1) + 1)
        out.putVarint(id.dot.sequence)
      }
      out.putVarint(UInt64(id.index))
    }
  }

  /// Reads the edit of the delta `dot` that fills `range`. What it names need not exist.
  package static func decode(
    _ bytes: [UInt8], _ range: Range<Int>, dot: Dot, devices: [DeviceID]
  ) throws(DecodeError) -> ListEdit {
    var room = FormatBounds.cellsInDelta
    return try decode(bytes, range, dot: dot, devices: devices, room: &room)
  }

  /// One of several edits: `room` is how many nodes may still come, and its own are taken off
  /// before any item is read.
  static func decode(
    _ bytes: [UInt8], _ range: Range<Int>, dot: Dot, devices: [DeviceID], room: inout Int
  ) throws(DecodeError) -> ListEdit {
    var names = NameReader(reader: ByteReader(bytes, range), dot: dot, devices: devices)
    var edit = ListEdit()
    let parts = try names.reader.u8()
    guard parts <= 7 else { throw .newer("an edit of a list with unknown parts") }
    if parts & Part.chains != 0 { try chains(&names, &room, into: &edit) }
    if parts & Part.deleted != 0 {
      for _ in 0..<(try names.reader.count(minimumSize: 4)) {
        let count = try names.index()
        let span = ListEdit.Span(first: try names.name(), count: count)
        guard count > 0, edit.deleted.last?.isBefore(span) ?? true else {
          throw .malformed("removals from a list out of order")
        }
        edit.deleted.append(span)
      }
    }
    if parts & Part.replaced != 0 {
      let count = try names.reader.count(minimumSize: 3)
      for _ in 0..<count {
        let id = try names.name()
        if let last = edit.replaced.last, last >= id {
          throw .malformed("replacements in a list out of order")
        }
        edit.replaced.append(id)
      }
      edit.replacements = try ListItemsCoding.decode(count, &names.reader)
    }
    guard names.reader.isAtEnd else { throw .malformed("bytes after an edit of a list") }
    return edit
  }

  private static func chains(
    _ names: inout NameReader, _ room: inout Int, into edit: inout ListEdit
  ) throws(DecodeError) {
    var total: UInt64 = 0
    var moved: UInt64 = 0
    let chainCount = try names.reader.count(minimumSize: 4)
    var places: Set<ListEdit.Chain> = []
    for _ in 0..<chainCount {
      let head = try names.reader.varint()
      let count = head >> 2
      total += count
      guard count > 0, total <= UInt64(room),
        let side = ListEdit.Side(rawValue: UInt8(head & 1))
      else { throw .limit }
      var chain = ListEdit.Chain(parent: try names.name(), side: side, count: UInt32(count))
      if head & 2 != 0 {
        var next: UInt64 = 0
        for _ in 0..<(try names.reader.count(minimumSize: 4)) {
          next += UInt64(try names.index())
          guard next < count else { throw .malformed("a move behind its chain") }
          chain.moves.append(ListEdit.Move(offset: UInt32(next), item: try names.name()))
          next += 1
          moved += 1
        }
      }
      // What one delta puts at one place is one chain: the tree orders siblings by their deltas.
      if chainCount > 1, !chain.isNowhere {
        let place = ListEdit.Chain(parent: chain.parent, side: side, count: 0)
        guard places.insert(place).inserted else { throw .malformed("two chains at one place") }
      }
      edit.chains.append(chain)
    }
    room -= Int(total)
    edit.inserted = try ListItemsCoding.decode(Int(total - moved), &names.reader)
  }

  private struct NameReader {
    var reader: ByteReader
    let dot: Dot
    let devices: [DeviceID]

    mutating func index() throws(DecodeError) -> UInt32 {
      let value = try reader.varint()
      guard value < 1 << 30 else { throw .limit }
      return UInt32(value)
    }

    mutating func name() throws(DecodeError) -> NodeID {
      let number = try reader.varint()
      let sequence = try reader.varint()
      if number == 0 {
        // A delta has nothing to say about what it makes itself.
        guard sequence > 0, sequence < dot.sequence else {
          throw .malformed("a name of a delta that can't be known")
        }
        let own = Dot(device: dot.device, sequence: dot.sequence - sequence)
        return NodeID(own, try index())
      }
      guard number <= UInt64(devices.count), sequence > 0 else {
        throw .malformed("a name of an unknown device")
      }
      return NodeID(Dot(device: devices[Int(number) - 1], sequence: sequence), try index())
    }
  }
}
