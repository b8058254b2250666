import Cairn
import TestSupport
import Testing

/// Every type that a model may have comes back as it was, as the kind of value that it should be.
@Suite struct TypedRoundTripTests {
  private let bench: TypedBench

  init() throws { bench = try TypedBench() }

  struct Numbers: Codable, Sendable, Equatable {
    var flag = true
    var i = Int.min
    var i8 = Int8.min
    var i16 = Int16.max
    var i32 = Int32.min
    var i64 = Int64.max
    var i128 = Int128(-5)
    var u = UInt(7)
    var u8 = UInt8.max
    var u16 = UInt16.max
    var u32 = UInt32.max
    var u64 = UInt64(Int64.max)
    var u128 = UInt128(9)
    var f = Float(0.1)
    var d = -0.0
  }

  @Test func `numbers of every width`() throws {
    let model = Numbers()
    let result = try bench.roundTrip(model)
    #expect(result.fields["flag"] == true)
    #expect(result.fields["i"] == .int(.min))
    #expect(result.fields["u8"] == 255)
    #expect(result.fields["f"] == .double(Double(Float(0.1))))
    #expect(result.fields.count == 15)
    #expect(result.value == model)
    #expect(result.value.d.sign == .minus)
  }

  struct Texts: Codable, Sendable, Equatable {
    var text = "caf\u{e9} 🐦"
    var empty = ""
    var bytes: [UInt8] = [0, 255, 1]
    var moment = Timestamp(millisecondsSince1970: -1)
    var color = Color.green
    var level = Level.high
    var other = RecordID("other/1")
    var any = Value.date(Timestamp(millisecondsSince1970: 5))
  }

  @Test func `text, bytes, dates, enumerations, ids and values`() throws {
    let model = Texts()
    let fields: [String: Value] = [
      "text": "caf\u{e9} 🐦", "empty": "", "bytes": .bytes([0, 255, 1]),
      "moment": .date(Timestamp(millisecondsSince1970: -1)), "color": "green", "level": 5,
      "other": "other/1", "any": .date(Timestamp(millisecondsSince1970: 5)),
    ]
    let result = try bench.roundTrip(model)
    #expect(result.fields == fields)
    #expect(result.value == model)
  }

  struct Lists: Codable, Sendable, Equatable {
    var flags = [true, false]
    var numbers = [1, -2]
    var small: [Int8] = [1, -1]
    var doubles = [1.5, 2]
    var floats: [Float] = [0.5]
    var texts = ["a", "", "b"]
    var blobs: [[UInt8]] = [[], [1, 2]]
    var moments = [Timestamp(millisecondsSince1970: 1)]
    var colors = [Color.red, .green]
    var ids: [RecordID] = ["a", "b"]
    var values: [Value] = [1, 1.0, true, "x"]
    var none: [String] = []
    var unordered: Set<String> = ["c", "a", "b"]
    var contiguous = ContiguousArray([1, 2])
    var whole: Value = [1, "two"]
  }

  @Test func `lists of all of these`() throws {
    let model = Lists()
    let result = try bench.roundTrip(model)
    #expect(result.fields["flags"] == [true, false])
    #expect(result.fields["small"] == [1, -1])
    #expect(result.fields["doubles"] == [1.5, 2.0])
    #expect(result.fields["blobs"] == [.bytes([]), .bytes([1, 2])])
    #expect(result.fields["moments"] == [.date(Timestamp(millisecondsSince1970: 1))])
    #expect(result.fields["values"] == [1, 1.0, true, "x"])
    #expect(result.fields["none"] == nil, "absent is as good as empty")
    #expect(result.fields["unordered"] == ["a", "b", "c"])
    #expect(result.fields["whole"] == [1, "two"])
    #expect(result.value == model)
  }

  struct Optionals: Codable, Sendable, Equatable {
    var b: Bool?
    var s: String?
    var d: Double?
    var f: Float?
    var i: Int?
    var i8: Int8?
    var i16: Int16?
    var i32: Int32?
    var i64: Int64?
    var i128: Int128?
    var u: UInt?
    var u8: UInt8?
    var u16: UInt16?
    var u32: UInt32?
    var u64: UInt64?
    var u128: UInt128?
    var bytes: [UInt8]?
    var moment: Timestamp?
    var color: Color?
    var id: RecordID?
    var list: [String]?
    var value: Value?

    static let full = Optionals(
      b: true, s: "", d: 1, f: 2, i: 3, i8: 4, i16: 5, i32: 6, i64: 7, i128: 8, u: 9, u8: 10,
      u16: 11, u32: 12, u64: 13, u128: 14, bytes: [], moment: Timestamp(millisecondsSince1970: 0),
      color: .red, id: "x", list: [], value: 15)
  }

