package import CairnBytes

/// A cut as bytes: what its record keeps. The dot is in the record's name.
///
///     1 · context vector · members (count; device u64) · line (count; device u64, sequence varint)
extension Cut {
  private static let version: UInt8 = 1

  package var encoded: [UInt8] {
    var out: [UInt8] = [Cut.version]
    context.encode(into: &out)
    out.putVarint(members.count)
    for member in members { out.put(member.rawValue) }
    out.putVarint(line.count)
    for dot in line { dot.encode(into: &out) }
    return out
  }

  package init(_ dot: Dot, _ bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    guard try reader.u8() == Cut.version else { throw .newer("a cut of another version") }
    let context = try VersionVector(&reader)
    var members: [DeviceID] = []
    for _ in 0..<(try reader.count(minimumSize: 8)) {
      members.append(DeviceID(rawValue: try reader.u64()))
    }
    var line: [Dot] = []
    for _ in 0..<(try reader.count(minimumSize: 9)) { line.append(try Dot(&reader)) }
    guard reader.isAtEnd, context.contains(dot), line.last == dot, line.count <= Cut.lineMax,
      members.contains(dot.device)
    else { throw .malformed("a cut's parts do not fit") }
    self.init(dot: dot, context: context, members: members.sorted(), line: line)
  }
}

extension Dot {
  fileprivate func encode(into out: inout [UInt8]) {
    out.put(device.rawValue)
    out.putVarint(sequence)
  }

  fileprivate init(_ reader: inout ByteReader) throws(DecodeError) {
    self.init(device: DeviceID(rawValue: try reader.u64()), sequence: try reader.counter())
    guard sequence > 0 else { throw .malformed("a dot without a sequence") }
  }
}

extension VersionVector {
  /// A count, then device u64 and sequence varint of each entry.
  package func encode(into out: inout [UInt8]) {
    out.putVarint(entries.count)
    for dot in entries { dot.encode(into: &out) }
  }

  package init(_ reader: inout ByteReader) throws(DecodeError) {
    self.init()
    for _ in 0..<(try reader.count(minimumSize: 9)) {
      let dot = try Dot(&reader)
      // In any other order each would move those that are there: a million of them take an hour.
      if let last = entries.last, last.device >= dot.device {
        throw .malformed("a vector whose devices are out of order")
      }
      insert(dot)
    }
  }

  /// Exactly these bytes.
  package init(bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    try self.init(&reader)
    guard reader.isAtEnd else { throw .malformed("bytes after a vector") }
  }
}
