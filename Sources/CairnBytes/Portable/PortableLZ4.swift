/// LZ4 blocks in Swift, written from the LZ4 block format description (doc/lz4_Block_format of
/// lz4/lz4, 2022-07-31): what `LZ4` is where the system has no liblz4 to link, with the same
/// contract. What one of them packs the other unpacks, and they refuse the same blocks.
package enum PortableLZ4 {
  /// A match is at least so long: what is written of its length is what it has more.
  static let leastMatch = 4
  /// "The last 5 bytes of input are always literals."
  static let lastLiterals = 5
  /// "The last match must start at least 12 bytes before the end of block."
  static let lastStart = 12
  /// How far back a match may be.
  static let reach = 65_535

  /// See `LZ4.pack`.
  package static func pack(
    _ bytes: [UInt8], _ range: Range<Int>, into output: inout [UInt8]
  ) -> Bool {
    guard let limit = LZ4.packedLimit(bytes, range) else { return false }
    let start = output.count
    // A copy by whole words may go beyond the limit, never beyond the room.
    output.append(addingCapacity: limit + slack) { room in
      unsafe bytes.withUnsafeBytes { source in
        unsafe room.withUnsafeMutableBufferPointer { target, count in
          guard let from = source.baseAddress, let to = target.baseAddress else { return }
          unsafe count = pack(
            from + range.lowerBound, range.count, UnsafeMutableRawPointer(to), limit)
        }
      }
    }
    return output.count > start
  }

  /// See `LZ4.unpack`.
  package static func unpack(
    _ bytes: [UInt8], _ range: Range<Int>, count: Int
  ) throws(DecodeError) -> [UInt8] {
    try LZ4.check(bytes, range, count: count)
    let result = [UInt8](capacity: count) { room in
      unsafe bytes.withUnsafeBytes { source in
        unsafe room.withUnsafeMutableBufferPointer { target, filled in
          guard let from = source.baseAddress, let to = target.baseAddress else { return }
          if unsafe unpack(
            from + range.lowerBound, range.count, UnsafeMutableRawPointer(to), count)
          {
            filled = count
          }
        }
      }
    }
    guard result.count == count else { throw .malformed("LZ4 block does not unpack to its length") }
    return result
  }
}
