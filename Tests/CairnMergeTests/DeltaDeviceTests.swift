import CairnBytes
import CairnMerge
import Testing

/// The devices that deltas of one scope name.
struct DeltaDeviceTests {
  private func failure(_ bytes: [UInt8]) -> DecodeError? {
    var decoder = DeltaDecoder()
    var delta = Delta()
    var reader = ByteReader(bytes)
    do {
      try decoder.decode(&reader, dot: delta.dot, into: &delta)
      return reader.isAtEnd ? nil : .malformed("left over")
    } catch { return error }
  }

  /// Time 0, so many dependencies on devices that are new, no tables.
  private func naming(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = [0]
    bytes.putVarint(count)
    for index in 0..<count {
      bytes.putVarint(index)
      bytes.put(UInt64(index) + 1)
      bytes.put(1 as UInt8)
    }
    bytes.put(0 as UInt8)
    return bytes
  }

  @Test func `a scope names no more devices than there may be`() {
    #expect(failure(naming(FormatBounds.devices)) == nil)
    #expect(failure(naming(FormatBounds.devices + 1)) == .malformed("unknown device number"))
  }
}
