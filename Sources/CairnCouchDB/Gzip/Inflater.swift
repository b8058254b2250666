internal import Cairn

/// Unpacks a stream of RFC 1951 that comes in pieces. An own one: the system's library would be one
/// more to install and to link, for something this small.
struct Inflater {
  private var input = BitInput()
  private var state = State.header
  private var isLast = false
  /// The last 32 KiB that came out, and what nobody has taken yet.
  private var window: [UInt8] = []
  private var taken = 0
  private static let windowBytes = 32 << 10

  private enum State {
    case header
    case stored(Int)
    case packed(HuffmanCode, HuffmanCode)
    case end
  }

  /// Something that this stream can't say.
  struct Fault: Error { var what: String }

  var isAtEnd: Bool { if case .end = state { true } else { false } }

  /// Whole bytes behind the end of the stream that were fed.
  mutating func rest() -> [UInt8] {
    input.alignToByte()
    let rest = input.whole(.max >> 4)
    input.drop()
    return rest
  }

  mutating func feed(_ bytes: [UInt8]) { input.append(bytes) }

  /// What can be unpacked so far, at most about so many bytes; empty if more has to be fed.
  mutating func take(_ most: Int) throws(Fault) -> [UInt8] {
    while window.count - taken < most {
      let start = input.position
      guard try step() else {
        input.go(to: start)
        break
      }
      input.drop()
    }
    let out = Array(window[taken...])
    taken = window.count
    if window.count > 4 * Inflater.windowBytes {
      window.removeFirst(window.count - Inflater.windowBytes)
      taken = window.count
    }
    return out
  }

  /// One block's head, or one symbol. False if there is not enough for it, or at the end.
  private mutating func step() throws(Fault) -> Bool {
    switch state {
    case .end: return false
    case .header: return try header()
    case .stored(let count):
      if count == 0 {
        state = isLast ? .end : .header
        return true
      }
      let bytes = input.whole(min(count, Inflater.windowBytes))
      window += bytes
      state = .stored(count - bytes.count)
      return !bytes.isEmpty
    case .packed(let literals, let distances): return try symbol(literals, distances)
    }
  }

  private mutating func header() throws(Fault) -> Bool {
    guard let last = input.bits(1), let kind = input.bits(2) else { return false }
    switch kind {
    case 0:
      input.alignToByte()
      guard let length = input.bits(16), let check = input.bits(16) else { return false }
      guard length ^ check == 0xFFFF else { throw Fault(what: "a block's length is wrong") }
      state = .stored(length)
    case 1:
      guard let literals = Inflater.fixedLiterals, let distances = Inflater.fixedDistances else {
        return false
      }
      state = .packed(literals, distances)
    case 2: if try !dynamicCodes() { return false }
    default: throw Fault(what: "a block is of no known kind")
    }
    isLast = last == 1
    return true
  }

  private static let fixedLiterals = HuffmanCode(
    ([Int](repeating: 8, count: 144) + [Int](repeating: 9, count: 112)
      + [Int](repeating: 7, count: 24) + [Int](repeating: 8, count: 8))[...])
  // Two of its 32 words stand for nothing.
  private static let fixedDistances = HuffmanCode([Int](repeating: 5, count: 32)[...])

  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  private mutating func dynamicCodes() throws(Fault) -> Bool {
    guard let a = input.bits(5), let b = input.bits(5), let c = input.bits(4) else { return false }
    let (literalCount, distanceCount) = (a + 257, b + 1)
    var lengths = [Int](repeating: 0, count: 19)
    for index in 0..<(c + 4) {
      guard let length = input.bits(3) else { return false }
      lengths[Inflater.order[index]] = length
    }
    guard let code = HuffmanCode(lengths[...]) else { throw Fault(what: "a code can't be") }
    var all: [Int] = []
    while all.count < literalCount + distanceCount {
      switch code.next(&input) {
      case .needsMore: return false
      case .invalid: throw Fault(what: "a code's word is unknown")
      case .symbol(let symbol):
        guard symbol > 15 else {
          all.append(symbol)
          continue
        }
        let (value, base, extra) =
          symbol == 16 ? (all.last, 3, 2) : symbol == 17 ? (0, 3, 3) : (0, 11, 7)
        guard let more = input.bits(extra) else { return false }
        guard let value else { throw Fault(what: "a code repeats nothing") }
        all += [Int](repeating: value, count: base + more)
      }
    }
    guard all.count == literalCount + distanceCount, literalCount <= 286, all[256] > 0,
      let literals = HuffmanCode(all[..<literalCount]),
      let distances = HuffmanCode(all[literalCount...])
    else { throw Fault(what: "a code can't be") }
    state = .packed(literals, distances)
    return true
  }

  private static let lengthBase = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
  ]
  private static let lengthExtra = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let distanceBase = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
    3073, 4097, 6145, 8193, 12289, 16385, 24577,
  ]

  private mutating func symbol(
    _ literals: HuffmanCode, _ distances: HuffmanCode
  ) throws(Fault) -> Bool {
    let found: Int
    switch literals.next(&input) {
    case .needsMore: return false
    case .invalid: throw Fault(what: "a word is unknown")
    case .symbol(let symbol): found = symbol
    }
    if found < 256 {
      window.append(UInt8(found))
      return true
    }
    if found == 256 {
      state = isLast ? .end : .header
      return true
    }
    guard found - 257 < Inflater.lengthBase.count else { throw Fault(what: "a length can't be") }
    guard let moreLength = input.bits(Inflater.lengthExtra[found - 257]) else { return false }
    let place: Int
    switch distances.next(&input) {
    case .needsMore: return false
    case .invalid: throw Fault(what: "a distance is unknown")
    case .symbol(let symbol): place = symbol
    }
    guard place < Inflater.distanceBase.count else { throw Fault(what: "a distance can't be") }
    guard let moreDistance = input.bits(place < 4 ? 0 : place / 2 - 1) else { return false }
    let distance = Inflater.distanceBase[place] + moreDistance
    guard distance <= window.count, distance <= Inflater.windowBytes else {
      throw Fault(what: "a distance leads before the beginning")
    }
    for _ in 0..<(Inflater.lengthBase[found - 257] + moreLength) {
      window.append(window[window.count - distance])
    }
    return true
  }
}
