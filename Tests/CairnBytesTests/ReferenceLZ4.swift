import CairnBytes

/// The LZ4 block format as its description has it, one byte after the other.
enum ReferenceLZ4 {
  /// Appends a sequence; the last one has no match.
  static func put(_ block: inout [UInt8], _ literals: [UInt8], offset: Int = 0, match: Int = 0) {
    let more = max(0, match - 4)
    block.append(UInt8(min(literals.count, 15) << 4 | min(more, 15)))
    putMore(&block, literals.count)
    block += literals
    if match == 0 { return }
    block.put(UInt16(offset))
    putMore(&block, more)
  }

  private static func putMore(_ block: inout [UInt8], _ length: Int) {
    guard length >= 15 else { return }
    block += [UInt8](repeating: 255, count: (length - 15) / 255)
    block.append(UInt8((length - 15) % 255))
  }

  /// What a block unpacks to, or nil if it is none of so many bytes. `asWritten`: nor if it ends in
  /// another way than a writer may end it.
  static func unpack(_ block: [UInt8], _ count: Int, asWritten: Bool = false) -> [UInt8]? {
    var reader = ByteReader(block)
    var out: [UInt8] = []
    var (lastStart, lastEnd) = (0, 0)
    while let token = try? reader.u8() {
      guard let literals = length(token >> 4, &reader), let range = try? reader.skip(literals)
      else { return nil }
      out += block[range]
      if reader.isAtEnd {
        let isWritten = lastEnd == 0 || (lastStart + 12 <= count && lastEnd + 5 <= count)
        return out.count == count && (isWritten || !asWritten) ? out : nil
      }
      guard let offset = try? reader.u16(), offset > 0, Int(offset) <= out.count,
        let match = length(token & 15, &reader), out.count + match + 4 <= count
      else { return nil }
      lastStart = out.count
      for _ in 0..<(match + 4) { out.append(out[out.count - Int(offset)]) }
      lastEnd = out.count
    }
    return nil
  }

  private static func length(_ nibble: UInt8, _ reader: inout ByteReader) -> Int? {
    var total = Int(nibble)
    guard nibble == 15 else { return total }
    while let byte = try? reader.u8() {
      total += Int(byte)
      if byte < 255 { return total }
    }
    return nil
  }
}
