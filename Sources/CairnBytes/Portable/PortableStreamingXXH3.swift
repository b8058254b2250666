/// XXH3-128 of bytes that arrive in pieces; the same value as `PortableXXH3.hash128` of the whole.
///
/// The last block of all is treated differently, and nobody knows that it is the last before the
/// hash is asked for: so a whole block waits here until a byte comes after it.
package struct PortableStreamingXXH3: Sendable {
  private var lanes = XXH3Lanes()
  /// The 64 bytes before the block, which the last stripe may reach back into, and the block.
  private var room = [UInt8](repeating: 0, count: margin + XXH3Lanes.blockSize)
  /// How much of the block is there.
  private var filled = 0
  /// Bytes so far.
  private var total = 0

  private static let margin = XXH3Lanes.stripeSize

  package init() {}

  package mutating func update(_ bytes: [UInt8]) { update(bytes, 0..<bytes.count) }

  package mutating func update(_ bytes: [UInt8], _ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    total &+= range.count
    var start = range.lowerBound
    while start < range.upperBound {
      if filled == XXH3Lanes.blockSize { addWaiting() }
      let left = range.upperBound &- start
      if filled == 0, left > XXH3Lanes.blockSize {
        // Blocks that are known not to be the last are taken from where they are.
        let blocks = (left &- 1) / XXH3Lanes.blockSize
        let end = start &+ blocks &* XXH3Lanes.blockSize
        addBlocks(bytes, start, blocks)
        keep(bytes, (end &- PortableStreamingXXH3.margin)..<end, at: 0)
        start = end
      } else {
        let taken = min(XXH3Lanes.blockSize &- filled, left)
        keep(bytes, start..<(start &+ taken), at: PortableStreamingXXH3.margin &+ filled)
        filled &+= taken
        start &+= taken
      }
    }
  }

  /// The hash of everything so far. More may follow.
  package func digest() -> UInt128 {
    let margin = PortableStreamingXXH3.margin
    if total <= 240 { return PortableXXH3.hash128(room, margin..<(margin + total)) }
    return unsafe room.withUnsafeBytes { room in
      unsafe XXH3Secret.withDefault { secret in
        // There is room for a block, so it has an address.
        guard let start = room.baseAddress else { return 0 }
        var last = lanes
        // The last 64 bytes end where the block does: they begin `filled` bytes into the room.
        unsafe last.addLast(start + margin, filled, lastStripe: start + filled, secret)
        return unsafe XXH3Primes.joined(
          low: last.low(total, secret), high: last.high(total, secret))
      }
    }
  }

  /// The whole block that waits, now that something comes after it.
  private mutating func addWaiting() {
    addBlocks(room, PortableStreamingXXH3.margin, 1)
    // Not by `keep`, for which the room would be copied as a whole.
    unsafe room.withUnsafeMutableBytes { room in
      unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: room[XXH3Lanes.blockSize...]))
    }
    filled = 0
  }

  private mutating func addBlocks(_ bytes: [UInt8], _ start: Int, _ blocks: Int) {
    precondition(start >= 0 && start &+ blocks &* XXH3Lanes.blockSize <= bytes.count)
    unsafe bytes.withUnsafeBytes { input in
      unsafe XXH3Secret.withDefault { secret in
        guard let input = input.baseAddress else { return }
        unsafe lanes.addBlocks(input + start, blocks, secret)
      }
    }
  }

  private mutating func keep(_ bytes: [UInt8], _ range: Range<Int>, at place: Int) {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    precondition(place >= 0 && place &+ range.count <= room.count)
    unsafe bytes.withUnsafeBytes { source in
      unsafe room.withUnsafeMutableBytes { room in
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[place...])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[range]))
      }
    }
  }
}
