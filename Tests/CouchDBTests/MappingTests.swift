import Cairn
import CairnDisk
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// What becomes of JSON in records, and that it comes back.
@Suite struct MappingTests {
  /// What a document with these members is given back as, over the wire and through the disk.
  private func roundTrip(
    _ members: String, _ place: CouchPlace = .memory, limits: Limits = CouchWorld.limits
  ) async throws -> (json: String, fields: [String: Value], parts: Int) {
    let world = try await CouchWorld(place, limits: limits)
    let revision = try await world.put("doc", members)
    try await world.pull()
    let store = try world.store()
    let database = try store.database("notes")
    let document = try #require(try database.document("doc"))
    let json = try document.json
    let (fields, parts) = (try document.record.fields, try database.partsTable.count)
    try store.datastore.close()
    await world.end()
    let head = #"{"_id":"doc","_rev":"\#(revision)""#
    #expect(json.hasPrefix(head))
    let rest = json.dropFirst(head.utf8.count)
    return ("{" + rest.drop { $0 == "," }, fields, parts)
  }

  @Test(
    arguments: [
      "{}", #"{"a":1}"#, #"{"b":1,"a":2}"#, #"{"z":null,"a":[],"m":{}}"#,
      #"{"nested":{"deep":[1,[2,{"x":null}]],"":""},"list":[1,2.5,true,"x"],"mixed":[1,null]}"#,
      #"{"name with space":1,"ünï":2,":colon":3}"#,
      #"{"text":"line\nquote\"back\\slash\ttab ☃ 😀"}"#, #"{"a":-0.0,"b":0.1,"c":-7,"d":1.5}"#,
      #"{"x":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}"#,
      #"{"int":9223372036854775807,"min":-9223372036854775808}"#,
    ], CouchPlace.all)
  func `a document comes back as it was, in its order`(
    _ members: String, _ place: CouchPlace
  ) async throws {
    #expect(try await roundTrip(members, place).json == members)
  }

  /// A real server may spell numbers in its own way before anybody sees them.
  @Test(
    arguments: [
      #"{"a":1e2,"b":1E+2,"c":100.0,"d":0.10,"e":-0}"#, #"{"big":123456789012345678901234567890}"#,
      #"{"huge":1e999,"tiny":1e-999}"#, #"{"half":"\ud800","a":1}"#,
      #"{"twin":1,"x":true,"twin":{"second":2}}"#, #"{"a":[1,1e2],"b":[1e999]}"#,
      #"{"text":"café"}"#,
    ])
  func `numbers, twins and odd strings keep their spelling`(_ members: String) async throws {
    #expect(try await roundTrip(members).json == members)
  }