  @Test func `an optional is absent when it is nil`() throws {
    let result = try bench.roundTrip(Optionals())
    #expect(result.fields.isEmpty)
    #expect(result.value == Optionals())
  }

  @Test func `an optional that has a value is a field`() throws {
    let result = try bench.roundTrip(Optionals.full)
    #expect(result.fields.count == 22)
    #expect(result.value == Optionals.full)
  }

  @Test func `every optional can be removed by an update`() throws {
    let table = try bench.table(of: Optionals.self)
    try table.insert(Optionals.full, id: "a")
    try table.insert(Optionals.full, id: "b")
    try table.update("a", Optionals())
    #expect(try table.update("b") { $0 = Optionals() } == Optionals())
    #expect(try table.table["a"].fields.isEmpty)
    #expect(try table.table["b"].fields.isEmpty)
    #expect(try table.count == 2)
  }

  struct Generic<Content: Codable & Sendable>: Codable, Sendable {
    var content: Content
  }

  @Test func `optionals inside of optionals and of generic types`() throws {
    #expect(try bench.roundTrip(Generic<Int??>(content: 5)).value.content == .some(5))
    let table = try TypedBench().table(of: Generic<[UInt8]?>.self)
    try table.insert(Generic(content: nil), id: "r")
    #expect(try #require(try table.get("r")).content == nil)
    try table.update("r") { $0.content = [1] }
    #expect(try table.table["r"].bytes("content") == [1])
    #expect(try #require(try table.get("r")).content == [1])
    try table.update("r") { $0.content = nil }
    #expect(try table.table["r"].fields.isEmpty)
  }

  struct Celsius: Codable, Sendable, Equatable {
    var degrees: Double
    init(degrees: Double) { self.degrees = degrees }
    init(from decoder: any Decoder) throws {
      degrees = try decoder.singleValueContainer().decode(Double.self)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(degrees)
    }
  }

  struct Stamped: Codable, Sendable, Equatable {
    var at: Timestamp
    init(at: Timestamp) { self.at = at }
    init(from decoder: any Decoder) throws {
      at = try decoder.singleValueContainer().decode(Timestamp.self)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(at)
    }
  }

  struct Measured: Codable, Sendable, Equatable {
    var now: Celsius
    var before: [Celsius]
    var when: Stamped
  }

  @Test func `types that encode as one value`() throws {
    let model = Measured(
      now: Celsius(degrees: 20.5), before: [Celsius(degrees: -3)],
      when: Stamped(at: Timestamp(millisecondsSince1970: 77)))
    let result = try bench.roundTrip(model)
    #expect(result.fields["now"] == 20.5)
    #expect(result.fields["before"] == [-3.0])
    #expect(result.fields["when"] == .date(Timestamp(millisecondsSince1970: 77)))
    #expect(result.value == model)
  }

  struct Plain: Codable, Sendable, Equatable {
    var d: Double
  }

  @Test func `every NaN is the same one`() throws {
    let odd = Double(bitPattern: 0x7ff8_0000_dead_beef)
    let result = try bench.roundTrip(Plain(d: odd))
    #expect(result.value.d.bitPattern == 0x7ff8_0000_0000_0000)
  }

  @Test func `an update with another NaN changes nothing`() throws {
    let table = try bench.table(of: Plain.self)
    try table.insert(Plain(d: .nan), id: "r")
    try bench.datastore.sync()
    try table.update("r", Plain(d: Double(bitPattern: 0x7ff8_0000_dead_beef)))
    #expect(bench.datastore.unsyncedChangesSize == 0)
  }

  @Test func `infinities and the extremes of doubles`() throws {
    let table = try bench.table(of: Plain.self)
    for d in [Double.infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude] {
      let record = try table.insert(Plain(d: d))
      #expect(try table.get(record.id)?.d == d)
    }
  }

  struct Renamed: Codable, Sendable, Equatable {
    var title = "t"
    var skipped = 1
    enum CodingKeys: String, CodingKey { case title = "the-title" }
  }

  @Test func `coding keys are the names of fields`() throws {
    let result = try bench.roundTrip(Renamed())
    #expect(result.fields == ["the-title": "t"])
    #expect(result.value == Renamed())
  }

  @Test func `a dictionary of names can be a model`() throws {
    let model: [String: Value] = ["a": 1, "b": "two", "c": [3]]
    let result = try bench.roundTrip(model)
    #expect(result.value == model && result.fields == model)
  }

  @Test func `a dictionary's update removes what it does not have any more`() throws {
    let table = try bench.table(of: [String: Int].self)
    try table.insert(["a": 1, "b": 2], id: "r")
    try table.update("r") { $0["a"] = nil }
    #expect(try table.table["r"].fields == ["b": 2])
    try table.update("r", ["c": 3])
    #expect(try table.table["r"].fields == ["b": 2, "c": 3])
  }
}
