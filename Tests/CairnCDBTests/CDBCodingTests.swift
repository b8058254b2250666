import Cairn
import CairnCDB
import Foundation
import TestSupport
import Testing

@Suite struct CDBCodingTests {
  private struct Trip: Codable, Hashable, Sendable {
    enum Kind: String, Codable { case walk, ride }
    var name: String
    var kind: Kind
    var legs: [Int]
    var notes: [String: String?]
    var photo: [UInt8]
    var length: Double
    var home: Bool?
    var inner: [Trip]
    var extremes: [Int64]
    var largest: UInt64
  }

  private var trip: Trip {
    var trip = Trip(
      name: "Ünder", kind: .ride, legs: [1, -2, 300, 70_000],
      notes: ["a": "x", "b": nil, "aa": ""], photo: [0, 255], length: -0.5, home: nil, inner: [],
      extremes: [.min, .max, 0, -1],
      largest: .max)
    trip.inner = [trip]
    return trip
  }

  @Test func `a Codable value comes back, in one form`() throws {
    let stored = try CDBTaggedBytes.encoded(trip)
    #expect(stored.tag == 4)
    #expect(try stored.decoded(as: Trip.self) == trip)
    for _ in 0..<5 { #expect(try CDBTaggedBytes.encoded(trip) == stored) }
    #expect(try CDBTaggedBytes.encoded(7).decoded(as: Double.self) == 7)
    #expect(try CDBTaggedBytes.encoded([1: "x"]).decoded(as: [Int: String].self) == [1: "x"])
    #expect(try CDBTaggedBytes.encoded(Int?.none).decoded(as: Int?.self) == nil)
  }

  @Test func `the form is CBOR, as other libraries write it`() throws {
    struct Point: Codable {
      var y = 24
      var x = -500
      var name = "é"
      var far = 1.5
      var on = true
    }
    let bytes = try CDBTaggedBytes.encoded(Point()).bytes
    // {"x": -500, "y": 24, "on": true, "far": 1.5, "name": "é"}
    #expect(
      bytes == [
        0xA5, 0x61, 0x78, 0x39, 0x01, 0xF3, 0x61, 0x79, 0x18, 0x18, 0x62, 0x6F, 0x6E, 0xF5, 0x63,
        0x66, 0x61, 0x72, 0xFB, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0, 0x64, 0x6E, 0x61, 0x6D, 0x65, 0x62,
        0xC3, 0xA9,
      ])
  }

  @Test func `bytes of any collection are bytes`() throws {
    let place = try TemporaryDirectory()
    let store = CDBStore<String, Data>(place.path("f"), keys: .text, values: .bytes)
    try store.open()
    try store.set(Data([1, 2, 3]), for: "a")
    try store.close()
    #expect(try CDBFile(place.path("f")).value(for: CDBSample.bytes("a")) == [0, 1, 2, 3])
    try store.open()
    #expect(try store["a"] == Data([1, 2, 3]))
    let other = CDBStore<String, [UInt8]>(place.path("f"), keys: .text, values: .bytes)
    try other.open()
    #expect(try other["a"] == [1, 2, 3])
  }

  @Test func `tags below 32 are reserved`() throws {
    for tag in UInt8.min...31 {
      let error = #expect(throws: CairnError.self) { try CDBTaggedBytes(tag: tag, bytes: []) }
      #expect(error?.code == .illegalArgument)
    }
    #expect(try CDBTaggedBytes(tag: 32, bytes: [1]).tag == 32)
    #expect(CDBTaggedBytes.bytes([1]).tag == 0)
    #expect(CDBTaggedBytes.text("a").tag == 1)
  }

  @Test func `what is of another kind is refused`() throws {
    let text = CDBTaggedBytes.text("a")
    let bytes = #expect(throws: CairnError.self) { try text.plainBytes() }
    #expect(bytes?.code == .badType)
    let number = #expect(throws: CairnError.self) { try text.decoded(as: Int.self) }
    #expect(number?.code == .badType)
    let other = #expect(throws: CairnError.self) {
      try CDBTaggedBytes.encoded("a").decoded(as: Int.self)
    }
    #expect(other?.code == .badType)
    let large = #expect(throws: CairnError.self) {
      try CDBTaggedBytes.encoded(300).decoded(as: UInt8.self)
    }
    #expect(large?.code == .badType)
  }

  @Test func `any bytes may be a value`() throws {
    let whole = try CDBTaggedBytes.encoded(trip)
    let place = try TemporaryDirectory()
    let path = place.path("f")
    var inputs: [[UInt8]] = [[], [4], [9, 9]]
    for length in whole.bytes.indices { inputs.append([4] + whole.bytes.prefix(length)) }
    for offset in whole.bytes.indices {
      var copy = whole.bytes
      copy[offset] ^= 0x55
      inputs.append([4] + copy)
    }
    inputs.append([4] + [UInt8](repeating: 0x81, count: 100_000))
    inputs.append([4, 0x9B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    let writer = try CDBWriter(path)
    for (number, input) in inputs.enumerated() {
      try writer.add(CDBSample.bytes("\(number)"), input)
    }
    try writer.finish()
    let store = CDBStore<Int, Trip>(path, keys: .decimal, values: .codable)
    try store.open()
    var failures = 0
    for number in inputs.indices {
      do throws(CairnError) { _ = try store.value(for: number) } catch {
        #expect(error.code == .corrupt || error.code == .badType)
        #expect(error.file == path)
        failures += 1
      }
    }
    #expect(failures > whole.bytes.count)
  }

  // With a copy of all members for each one it would take many minutes.
  @Test(.timeLimit(.minutes(1)))
  func `a dictionary with 200,000 keys comes back in less than a minute`() throws {
    let numbers = Dictionary(uniqueKeysWithValues: (0..<200_000).map { ("key\($0)", $0) })
    let stored = try CDBTaggedBytes.encoded(numbers)
    let isSame = try stored.decoded(as: [String: Int].self) == numbers
    #expect(isSame)
  }

  private indirect enum Chain: Codable, Equatable, Sendable {
    case end
    case link(Chain)
  }

  @Test func `a value too deep to be read is not written`() throws {
    var chain = Chain.end
    for _ in 0..<20 { chain = .link(chain) }
    _ = try CDBTaggedBytes.encoded(chain).decoded(as: Chain.self)
    for _ in 0..<200 { chain = .link(chain) }
    let error = #expect(throws: CairnError.self) { try CDBTaggedBytes.encoded(chain) }
    #expect(error?.code == .illegalArgument)
  }

  /// The last case has no values: nothing but an empty map lies at the deepest level.
  @Test(arguments: 60...66)
  func `of what lies about as deep as can be read, all that is written is read`(
    links: Int
  ) throws {
    var chain = Chain.end
    for _ in 0..<links { chain = .link(chain) }
    let value = [chain]
    if links <= 62 {
      #expect(try CDBTaggedBytes.encoded(value).decoded(as: [Chain].self) == value)
    } else {
      let error = #expect(throws: CairnError.self) { try CDBTaggedBytes.encoded(value) }
      #expect(error?.code == .illegalArgument)
    }
  }
}
