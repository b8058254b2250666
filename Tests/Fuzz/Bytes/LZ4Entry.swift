import CairnBytes

/// `unpacked length u16 · block`: the system's decoder beside the one in Swift and the format's
/// definition; and packing by both, which gives back what went in.
enum LZ4Entry {
  static func run(_ bytes: [UInt8]) throws {
    guard bytes.count >= 2 else { return }
    let count = Int(bytes.u16(at: 0))
    let block = Array(bytes[2...])
    // Twice the same bytes in another place: nothing may depend on what lies around a block.
    let padded = [0xAA, 0x55, 0xFF] + block + [0x11, 0x00]
    let found = try? LZ4.unpack(block, 0..<block.count, count: count)
    let moved = try? LZ4.unpack(padded, 3..<(3 + block.count), count: count)
    try FuzzFinding.check(found == moved, "a block unpacks to something else in another place")
    let portable = try? PortableLZ4.unpack(block, 0..<block.count, count: count)
    try FuzzFinding.check(portable == found, "a block unpacks to something else in Swift")
    if let found {
      try FuzzFinding.check(found.count == count, "\(found.count) bytes, not \(count)")
      try FuzzFinding.check(
        defined(block, count) == found, "the format's definition gives something else")
    }
    var packed: [UInt8] = []
    if LZ4.pack(block, 0..<block.count, into: &packed) { try check(packed, block) }
    var own: [UInt8] = []
    if PortableLZ4.pack(block, 0..<block.count, into: &own) { try check(own, block) }
  }

  private static func check(_ packed: [UInt8], _ whole: [UInt8]) throws {
    let back = try? LZ4.unpack(packed, 0..<packed.count, count: whole.count)
    try FuzzFinding.check(back == whole, "what is packed does not unpack")
    let portable = try? PortableLZ4.unpack(packed, 0..<packed.count, count: whole.count)
    try FuzzFinding.check(portable == whole, "what is packed does not unpack in Swift")
    try FuzzFinding.check(defined(packed, whole.count) == whole, "what is packed is no LZ4")
  }

  /// The block format as it is defined, without its rules for the end of a block: everything that a
  /// decoder may take. nil if it is no block of `limit` bytes.
  private static func defined(_ block: [UInt8], _ limit: Int) -> [UInt8]? {
    var reader = ByteReader(block)
    var out: [UInt8] = []
    func length(_ nibble: UInt8) -> Int? {
      var total = Int(nibble)
      guard nibble == 15 else { return total }
      while let byte = try? reader.u8() {
        total += Int(byte)
        if byte < 255 { return total }
      }
      return nil
    }
    while let token = try? reader.u8() {
      guard let literals = length(token >> 4), let range = try? reader.skip(literals) else {
        return nil
      }
      out += block[range]
      if reader.isAtEnd { break }
      guard let offset = try? reader.u16(), offset > 0, Int(offset) <= out.count,
        let match = length(token & 15), out.count + match + 4 <= limit
      else { return nil }
      for _ in 0..<(match + 4) { out.append(out[out.count - Int(offset)]) }
    }
    return out.count == limit ? out : nil
  }
}
