/// One way to spoil a file.
enum Mutation: CustomStringConvertible {
  /// Bit `n & 7` of byte `n >> 3`.
  case flip(Int)
  case truncate(Int)
  /// Everything from there on is zero, all ones, or noise.
  case zeroTail(Int)
  case onesTail(Int)
  case noiseTail(Int)
  /// Blocks of 512 bytes: zeroed, a copy of the one before it, exchanged with another.
  case zeroBlock(Int)
  case repeatBlock(Int)
  case swapBlocks(Int, Int)
  /// Bytes behind the end.
  case append(Int, UInt8)
  /// Frames of a segment, by their ranges: exchanged, there twice, taken out.
  case swapFrames(Range<Int>, Range<Int>)
  case repeatFrame(Range<Int>)
  case removeFrame(Range<Int>)

  static let blockSize = 512

  /// The spoilt bytes.
  func applied(_ whole: [UInt8]) -> [UInt8] {
    var bytes = whole
    switch self {
    case .flip(let bit): bytes[bit >> 3] ^= 1 << UInt8(bit & 7)
    case .truncate(let length): bytes.removeSubrange(length...)
    case .zeroTail(let start): for i in start..<bytes.count { bytes[i] = 0 }
    case .onesTail(let start): for i in start..<bytes.count { bytes[i] = 0xFF }
    case .noiseTail(let start):
      for i in start..<bytes.count { bytes[i] = UInt8(truncatingIfNeeded: (i &* 167) ^ (i >> 3)) }
    case .zeroBlock(let number): for i in range(number, bytes) { bytes[i] = 0 }
    case .repeatBlock(let number):
      for i in range(number, bytes) { bytes[i] = whole[i - Mutation.blockSize] }
    case .swapBlocks(let a, let b):
      for (i, j) in zip(range(a, bytes), range(b, bytes)) { bytes.swapAt(i, j) }
    case .append(let count, let byte): bytes += repeatElement(byte, count: count)
    case .swapFrames(let a, let b):
      let between = whole[a.upperBound..<b.lowerBound]
      bytes.replaceSubrange(a.lowerBound..<b.upperBound, with: whole[b] + between + whole[a])
    case .repeatFrame(let frame): bytes.insert(contentsOf: whole[frame], at: frame.upperBound)
    case .removeFrame(let frame): bytes.removeSubrange(frame)
    }
    return bytes
  }

  private func range(_ number: Int, _ bytes: [UInt8]) -> Range<Int> {
    let start = number * Mutation.blockSize
    return start..<min(start + Mutation.blockSize, bytes.count)
  }

  /// A number for the handler of signals, which can't make texts.
  var code: (kind: Int, first: Int) {
    switch self {
    case .flip(let bit): (0, bit)
    case .truncate(let length): (1, length)
    case .zeroTail(let start): (2, start)
    case .onesTail(let start): (3, start)
    case .noiseTail(let start): (4, start)
    case .zeroBlock(let number): (5, number)
    case .repeatBlock(let number): (6, number)
    case .swapBlocks(let a, _): (7, a)
    case .append(let count, _): (8, count)
    case .swapFrames(let a, _): (9, a.lowerBound)
    case .repeatFrame(let frame): (10, frame.lowerBound)
    case .removeFrame(let frame): (11, frame.lowerBound)
    }
  }

  static let names = [
    "flip", "truncate", "zero tail", "ones tail", "noise tail", "zero block", "repeat block",
    "swap blocks", "append", "swap frames", "repeat frame", "remove frame",
  ]

  var name: String { Mutation.names[code.kind] }

  var description: String {
    if case .flip(let bit) = self { return "flip byte \(bit >> 3) bit \(bit & 7)" }
    return "\(name) \(code.first)"
  }

  /// All but flips: of those there are eight a byte, and they are made in place.
  static func others(_ bytes: [UInt8], frames: [Range<Int>]) -> [Mutation] {
    var all: [Mutation] = []
    for place in 0..<bytes.count {
      all += [.truncate(place), .zeroTail(place)]
      if place % 16 == 0 { all += [.onesTail(place), .noiseTail(place)] }
    }
    let blocks = (bytes.count + blockSize - 1) / blockSize
    for block in 0..<blocks {
      all.append(.zeroBlock(block))
      if block > 0 { all.append(.repeatBlock(block)) }
      // Short last blocks are exchanged as far as they go.
      for other in (block + 1)..<max(blocks, block + 1) where other < blocks {
        all.append(.swapBlocks(block, other))
      }
    }
    for count in [1, 7, 8, 512, 4096] { all += [.append(count, 0), .append(count, 0xFF)] }
    for (index, frame) in frames.enumerated() {
      all += [.repeatFrame(frame), .removeFrame(frame)]
      for other in frames[(index + 1)...] { all.append(.swapFrames(frame, other)) }
    }
    return all
  }
}
