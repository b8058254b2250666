internal import CairnBytes
package import CairnLog
internal import CairnMerge

/// A device's head: the one file in the folder that is ever replaced, by its own device only. It
/// says who the device is, what it has published, and what it has seen.
///
///     "CAIRNHED" · version u16 · floor u16 · zero u32 · datastore u128 · device u64 ·
///     generation u64 · nonce u64 · user string · last varint · chain u128 ·
///     acknowledged (own sequence varint, vector) · fence vector · retired (count, device u64) ·
///     segments (count; first, last, size varints, hash u128) ·
///     superseded (count; name string, time zigzag) ·
///     snapshot (0, or 1: hash u128, size varint, content u128, vector, fence) ·
///     XXH3-128 of everything before
package struct Head: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNHED".utf8)
  package static let bytesMax = 16 << 20
  /// Heads count on to here and no further: readers refuse a higher one.
  package static let generationMax = ByteReader.counterMax

  var datastore: UInt128
  var device: DeviceID
  /// Grows by one with each replacement: an older head that comes back is told apart.
  var generation: UInt64 = 0
  /// Random, new with each replacement: a device knows its own head by it.
  var nonce: UInt64 = 0
  var user = ""
  /// Own deltas 1 … last are published: in segments, or, where these leave a gap (the folder lost
  /// files that nobody can write again), in `snapshot`.
  var last: UInt64 = 0
  var chain: UInt128 = 0
  /// What the device had incorporated when its own sequence was `acknowledgedAt`.
  var acknowledgedAt: UInt64 = 0
  var acknowledged = VersionVector()
  /// The stable vector that the device has agreed to; empty until fences are exchanged.
  var fence = VersionVector()
  var retired: [DeviceID] = []
  var segments: [Segment] = []
  /// Own snapshots that newer ones replaced, and since when: they go after a grace period.
  var superseded: [Superseded] = []
  var snapshot: Snapshot?

  struct Segment: Equatable, Sendable {
    var first: UInt64
    var last: UInt64
    var size: UInt64
    var hash: UInt128

    func name(_ device: DeviceID) -> String {
      FileName.published(
        FileName.Published(device: device.rawValue, first: first, last: last, hash: hash))
    }

    /// About how many of its bytes are deltas behind one: they are taken to be alike.
    func bytes(after sequence: UInt64) -> UInt64 {
      if sequence < first { return size }
      if sequence >= last { return 0 }
      return UInt64(Double(size) * (Double(last - sequence) / Double(last - first + 1)))
    }
  }

  struct Superseded: Equatable, Sendable {
    var name: String
    var time: Int64
  }

  struct Snapshot: Equatable, Sendable {
    /// Of vector and fence: the file's name.
    var hash: UInt128
    var size: UInt64
    /// XXH3-128 of the file's bytes.
    var content: UInt128
    var vector: VersionVector
    var fence: VersionVector

    var name: String { FileName.sharedSnapshot(hash) }
  }

  init(datastore: UInt128, device: DeviceID) {
    self.datastore = datastore
    self.device = device
  }
}

extension Head {
  package func encoded() -> [UInt8] {
    var out = Head.magic
    out.put(FormatVersion.current)
    out.put(FormatVersion.floor)
    out.put(UInt32(0))
    out.put(datastore)
    out.put(device.rawValue)
    out.put(generation)
    out.put(nonce)
    out.putString(user)
    out.putVarint(last)
    out.put(chain)
    out.putVarint(acknowledgedAt)
    out.put(acknowledged)
    out.put(fence)
    out.putVarint(retired.count)
    for device in retired { out.put(device.rawValue) }
    out.putVarint(segments.count)
    for segment in segments {
      out.putVarint(segment.first)
      out.putVarint(segment.last)
      out.putVarint(segment.size)
      out.put(segment.hash)
    }
    out.putVarint(superseded.count)
    for old in superseded {
      out.putString(old.name)
      out.putZigzag(old.time)
    }
    out.put(UInt8(snapshot == nil ? 0 : 1))
    if let snapshot {
      out.put(snapshot.hash)
      out.putVarint(snapshot.size)
      out.put(snapshot.content)
      out.put(snapshot.vector)
      out.put(snapshot.fence)
    }
    out.put(XXH3.hash128(out))
    return out
  }