  @Test func `what a field can hold is one, of its type`() async throws {
    let (_, fields, _) = try await roundTrip(
      #"{"s":"x","i":3,"d":2.5,"e":1e2,"b":true,"l":["a",1,false],"n":null,"o":{"x":1},"m":[[1]]}"#)
    #expect(fields["s"] == "x")
    #expect(fields["i"] == 3)
    #expect(fields["d"] == 2.5)
    // Spelled otherwise than it would be here: a field, and its spelling in the rest.
    #expect(fields["e"] == 100.0)
    #expect(fields["b"] == true)
    #expect(fields["l"] == ["a", 1, false])
    for name in ["n", "o", "m"] { #expect(fields[name] == nil) }
    let rest = #"["s","i","d",["e",1e2],"b","l",["n",null],["o",{"x":1}],["m",[[1]]]]"#
    #expect(fields[":json"] == .string(rest))
  }

  @Test(arguments: CouchPlace.all)
  func `fields in the order of their names need no rest`(_ place: CouchPlace) async throws {
    let (_, fields, _) = try await roundTrip(#"{"a":1,"b":"x","c":[1]}"#, place)
    #expect(Set(fields.keys) == ["a", "b", "c", ":rev"])
  }

  @Test(arguments: CouchPlace.all)
  func `a document larger than a record comes in parts, and back`(_ place: CouchPlace) async throws
  {
    let text = String(repeating: "Stones on a heap. ", count: 30_000)
    let members =
      #"{"type":"book","text":"\#(text)","pages":[{"n":1},{"n":2}],"short":"x","more":"\#(text)"}"#
    let (json, fields, parts) = try await roundTrip(members, place)
    #expect(json == members)
    #expect(fields["type"] == "book")
    #expect(fields["short"] == "x")
    #expect(fields["text"] == nil)
    #expect(parts > 10)
  }

  @Test(arguments: CouchPlace.all)
  func `a document larger than a delta comes in several, and its last parts go with it`(
    _ place: CouchPlace
  ) async throws {
    let limits = Limits(
      recordBytes: 20_000, recordCount: 100_000, datastoreBytes: 1 << 30, deltaBytes: 100_000)
    let world = try await CouchWorld(place, limits: limits)
    let text = String(repeating: "0123456789", count: 50_000)
    var revision = try await world.put("big", #"{"type":"t","text":"\#(text)"}"#)
    try await world.put("small", "{}")
    try await world.pullAndLook { database throws in
      #expect(try database.document("big")?.json.contains(text) == true)
      #expect(try database.partsTable.count > 40)
      #expect(try database.state?.writing == nil)
    }
    revision = try await world.put(
      "big", #"{"type":"t","text":"\#(text.dropLast(1000))"}"#, over: revision)
    try await world.pullAndLook { database throws in
      #expect(try database.document("big")?.json.contains(text) == false)
      #expect(try database.document("big")?.json.contains(text.dropLast(1000)) == true)
      let count = try database.partsTable.count
      let parts = try database.document("big")?.record.int(":parts")
      #expect(Int64(count) == parts)
    }
    revision = try await world.put("big", #"{"type":"t"}"#, over: revision)
    try await world.pullAndLook {
      try #expect($0.partsTable.count == 0)
    }
    revision = try await world.put("big", #"{"text":"\#(text)"}"#, over: revision)
    try await world.pull()
    try await world.delete("big", revision)
    try await world.pullAndLook {
      try #expect($0.partsTable.count == 0)
    }
    await world.end()
  }

  /// With the first the rest is in the record, with the second in parts.
  @Test(arguments: [1, 9000])
  func `a document that is read while it is replaced is one of its revisions`(
    _ bytes: Int
  ) async throws {
    let limits = Limits(recordBytes: 4096, datastoreBytes: 1 << 30, deltaBytes: 16 << 20)
    let world = try await CouchWorld(limits: limits)
    let store = try world.store()
    let database = try store.database("notes", url: world.url)
    // Neighbours differ in a field, in the rest, and in what it names.
    let all = (1...500).map { number in
      let (name, letter) = number % 2 == 0 ? ("even", "e") : ("odd", "o")
      let text = String(repeating: letter, count: bytes)
      return #"{"_id":"d","_rev":"\#(number)-x","\#(name)":1,"n":null,"text":"\#(text)"}"#
    }
    _ = try database.write(JSONText(Array(all[0].utf8)), leaves: [])
    let document = try #require(try database.document("d"))
    let known = Set(all)
    let isDone = Flag()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        do {
          for text in all { _ = try database.write(JSONText(Array(text.utf8)), leaves: []) }
        } catch { Issue.record(error) }
        isDone.raise()
      }
      group.addTask {
        do {
          repeat {
            let json = try document.json
            guard known.contains(json) else {
              Issue.record("\(json.prefix(80))")
              return
            }
          } while !isDone.isUp
        } catch { Issue.record(error) }
      }
    }
    #expect(try document.json == all.last)
    #expect(try database.partsTable.count == (bytes == 1 ? 0 : 5))
    try store.datastore.close()
  }

  @Test func `a document that is gone is not found, and one that lacks a part is corrupt`()
    async throws
  {
    let world = try await CouchWorld()
    try await world.put("a", #"{"z":null,"a":1}"#)
    try await world.put("b", #"{"text":"\#(String(repeating: "x", count: 200_000))"}"#)
    try await world.pullAndLook { database throws in
      let a = try #require(try database.document("a"))
      let b = try #require(try database.document("b"))
      try database.delete(try #require(try database.partsTable.query().first))
      #expect { try b.json } throws: { ($0 as? CairnError)?.code == .corrupt }
      for id in ["a", "b"] { #expect(try database.remove(document: id)) }
      #expect(try database.partsTable.count == 0)
      #expect { try a.json } throws: { ($0 as? CairnError)?.code == .notFound }
      #expect { try b.json } throws: { ($0 as? CairnError)?.code == .notFound }
    }
  }

  @Test(arguments: [Int64(1 << 20) + 1, Int64.max])
  func `a record that names more parts than there can be is corrupt, and can be removed`(
    _ count: Int64
  ) async throws {
    let world = try await CouchWorld()
    try await world.put("b", #"{"text":"\#(String(repeating: "x", count: 200_000))"}"#)
    try await world.pullAndLook { database throws in
      let b = try #require(try database.document("b"))
      var fields: [String: Value] = [:]
      for (name, value) in try b.record.fields { fields[name] = value }
      fields[DocumentField.parts] = .int(count)
      try database.put(database.table, DocumentID.record("b"), fields)
      #expect { try b.json } throws: { ($0 as? CairnError)?.code == .corrupt }
      #expect(try database.remove(document: "b"))
      #expect(try database.partsTable.count == 0)
    }
  }

  @Test(arguments: CouchPlace.all)
  func `parts that a kill left are cleared away`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    try await world.put("a", #"{"x":1}"#)
    try await world.pull()
    let store = try world.store()
    let database = try store.database("notes")
    let prefix = DocumentID.parts("a", "9-gone")
    for number in 0..<3 {
      try database.partsTable.insert(["bytes": .bytes([1])], id: RecordID(prefix + "\(number)"))
    }
    var state = try #require(try database.state)
    state.writing = prefix + " a"
    try database.keep(state)
    try store.datastore.sync()
    try await world.follower(store).pull()
    #expect(try database.partsTable.count == 0)
    #expect(try database.state?.writing == nil)
    #expect(try database.ids() == ["a"])
    try store.datastore.close()
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `a document with more bytes than an answer may have is named, and comes later`(
    _ place: CouchPlace
  ) async throws {
    let world = try await CouchWorld(place)
    try await world.put("a", "{}")
    try await world.put("big", #"{"text":"\#(String(repeating: "x", count: 20_000))"}"#)
    let report = try await world.pull {
      $0.answerBytes = 4096
    } look: { database throws in
      #expect(try database.ids() == ["a"])
      #expect(try database.statistics().waitingDocuments == 1)
    }
    #expect(report.documents == 1)
    #expect(report.problems.contains { $0.contains("the document big has more than 4096 bytes") })
    let next = try await world.pullAndLook { database throws in
      #expect(try database.ids() == ["a", "big"])
      #expect(try database.statistics().waitingDocuments == 0)
    }
    #expect(next.documents == 1)
    await world.end()
  }

  @Test(
    arguments: [
      "", "{", "}", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "01", "1.", ".5", "+1", "1e", "nul",
      "\"", "\"\\x\"", "\"\\u12\"", "\"\u{1}\"", "[1 2]", "{\"a\":1,}", "[1]]", "{\"a\":1]", "--1",
      "tru e",
    ])
  func `what is no JSON is refused`(_ text: String) {
    #expect(throws: CairnError.self) { try JSONText(Array(text.utf8)) }
  }

  /// All that can be asked of a value and of what is in it; what was taken for JSON is some.
  private func takeApart(_ json: JSONText) throws {
    _ = (json.string, json.bool, json.int, json.double, json.isNull)
    for item in try json.items() + json.members().flatMap({ [$0.name, $0.value] }) {
      #expect(try JSONText(Array(item.spelling)).text == item.text)
      try takeApart(item)
    }
  }

  @Test func `any byte changed, left out or added is refused, or JSON all the same`() throws {
    let text =
      #"{"a":[1,-2.5e3,true,null,"x\u00e9\ud83d\ude00\n"],"b":{"":{},"é":[[]]}, "c" : -0.0 }"#
    let whole = Array(text.utf8)
    var refused = 0
    for place in whole.indices {
      var changed: [[UInt8]] = []
      for mask: UInt8 in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80] {
        changed.append(whole)
        changed[changed.count - 1][place] ^= mask
      }
      changed.append(Array(whole[..<place]))
      changed.append(Array(whole[..<place] + whole[(place + 1)...]))
      changed.append(Array(whole[..<place] + whole[place...].prefix(1) + whole[place...]))
      for bytes in changed {
        guard let json = try? JSONText(bytes) else {
          refused += 1
          continue
        }
        try takeApart(json)
      }
    }
    #expect(refused > 5 * whole.count)
    try takeApart(try JSONText(whole))
  }

  @Test func `bytes that are no text are refused, and depth is no trap`() throws {
    #expect(throws: CairnError.self) { try JSONText([0x22, 0xFF, 0x22]) }
    let depth = 100_000
    let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    #expect(try JSONText(Array(deep.utf8)).items().count == 1)
    #expect(throws: CairnError.self) { try JSONText(Array(deep.dropLast().utf8)) }
    #expect(try JSONText(Array(#" "\u0041\ud83d\ude00\n" "#.utf8)).string == "A😀\n")
    #expect(try JSONText(Array(#""\ude00""#.utf8)).string == nil)
  }

  @Test(
    arguments: [
      ("\"\u{E9}\"", "\"e\u{301}\""), ("0.0", "-0.0"), ("[1,\"\u{E9}\"]", "[1,\"e\u{301}\"]"),
      ("[0.0,1.5]", "[-0.0,1.5]"), ("{\"x\":\"\u{E9}\"}", "{\"x\":\"e\u{301}\"}"),
      ("{\"x\":[0.0]}", "{\"x\":[-0.0]}"), ("1", "1.0"), ("true", "1"),
    ])
  func `a change between values that count as equal is one`(_ old: String, _ new: String)
    async throws
  {
    let world = try await CouchWorld()
    var revision = try await world.put("doc", "{\"v\":\(old)}")
    for value in [old, new, old] {
      if value.utf8.elementsEqual(new.utf8) || revision.first != "1" {
        revision = try await world.put("doc", "{\"v\":\(value)}", over: revision)
      }
      let wanted = "{\"_id\":\"doc\",\"_rev\":\"\(revision)\",\"v\":\(value)}"
      try await world.pullAndLook { database throws in
        let json = try #require(try database.document("doc")).json
        #expect(Array(json.utf8) == Array(wanted.utf8))
      }
      // Not only in memory.
      let store = try world.store()
      let json = try #require(try store.database("notes").document("doc")).json
      try store.datastore.close()
      #expect(Array(json.utf8) == Array(wanted.utf8))
    }
  }

  @Test func `lists are taken apart only as far as there is room`() throws {
    let list = try JSONText(Array("[1,[2],{\"x\":3}]".utf8))
    #expect(try list.items(atMost: 2) == nil)
    #expect(try list.items(atMost: 3)?.map(\.text) == ["1", "[2]", "{\"x\":3}"])
    let long = "{\"l\":[" + [String](repeating: "1", count: 5000).joined(separator: ",") + "]}"
    let mapping = try DocumentMapping(JSONText(Array(long.utf8)), room: 4000, first: [])
    #expect(mapping.fields.isEmpty)
    let members = try DocumentMapping.members(fields: [:], rest: mapping.rest)
    #expect(members == Array(long.utf8.dropFirst().dropLast()))
    // Brackets of two kinds, very deep.
    let (open, close) = ("[{\"a\":", "}]")
    let deep =
      String(repeating: open, count: 50_000) + "1" + String(repeating: close, count: 50_000)
    #expect(try JSONText(Array(deep.utf8)).isArray)
    #expect(throws: CairnError.self) { try JSONText(Array(deep.utf8.dropLast()) + [0x7D]) }
  }
}
