package import CairnBytes
package import CairnMerge

/// What a snapshot says of itself, read at open: vectors, totals, tables and names. Canonical:
/// everything is sorted.
///
///     vector · fence · contexts · mtime zigzag · size varint · records varint ·
///     tables (count; name string, first block, blocks, rows)
package struct SnapshotDescription: Equatable, Sendable {
  /// All deltas that are in it.
  package var vector = VersionVector()
  /// The stable vector that it was pruned with.
  package var fence = VersionVector()
  /// What each device had seen at its last delta in here.
  package var contexts = DeviceContexts()
  package var modified: Int64 = 0
  package var size = 0
  package var recordCount = 0
  package var tables: [Table] = []

  /// An object, since arrays of these need no type of their own: see `DeviceContexts`.
  package final class Table: Equatable, Sendable {
    package let name: String
    package let firstBlock: Int
    package let blockCount: Int
    /// Rows, records in conflict or deleted among them.
    package let rowCount: Int

    package init(name: String, firstBlock: Int, blockCount: Int, rowCount: Int) {
      self.name = name
      self.firstBlock = firstBlock
      self.blockCount = blockCount
      self.rowCount = rowCount
    }

    package static func == (a: Table, b: Table) -> Bool {
      (a.name, a.firstBlock, a.blockCount, a.rowCount)
        == (b.name, b.firstBlock, b.blockCount, b.rowCount)
    }
  }

  /// Far above what any datastore can hold, far below what an `Int` can.
  private static let totalMax = 1 << 48

  package init() {}

  package func encoded() -> [UInt8] {
    var out: [UInt8] = []
    vector.encode(into: &out)
    fence.encode(into: &out)
    out.putVarint(contexts.count)
    contexts.forEach { device, seen in
      out.put(device.rawValue)
      seen.encode(into: &out)
    }
    out.putZigzag(modified)
    // Below zero only after a snapshot of others that counted too few: no reason not to go on.
    out.putVarint(max(0, size))
    out.putVarint(max(0, recordCount))
    out.putVarint(tables.count)
    for table in tables {
      out.putString(table.name)
      out.putVarint(table.firstBlock)
      out.putVarint(table.blockCount)
      out.putVarint(table.rowCount)
    }
    return out
  }

  package init(_ bytes: [UInt8], blockCount: Int) throws(DecodeError) {
    var reader = ByteReader(bytes)
    vector = try SnapshotDescription.vector(&reader)
    fence = try SnapshotDescription.vector(&reader)
    try readContexts(&reader)
    modified = try reader.zigzag()
    // What is added to them later must fit.
    size = try reader.count(limit: SnapshotDescription.totalMax)
    recordCount = try reader.count(limit: SnapshotDescription.totalMax)
    var nextBlock = 0
    for _ in 0..<(try reader.count(minimumSize: 4)) {
      let name = try reader.string()
      let firstBlock = try reader.count(limit: blockCount)
      let count = try reader.count(limit: blockCount - firstBlock)
      let rows = try reader.count(limit: Int(UInt32.max))
      guard firstBlock == nextBlock, Identifier.isValidTable(name),
        tables.last.map({ $0.name.utf8.lexicographicallyPrecedes(name.utf8) }) ?? true
      else { throw .malformed("a table") }
      nextBlock += count
      tables.append(Table(name: name, firstBlock: firstBlock, blockCount: count, rowCount: rows))
    }
    guard nextBlock == blockCount, reader.isAtEnd else { throw .malformed("a description's end") }
  }

  private mutating func readContexts(_ reader: inout ByteReader) throws(DecodeError) {
    var last = DeviceID(rawValue: 0)
    for _ in 0..<(try reader.count(minimumSize: 9)) {
      let device = DeviceID(rawValue: try reader.u64())
      guard device.rawValue != 0 else { throw .malformed("a device's number") }
      // As with vectors: in any other order each would move those that are there.
      guard last < device else { throw .malformed("contexts whose devices are out of order") }
      last = device
      let seen = try SnapshotDescription.vector(&reader)
      // Own deltas do not name what their device is said to have seen.
      guard seen[device] > 0, vector.covers(seen) else {
        throw .malformed("a context of what is not in the snapshot")
      }
      contexts[device] = seen
    }
  }

  private static func vector(_ reader: inout ByteReader) throws(DecodeError) -> VersionVector {
    let vector = try VersionVector(&reader)
    // Own deltas name what they have seen.
    guard vector.entries.first?.device.rawValue != 0 else { throw .malformed("a device's number") }
    guard vector.entries.count < FormatBounds.devices else {
      throw .malformed("more devices than a delta can name")
    }
    return vector
  }

  /// The name of a snapshot in a shared folder: a hash of what decides its bytes.
  package static func hash(vector: VersionVector, fence: VersionVector) -> UInt128 {
    var description = SnapshotDescription()
    description.vector = vector
    description.fence = fence
    return XXH3.hash128(description.encoded())
  }
}