  /// Length, checksum, structure. `name` is where the bytes came from; `datastore` whose head it
  /// has to be, nil if that does not matter.
  package init(_ bytes: [UInt8], name: String, datastore expected: UInt128?) throws(LogError) {
    guard bytes.count >= 16 + 16 + 40 else {
      throw LogError(.truncated, name, at: UInt64(bytes.count), "shorter than a head can be")
    }
    guard Array(bytes[0..<8]) == Head.magic else {
      throw LogError(.foreign, name, at: 0, "not a head")
    }
    let end = bytes.count - 16
    var tail = ByteReader(bytes, end..<bytes.count)
    do {
      guard try tail.hash() == XXH3.hash128(bytes, 0..<end) else {
        throw LogError(.corrupt, name, at: 0, "the checksum does not match: damaged, or half there")
      }
    } catch let error as LogError {
      throw error
    } catch { throw LogError(.truncated, name, "\(error)") }
    try FormatVersion.check(floor: bytes.u16(at: 10), path: name)
    var reader = ByteReader(bytes, 16..<end)
    do throws(DecodeError) { self = try Head(&reader) } catch {
      throw LogError(error, name, at: UInt64(reader.offset), "a head")
    }
    guard expected == nil || datastore == expected else {
      throw LogError(.foreign, name, at: 16, "the head of another datastore")
    }
  }

  private init(_ reader: inout ByteReader) throws(DecodeError) {
    let datastore = try reader.hash()
    self.init(datastore: datastore, device: DeviceID(rawValue: try reader.u64()))
    generation = try reader.u64()
    guard generation <= Head.generationMax else { throw .limit }
    nonce = try reader.u64()
    user = try reader.string()
    last = try reader.counter()
    chain = try reader.hash()
    acknowledgedAt = try reader.counter()
    acknowledged = try reader.vector()
    fence = try reader.vector()
    for _ in 0..<(try reader.count(minimumSize: 8)) {
      retired.append(DeviceID(rawValue: try reader.u64()))
    }
    for _ in 0..<(try reader.count(minimumSize: 19)) {
      let first = try reader.counter()
      let last = try reader.counter()
      let size = try reader.varint()
      guard size <= UInt64(PublishedSegment.fileBytesMax) else { throw .limit }
      guard first > 0, last >= first, first > segments.last?.last ?? 0 else {
        throw .malformed("segments out of order")
      }
      segments.append(Segment(first: first, last: last, size: size, hash: try reader.hash()))
    }
    for _ in 0..<(try reader.count(minimumSize: 2)) {
      let name = try reader.string()
      superseded.append(Superseded(name: name, time: try reader.zigzag()))
    }
    switch try reader.u8() {
    case 0: break
    case 1:
      let hash = try reader.hash()
      let size = try reader.varint()
      let content = try reader.hash()
      let vector = try reader.vector()
      snapshot = Snapshot(
        hash: hash, size: size, content: content, vector: vector, fence: try reader.vector())
    default: throw .malformed("a snapshot's mark")
    }
    // What is in no segment has to be in the snapshot. Before the first delta the chain is 0: any
    // other would be another history, for which every reader would put its store together anew.
    let vouched = max(segments.last?.last ?? 0, snapshot?.vector[device] ?? 0)
    guard device.rawValue != 0, segments.last?.last ?? 0 <= last, vouched >= last,
      last > 0 || chain == 0, reader.isAtEnd
    else {
      throw .malformed("a head's parts do not fit")
    }
  }
}

extension [UInt8] {
  mutating func put(_ hash: UInt128) {
    put(UInt64(truncatingIfNeeded: hash))
    put(UInt64(truncatingIfNeeded: hash >> 64))
  }

  mutating func put(_ vector: VersionVector) {
    vector.encode(into: &self)
  }
}

extension ByteReader {
  mutating func vector() throws(DecodeError) -> VersionVector {
    try VersionVector(&self)
  }
}
