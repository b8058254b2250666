package import CairnBytes

/// The header of a local log segment: 64 bytes.
///
///     0  "CAIRNSEG"   8  version u16   10  floor u16   12  zero u32
///     16  datastore u128   32  device u64   40  number u64   48  zero u64   56  XXH3-64 of 0..<56
package struct SegmentHeader: Equatable, Sendable {
  package static let size = 64
  package static let magic: [UInt8] = Array("CAIRNSEG".utf8)

  package var datastore: UInt128
  package var device: UInt64
  package var number: UInt64
  /// The oldest version that may read it: a later one if it holds cuts.
  package var floor = FormatVersion.floor

  package init(
    datastore: UInt128, device: UInt64, number: UInt64, floor: UInt16 = FormatVersion.floor
  ) {
    self.datastore = datastore
    self.device = device
    self.number = number
    self.floor = floor
  }

  package var seedBase: UInt64 {
    FrameFormat.seedBase(datastore: datastore, device: device, number: number)
  }

  package func encoded() -> [UInt8] {
    var out = SegmentHeader.magic
    out.put(max(FormatVersion.current, floor))
    out.put(floor)
    out.put(UInt32(0))
    out.put(UInt64(truncatingIfNeeded: datastore))
    out.put(UInt64(truncatingIfNeeded: datastore >> 64))
    out.put(device)
    out.put(number)
    out.put(UInt64(0))
    out.put(XXH3.hash64(out))
    return out
  }

  /// Whether the header's checksum holds in a file of at least a header's length.
  package static func isWhole(_ bytes: [UInt8]) -> Bool {
    bytes.u64(at: 56) == XXH3.hash64(bytes, 0..<56)
  }

  /// Length, checksum, structure: in this order.
  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    guard bytes.count >= SegmentHeader.size else {
      throw LogError(.truncated, path, at: 0, "shorter than a segment's header")
    }
    guard Array(bytes[0..<8]) == SegmentHeader.magic else {
      throw LogError(.foreign, path, at: 0, "not a log segment")
    }
    guard SegmentHeader.isWhole(bytes) else {
      throw LogError(.corrupt, path, at: 0, "the segment's header is damaged")
    }
    floor = bytes.u16(at: 10)
    try FormatVersion.check(floor: floor, path: path, known: FormatVersion.cuts)
    datastore = UInt128(bytes.u64(at: 24)) << 64 | UInt128(bytes.u64(at: 16))
    device = bytes.u64(at: 32)
    number = bytes.u64(at: 40)
  }
}

/// The payload of the seal frame, the last of a sealed segment: what the segment holds, where, and
/// what came before it. The frame is followed by a trailer of 16 bytes, so that it can be found
/// from the end: its offset u64, "CAIRNEND".
package struct SegmentFooter: Equatable, Sendable {
  package static let trailerSize = 16
  package static let trailerMagic: [UInt8] = Array("CAIRNEND".utf8)

  package struct Item: Equatable, Sendable {
    package var device: UInt64
    package var sequence: UInt64
    package var offset: UInt32

    package init(device: UInt64, sequence: UInt64, offset: UInt32) {
      self.device = device
      self.sequence = sequence
      self.offset = offset
    }
  }

  package var items: [Item]
  /// Chain hash of the segment before this one; zero for the first.
  package var previous: UInt128
  /// XXH3-128 of the file up to the seal frame.
  package var content: UInt128

  /// What the next segment calls its previous one.
  package var chain: UInt128 { SegmentFooter.chain(previous, content) }

  private static func chain(_ previous: UInt128, _ content: UInt128) -> UInt128 {
    var bytes: [UInt8] = []
    put(previous, into: &bytes)
    put(content, into: &bytes)
    return XXH3.hash128(bytes)
  }

  package func encoded() -> [UInt8] {
    var out: [UInt8] = []
    out.putVarint(items.count)
    // Their room at once: a segment in which somebody typed has a hundred thousand of them.
    var place = out.count
    out.append(contentsOf: repeatElement(0, count: items.count * SegmentFooter.itemSize))
    for item in items {
      out.set(item.device, at: place)
      out.set(item.sequence, at: place + 8)
      out.set(item.offset, at: place + 16)
      place += SegmentFooter.itemSize
    }
    SegmentFooter.put(previous, into: &out)
    SegmentFooter.put(content, into: &out)
    return out
  }

  private static func put(_ hash: UInt128, into out: inout [UInt8]) {
    out.put(UInt64(truncatingIfNeeded: hash))
    out.put(UInt64(truncatingIfNeeded: hash >> 64))
  }

  package init(items: [Item], previous: UInt128, content: UInt128) {
    self.items = items
    self.previous = previous
    self.content = content
  }

  package init(_ payload: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(payload)
    let count = try reader.count(minimumSize: SegmentFooter.itemSize)
    items = []
    items.reserveCapacity(count)
    for _ in 0..<count {
      let device = try reader.u64()
      let sequence = try reader.u64()
      items.append(Item(device: device, sequence: sequence, offset: try reader.u32()))
    }
    previous = try SegmentFooter.hash(&reader)
    content = try SegmentFooter.hash(&reader)
    guard reader.isAtEnd else { throw .malformed("bytes after a segment's footer") }
  }

  private static func hash(_ reader: inout ByteReader) throws(DecodeError) -> UInt128 {
    let low = try reader.u64()
    return UInt128(try reader.u64()) << 64 | UInt128(low)
  }

  private static let itemSize = 20

  /// What opening wants of a footer, without its items: a segment in which somebody typed has a
  /// hundred thousand of them.
  package struct Outline: Equatable, Sendable {
    /// The highest sequence of the device's own frames; 0 if it has none.
    package var lastOwn: UInt64
    package var chain: UInt128
  }

  package static func outline(
    _ payload: [UInt8], of device: UInt64
  ) throws(DecodeError) -> Outline {
    var reader = ByteReader(payload)
    let count = try reader.count(minimumSize: itemSize)
    let items = try reader.skip(count * itemSize)
    let previous = try hash(&reader)
    let chain = chain(previous, try hash(&reader))
    guard reader.isAtEnd else { throw .malformed("bytes after a segment's footer") }
    // From the end: most of a segment's frames are its own device's.
    var place = items.upperBound
    while place > items.lowerBound {
      place -= itemSize
      if payload.u64(at: place) == device {
        return Outline(lastOwn: payload.u64(at: place + 8), chain: chain)
      }
    }
    return Outline(lastOwn: 0, chain: chain)
  }
}
