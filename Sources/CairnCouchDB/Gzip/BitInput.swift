/// Bits of a stream that comes in pieces: what is not there yet is nil, and whoever asked goes back
/// to where it began and asks again when there is more.
struct BitInput {
  private var bytes: [UInt8] = []
  /// The next bit, counted from the first byte that is kept.
  private(set) var position = 0

  mutating func append(_ more: [UInt8]) { bytes += more }

  /// Bits that are there.
  var available: Int { bytes.count * 8 - position }

  mutating func go(to position: Int) { self.position = position }

  /// Forgets what was read; positions change.
  mutating func drop() {
    let whole = position / 8
    guard whole > 32 << 10 else { return }
    bytes.removeFirst(whole)
    position -= whole * 8
  }

  /// The lowest bit comes first.
  mutating func bits(_ count: Int) -> Int? {
    guard available >= count else { return nil }
    var value = 0
    var got = 0
    while got < count {
      let (byte, bit) = (position >> 3, position & 7)
      let taken = min(8 - bit, count - got)
      value |= (Int(bytes[byte]) >> bit & ((1 << taken) - 1)) << got
      got += taken
      position += taken
    }
    return value
  }

  mutating func alignToByte() { position = (position + 7) & ~7 }

  /// Up to so many whole bytes that are there; from the beginning of one.
  mutating func whole(_ count: Int) -> [UInt8] {
    let start = position >> 3
    let end = min(bytes.count, start + count)
    position = end * 8
    return Array(bytes[start..<end])
  }
}
