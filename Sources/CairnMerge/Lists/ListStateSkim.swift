import CairnBytes

/// Reads the items of what `ListStateCoding` describes and passes over what only merging needs.
struct ListStateSkim {
  private var reader: ByteReader
  /// How many items the list has.
  let count: Int

  /// Passes over all that is before the items.
  init(_ start: ByteReader) throws(DecodeError) {
    var reader = start
    guard try reader.u8() <= 1 else { throw .newer("a list of an unknown kind") }
    for _ in 0..<(try reader.count(minimumSize: 12)) {
      _ = try reader.skip(8)
      try reader.skipVarints(3 * (try reader.count(minimumSize: 3)))
    }
    var count: UInt64 = 0
    for _ in 0..<(try reader.count()) {
      let head = try reader.varint()
      // The start and the parent, as far as they are not where they are expected.
      let hasParent = head >> 2 & 3 >= ListStateCoding.Hang.explicitRight.rawValue
      let names = Int(head >> 4 & 1) + (hasParent ? 1 : 0)
      if names > 0 { try reader.skipVarints(2 * names) }
      if head & 3 == ListStateCoding.Kind.visible.rawValue { count += head >> 5 }
      guard count <= UInt64(FormatBounds.cellsInDelta) else { throw .limit }
    }
    // No item takes less than a bit: whoever asks makes room for as many.
    guard count <= UInt64(reader.remaining) * 8 else { throw .limit }
    self.reader = reader
    self.count = Int(count)
  }

  mutating func forEachValue(_ body: (FieldValue) -> Void) throws(DecodeError) {
    try ListItemsCoding.forEachValue(count, &reader, body)
  }
}
