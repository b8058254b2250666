import CairnBytes
import CairnMerge
import Testing

/// The bytes of vectors, cuts and earlier names: whole, and of parts that fit.
struct MembershipCodingTests {
  private let device = DeviceID(rawValue: 7)
  private var dot: Dot { Dot(device: device, sequence: 3) }

  @Test func `a vector says its dots`() {
    let vector = VersionVector([dot, Dot(device: DeviceID(rawValue: 10), sequence: 1)])
    #expect("\(vector)" == "{0000000000000007.3, 000000000000000a.1}")
    #expect("\(VersionVector())" == "{}")
  }

  @Test func `a vector's bytes end with it, and none of its dots is the noughth`() throws {
    var bytes: [UInt8] = []
    VersionVector([dot]).encode(into: &bytes)
    #expect(try VersionVector(bytes: bytes) == VersionVector([dot]))
    #expect(throws: DecodeError.malformed("bytes after a vector")) {
      try VersionVector(bytes: bytes + [0])
    }
    bytes[bytes.count - 1] = 0
    #expect(throws: DecodeError.malformed("a dot without a sequence")) {
      try VersionVector(bytes: bytes)
    }
  }

  @Test func `a vector's devices are in order, and each is there once`() throws {
    let vector = VersionVector([dot, Dot(device: DeviceID(rawValue: 10), sequence: 1)])
    let cut = Cut(dot: dot, context: vector, members: [device], line: [dot]).encoded
    // A version, a count, two dots of nine bytes, and the rest.
    let (first, second, rest) = (Array(cut[2..<11]), Array(cut[11..<20]), Array(cut[20...]))
    #expect(try VersionVector(bytes: [2] + first + second) == vector)
    for dots in [second + first, first + first, second + second] {
      #expect(throws: DecodeError.malformed("a vector whose devices are out of order")) {
        try VersionVector(bytes: [2] + dots)
      }
      #expect(throws: DecodeError.malformed("a vector whose devices are out of order")) {
        try Cut(dot, [1, 2] + dots + rest)
      }
    }
  }

  @Test func `a cut has itself among what it has seen, its line and its members`() throws {
    let cut = Cut(dot: dot, context: VersionVector([dot]), members: [device], line: [dot])
    #expect(try Cut(dot, cut.encoded) == cut)
    let other = Dot(device: DeviceID(rawValue: 8), sequence: 1)
    let wrong = [
      Cut(dot: dot, context: VersionVector([other]), members: [device], line: [dot]),
      Cut(dot: dot, context: VersionVector([dot]), members: [other.device], line: [dot]),
      Cut(dot: dot, context: VersionVector([dot]), members: [device], line: [dot, other]),
      Cut(dot: dot, context: VersionVector([dot]), members: [device], line: []),
    ].map(\.encoded)
    for bytes in wrong + [cut.encoded + [0]] {
      #expect(throws: DecodeError.malformed("a cut's parts do not fit")) { try Cut(dot, bytes) }
    }
    var newer = cut.encoded
    newer[0] = 9
    #expect(throws: DecodeError.newer("a cut of another version")) { try Cut(dot, newer) }
  }

  @Test func `an earlier name's bytes end with it`() throws {
    let name = EarlierName(device, next: DeviceID(rawValue: 8), common: 4)
    #expect(try EarlierName(device, name.encoded) == name)
    #expect(throws: DecodeError.malformed("bytes after a name")) {
      try EarlierName(device, name.encoded + [0])
    }
  }

  @Test func `of several names that came before one the least is taken, and circles end`() {
    var book = CutBook()
    let names = (1...4).map { DeviceID(rawValue: $0) }
    book.earlierNames[names[1]] = EarlierName(names[1], next: names[0], common: 1)
    book.earlierNames[names[2]] = EarlierName(names[2], next: names[0], common: 1)
    book.earlierNames[names[3]] = EarlierName(names[3], next: names[1], common: 1)
    #expect(book.earlierNames(of: names[0]).map(\.name) == [names[1], names[3]])
    book.earlierNames[names[0]] = EarlierName(names[0], next: names[3], common: 1)
    #expect(book.earlierNames(of: names[0]).map(\.name) == [names[1], names[3], names[0]])
  }
}
