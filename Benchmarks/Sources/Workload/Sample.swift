/// The 16 bytes of a record's id, as two little-endian halves.
public struct SampleID: Hashable, Sendable {
  public let first, second: UInt64

  @inlinable
  public init(_ number: UInt64) {
    first = mix64(2 &* number &+ 1)
    second = mix64(2 &* number &+ 2)
  }
}

/// One record of the data set.
public struct Sample: Sendable {
  public let id: SampleID
  public let seq, category: Int64
  public let price: Double
  public let done: Bool
  public let owner, note: String
  /// Milliseconds since 1970.
  public let created, modified: Int64

  public init(_ number: UInt64) {
    let seed = 64 &* number
    id = SampleID(number)
    seq = Int64(number)
    category = Int64(mix64(seed &+ 0x1_0000_0000) % 100)
    price = Double(mix64(seed &+ 0x2_0000_0000) % 1_000_000) / 100
    done = mix64(seed &+ 0x3_0000_0000) & 1 == 1
    owner = Self.owner(mix64(seed &+ 0x4_0000_0000) % 1_000)
    note = Self.note(seed)
    created = 1_600_000_000_000 + 37_000 * Int64(number)
    modified = created + Int64(mix64(seed &+ 0x6_0000_0000) % 10_000_000_000)
  }

  private static func owner(_ user: UInt64) -> String {
    String(unsafeUninitializedCapacity: 9) { bytes in
      var rest = user
      for place in stride(from: 8, through: 5, by: -1) {
        bytes[place] = UInt8(48 + rest % 10)
        rest /= 10
      }
      for (place, letter) in "user-".utf8.enumerated() { bytes[place] = letter }
      return 9
    }
  }

  /// Words joined by spaces until there are 128 bytes of them.
  private static func note(_ seed: UInt64) -> String {
    String(unsafeUninitializedCapacity: 160) { bytes in
      let note = UnsafeMutableRawBufferPointer(bytes)
      var length = 0
      var k: UInt64 = 0
      while true {
        let word = words[Int(mix64(seed &+ k &+ 0x5_0000_0000) & 63)]
        note.storeBytes(of: word.letters, toByteOffset: length, as: UInt64.self)
        length += word.length
        if length >= 128 { return length }
        note[length] = UInt8(ascii: " ")
        length += 1
        k += 1
      }
    }
  }
}

/// None is longer than eight letters: one store writes it, and the next word covers the rest.
private let words: [(letters: UInt64, length: Int)] = """
  alpha bread cloud delta eager fable grape house ideal jolly kite lemon maple night ocean paper \
  quiet river stone table under vivid water xenon young zebra amber birch candle dusk ember forest \
  garden harbor island jacket kettle ladder meadow needle orange pencil quartz ribbon saddle \
  timber umbrella velvet window yellow the of and to in is on at by for with from into over
  """.split(separator: " ").map { word in
    (word.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) }.littleEndian, word.utf8.count)
  }
