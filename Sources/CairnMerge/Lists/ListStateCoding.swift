package import CairnBytes

/// A list's state as bytes, the same for the same edits in whatever order they came; nothing
/// pending is in it.
///
///     created · devices: (id · deltas: (sequence · time · nodes) …) …
///     · runs in the order of the list: (nodes * 32 + start * 16 + hang * 4 + kind · [start] ·
///       [parent]) …
///     · values of the visible items · moved items · replaced values
///
/// The deltas are numbered as they stand. A run is nodes of which each hangs to the right of the
/// one before it and has the next name.
package enum ListStateCoding {
  enum Kind: UInt64 {
    case hidden = 0
    case visible = 1
    case root = 2
  }

  enum Hang: UInt64 {
    /// To the right of the node before it in the list.
    case onLast = 0
    /// To the left of the node that the next run starts with, after it.
    case onNext = 1
    case explicitRight = 2
    case explicitLeft = 3
  }

  package static func encode(_ state: ListState, into out: inout [UInt8]) {
    var list = state
    list.rollBack()
    var writer = ListStateWriter(list)
    writer.write(into: &out)
  }

  package static func decode(
    _ reader: inout ByteReader
  ) throws(DecodeError) -> ListState {
    var room = FormatBounds.cellsInDelta
    return try decode(&reader, room: &room)
  }

  /// One of several lists: `room` is how many nodes may still come, and its own are taken off.
  static func decode(
    _ reader: inout ByteReader, room: inout Int
  ) throws(DecodeError) -> ListState {
    var list = ListStateReader(reader: reader, room: room)
    let state = try list.read()
    (reader, room) = (list.reader, list.room)
    return state
  }
}
