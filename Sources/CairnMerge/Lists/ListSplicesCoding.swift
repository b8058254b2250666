package import CairnBytes

/// Splices as bytes: count · (skipped · deleted · inserted) … · items.
package enum ListSplicesCoding {
  package static func encode(_ splices: ListSplices, into out: inout [UInt8]) {
    out.putVarint(splices.steps.count)
    for step in splices.steps {
      out.putVarint(step.skipped)
      out.putVarint(step.deleted)
      out.putVarint(step.inserted)
    }
    ListItemsCoding.encode(splices.inserted, into: &out)
  }

  /// Appends a stroke behind so many items, but for the value of one that it puts in.
  @inline(__always)
  static func encode(_ stroke: ListStroke, _ index: Int, into out: inout OutputSpan<UInt8>) {
    out.put(1)
    out.putVarint(index)
    out.put(stroke.isRemoval ? 1 : 0)
    out.put(stroke.isRemoval ? 0 : 1)
  }

  package static func decode(
    _ bytes: [UInt8], _ range: Range<Int>
  ) throws(DecodeError) -> ListSplices {
    var room = FormatBounds.cellsInDelta
    return try decode(bytes, range, room: &room)
  }

  /// Those of one of several lists: `room` is how many items may still come, and their own are
  /// taken off before any is read.
  static func decode(
    _ bytes: [UInt8], _ range: Range<Int>, room: inout Int
  ) throws(DecodeError) -> ListSplices {
    var reader = ByteReader(bytes, range)
    var splices = ListSplices()
    var inserted = 0
    for _ in 0..<(try reader.count(minimumSize: 3)) {
      let step = ListSplices.Step(
        skipped: try reader.count(limit: 1 << 30), deleted: try reader.count(limit: 1 << 30),
        inserted: try reader.count(limit: room))
      room -= step.inserted
      inserted += step.inserted
      splices.steps.append(step)
    }
    splices.inserted = try ListItemsCoding.decode(inserted, &reader)
    guard reader.isAtEnd else { throw .malformed("bytes after the splices of a list") }
    return splices
  }
}
