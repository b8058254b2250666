package import CairnBytes

/// Consecutive deltas of one device with a dictionary of their own: what travels between devices,
/// and what a log keeps of it.
///
///     device u64 · first sequence varint · count varint · (length varint · delta) × count
package enum Pack {
  package struct Header: Sendable, Equatable {
    package var device: DeviceID
    package var first: UInt64
    package var count: Int

    package var last: UInt64 { first + UInt64(count) - 1 }
  }

  package static func header(_ reader: inout ByteReader) throws(DecodeError) -> Header {
    let device = DeviceID(rawValue: try reader.u64())
    let first = try reader.varint()
    let count = try reader.count(minimumSize: 4)
    guard device.rawValue != 0, first > 0, count > 0, count <= FormatBounds.deltasInPack,
      first <= ByteReader.counterMax - UInt64(count)
    else { throw .malformed("a pack's range") }
    return Header(device: device, first: first, count: count)
  }
}

/// Reads a pack delta by delta. Decoding is in order: each delta may use names of those before.
package struct PackReader: Sendable {
  package let header: Pack.Header
  private var reader: ByteReader
  private var decoder = DeltaDecoder()
  /// How many items its deltas may still put into lists.
  private var room: Int
  /// Sequence of the delta that `next` decodes next.
  package private(set) var nextSequence: UInt64

  /// - Parameter items: How many items of lists the deltas may have. What is fetched is held to
  ///   `FormatBounds.itemsInPack`; an older version may have taken more, and what is in a log or an
  ///   outbox has to be read again.
  package init(
    _ bytes: [UInt8], _ range: Range<Int>, items: Int = .max
  ) throws(DecodeError) {
    room = items
    reader = ByteReader(bytes, range)
    header = try Pack.header(&reader)
    nextSequence = header.first
  }

  package init(_ bytes: [UInt8]) throws(DecodeError) { try self.init(bytes, 0..<bytes.count) }

  /// The heap of the deltas that `next` makes.
  package var heap: [UInt8] { reader.bytes }
  /// The records that deltas refer to, by number.
  package var records: [RecordName] { decoder.records }
  /// Where the next delta's bytes start.
  package var offset: Int { reader.offset }

  /// Decodes the next delta; false at the end, where nothing may be left over.
  package mutating func next(into delta: inout Delta) throws(DecodeError) -> Bool {
    guard nextSequence <= header.last else {
      guard reader.isAtEnd else { throw .malformed("bytes after the last delta") }
      return false
    }
    let range = try reader.blob()
    var part = ByteReader(reader.bytes, range)
    let dot = Dot(device: header.device, sequence: nextSequence)
    let items = min(room, FormatBounds.cellsInDelta)
    try decoder.decode(&part, dot: dot, into: &delta, items: items)
    room -= items - decoder.room
    guard part.isAtEnd else { throw .malformed("bytes after a delta's end") }
    nextSequence += 1
    return true
  }
}

/// Builds a pack from deltas that were decoded from other scopes.
package struct PackWriter: Sendable {
  private let device: DeviceID
  private let first: UInt64
  private var count = 0
  /// What the deltas put into lists, as `FormatBounds.itemsInPack` counts it.
  package private(set) var items = 0
  private var encoder = DeltaEncoder()
  private var body: [UInt8] = []
  private var scratch: [UInt8] = []

  package init(device: DeviceID, first: UInt64) {
    self.device = device
    self.first = first
  }

  package var nextSequence: UInt64 { first + UInt64(count) }
  package var isEmpty: Bool { count == 0 }
  /// Unpacked bytes so far, by which packs are made as long as they are. Eight items of a list may
  /// take one, and a reader takes so many of them in a pack: they count as much as letters do.
  package var byteCount: Int { max(body.count, 2 * items) }

  /// Appends the delta of `nextSequence`. `names` are the records of the delta's own scope, and
  /// `map` their numbers here (`UInt32.max`: none yet), one entry each, kept by the caller from
  /// delta to delta of that scope.
  package mutating func append(
    _ delta: Delta, heap: [UInt8], names: [RecordName], map: inout [UInt32]
  ) {
    while map.count < names.count { map.append(.max) }
    var copy = delta
    items += copy.listItemCount()
    copy.newNames.removeAll(keepingCapacity: true)
    for index in copy.records.indices {
      let source = Int(copy.records[index].reference)
      if map[source] == .max {
        map[source] = encoder.recordCount + UInt32(copy.newNames.count)
        copy.newNames.append(names[source])
      }
      copy.records[index].reference = map[source]
    }
    scratch.removeAll(keepingCapacity: true)
    encoder.encode(copy, heap: heap, into: &scratch)
    body.putVarint(scratch.count)
    body.append(contentsOf: scratch)
    count += 1
  }

  package func bytes() -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(body.count + 24)
    out.put(device.rawValue)
    out.putVarint(first)
    out.putVarint(count)
    out.append(contentsOf: body)
    return out
  }
}
