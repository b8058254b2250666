import Cairn
import Foundation
import TestSupport
import Testing

/// Apps that use Foundation have its types in their models, though the library does not import it;
/// and the library's types work with other coders.
@Suite struct TypedFoundationTests {
  struct Photo: Codable, Sendable, Equatable {
    var taken: Foundation.Date
    var pixels: Foundation.Data
    var name: UUID
    var seen: [Foundation.Date]
    var parts: [Foundation.Data]
    var deleted: Foundation.Date?
    var thumbnail: Foundation.Data?
  }

  private static let photo = Photo(
    taken: Date(timeIntervalSinceReferenceDate: 700_000_000.25),
    pixels: Data([1, 2, 255]), name: UUID(),
    seen: [Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: -1.5)],
    parts: [Data(), Data([7])])

  @Test func `dates, data and UUIDs`() throws {
    let bench = try TypedBench()
    let photo = TypedFoundationTests.photo
    let fields: [String: Value] = [
      "taken": .date(Timestamp(millisecondsSince1970: 1_678_307_200_250)),
      "pixels": .bytes([1, 2, 255]), "name": .string(photo.name.uuidString),
      "seen": [
        .date(Timestamp(millisecondsSince1970: 978_307_200_000)),
        .date(Timestamp(millisecondsSince1970: 978_307_198_500)),
      ],
      "parts": [.bytes([]), .bytes([7])],
    ]
    let result = try bench.roundTrip(photo)
    #expect(result.value == photo)
    #expect(result.fields == fields)
  }

  @Test func `dates are kept to the millisecond, and again the same`() throws {
    let bench = try TypedBench()
    let table = try bench.table(of: Photo.self)
    var photo = TypedFoundationTests.photo
    for seconds in [0.0004, 0.0006, -0.0004, 812_345_678.123456, -63_113_904_000.7] {
      photo.taken = Date(timeIntervalSinceReferenceDate: seconds)
      let id = try table.insert(photo).id
      let kept = try #require(try table.get(id))
      #expect(abs(kept.taken.timeIntervalSinceReferenceDate - seconds) <= 0.00051)
      try bench.datastore.sync()
      try table.update(id, kept)
      #expect(bench.datastore.unsyncedChangesSize == 0, "\(seconds)")
      try table.update(id, photo)
      #expect(bench.datastore.unsyncedChangesSize == 0, "\(seconds)")
    }
    for date in [Foundation.Date.distantPast, .distantFuture] {
      photo.taken = date
      #expect(try table.get(try table.insert(photo).id)?.taken == date)
    }
  }

  @Test func `the last dates that a field can hold stay while another field changes`() throws {
    struct Event: Codable, Sendable {
      var title: String
      var when: Foundation.Date
    }
    let bench = try TypedBench()
    let table = try bench.table(of: Event.self)
    for milliseconds in [Int64.max, Int64.max - 511, Int64.min] {
      let when = Value.date(Timestamp(millisecondsSince1970: milliseconds))
      let id = RecordID("r\(milliseconds)")
      try table.table.insert(fields: ["title": "old", "when": when], id: id)
      try table.update(id) { $0.title = "new" }
      #expect(try table.table[id].fields == ["title": "new", "when": when])
    }
    let last = RecordID("r\(Int64.max)")
    try bench.datastore.sync()
    try table.update(last, try #require(try table.get(last)))
    #expect(bench.datastore.unsyncedChangesSize == 0)
  }

  @Test func `a date that is no number of milliseconds is refused`() throws {
    let bench = try TypedBench()
    for seconds in [Double.nan, .infinity, 1e30] {
      var photo = TypedFoundationTests.photo
      photo.taken = Date(timeIntervalSinceReferenceDate: seconds)
      let error = try bench.writingError(photo)
      #expect(error?.code == .badType)
      #expect(error?.message.hasPrefix("table things, record r, field taken: a date ") == true)
    }
  }

  @Test func `other types found in place of Foundation's`() throws {
    let bench = try TypedBench()
    let table = try bench.table(of: Photo.self)
    try table.insert(TypedFoundationTests.photo, id: "r")
    let wrong: [String: Value] = [
      "taken": 5.0, "pixels": "text", "name": "no UUID", "seen": [.double(1)],
      "parts": ["x"],
    ]
    for (field, value) in wrong {
      let right = try table.table["r"].get(field)
      try table.table["r"].set(field, value)
      let error = #expect(throws: CairnError.self) { try table.get("r") }
      #expect(error?.code == .badType)
      #expect(
        error?.message.hasPrefix("table things, record r, field \(field)") == true, "\(field)")
      try table.table["r"].set(field, right)
    }
    #expect(try table.get("r") == TypedFoundationTests.photo)
  }

  struct Link: Codable, Sendable {
    var url: URL
  }

  @Test func `a URL is refused, since it encodes as two fields`() throws {
    let bench = try TypedBench()
    let error = try bench.writingError(Link(url: try #require(URL(string: "https://a.b/c"))))
    #expect(error?.code == .badType)
    #expect(error?.message.hasPrefix("table things, record r, field url: URL has fields") == true)
  }

  @Test func `the library's types in another coder`() throws {
    struct All: Codable, Equatable {
      var values: [Value]
      var id: RecordID
      var moment: Timestamp
    }
    let all = All(
      values: [
        true, 1, 1.0, "x", .bytes([1, 255]), .date(Timestamp(millisecondsSince1970: 5)),
        [1, "y"],
      ], id: "r/1", moment: Timestamp(millisecondsSince1970: -7))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let json = try encoder.encode(all)
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"{"id":"r\/1","moment":-7,"values":[{"bool":true},{"int":1},{"double":1},"#
        + #"{"string":"x"},{"bytes":[1,255]},{"date":5},{"list":[{"int":1},{"string":"y"}]}]}"#)
    #expect(try JSONDecoder().decode(All.self, from: json) == all)
    for bad in ["{}", #"{"int":1,"bool":true}"#, #"{"other":1}"#, #"{"int":"x"}"#, "5"] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(Value.self, from: Data(bad.utf8))
      }
    }
  }
}
