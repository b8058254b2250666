import TestSupport
import Testing

@Suite struct BadInputTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  struct Case: CustomTestStringConvertible, Sendable {
    var text: [UInt8]
    var line: Int
    var column: Int
    var message: String

    init(_ text: String, _ line: Int, _ column: Int, _ message: String) {
      self.init(Array(text.utf8), line, column, message)
    }

    init(_ text: [UInt8], _ line: Int, _ column: Int, _ message: String) {
      self.text = text
      self.line = line
      self.column = column
      self.message = message
    }

    var testDescription: String { "\(line):\(column): \(message)" }
  }

  static let csv = [
    Case("", 1, 1, "names the columns"),
    Case("\n\n", 1, 1, "names the columns"),
    Case("k,a\n1,2\n3\n", 3, 1, "1 cell, but the header names 2 columns"),
    Case("k,a\n1,2,3\n", 2, 1, "3 cells"),
    Case("k,a\nü,2\n", 2, 1, "the id of a record"),
    Case("k,a\n1,ü\"2\n", 2, 4, "a quote inside a cell"),
    Case("k,a\n1,\"2\"3\n", 2, 6, "text after the closing quote"),
    Case("k,a\n1,x\n2,\"open\n3,y\n", 3, 3, "never closed"),
    Case("k,a\n1,x\ry\n", 2, 4, "carriage return"),
    Case("k,a\n1,\0\n", 2, 3, "NUL"),
    Case(Array("k,a\n1,x".utf8) + [0xFF, 0x0A], 2, 3, "UTF-8"),
    Case("k,a,a\n", 1, 5, "two columns"),
    Case("k,a b\n", 1, 3, "the name of a field"),
    Case("k,\n", 1, 3, "the name of a field"),
    Case("key,a\n1,2\n", 1, 1, "no column is named \"k\""),
    Case("k,a\n1,2\n1,3\n", 3, 1, "an earlier row has the id"),
    Case("k,a\n,2\n", 2, 1, "the id of a record"),
  ]

  static let jsonLines = [
    Case("{\"k\":\"1\"}\n{\"k\":\"2\",\"a\":{\"b\":1}}\n", 2, 14, "can't hold an object"),
    Case("{\"k\":\"1\",\"a\":[[1]]}", 1, 14, "a list can't hold a list"),
    Case("{\"k\":\"1\",\"a\":[null]}", 1, 14, "a list can't hold null"),
    Case("{\"k\":\"1\",\"a\":{\"$date\":1.5}}", 1, 14, "neither"),
    Case("{\"k\":\"1\",\"a\":{\"$bytes\":\"AA=A\"}}", 1, 14, "base 64"),
    Case("{\"k\":\"1\",\"a\":9223372036854775808}", 1, 14, "beyond 64 bits"),
    Case("{\"k\":\"1\",\"a\":1e400}", 1, 14, "beyond the range"),
    Case("{\"k\":\"1\",\"a\":01}", 1, 14, "isn't a number"),
    Case("{\"k\":\"1\",\"a\":+1}", 1, 14, "can't start here"),
    Case("{\"k\":\"1\",\"ü\":tru}", 1, 14, "neither true"),
    Case("{\"k\":\"1\",}", 1, 10, "a name in quotes"),
    Case("{\"k\":\"1\"", 1, 9, "isn't closed"),
    Case("{\"k\":\"1\"} x", 1, 11, "more text"),
    Case("{\"k\":\"1\",\"k\":\"2\"}", 1, 10, "comes twice"),
    Case("{\"k\":\"1\",\"a\":\"\\ud800\"}", 1, 15, "surrogate"),
    Case("{\"k\":\"1\",\"a\":\"\\x\"}", 1, 15, "no such escape"),
    Case("{\"k\":\"1\",\"a\":\"\u{1}\"}", 1, 15, "control character"),
    Case("{\"k\":\"1\",\"a\":\"x", 1, 14, "isn't closed"),
    Case(Array("{\"k\":\"1\",\"a\":\"".utf8) + [0xC3, 0x22, 0x7D], 1, 14, "UTF-8"),
    Case("[1]\n", 1, 1, "each line is a JSON object"),
    Case("{\"a\":1}\n", 1, 1, "the key \"k\" is missing"),
    Case("{\"k\":true}\n", 1, 6, "a string or an integer"),
    Case("{\"k\":\"1\",\"a b\":1}", 1, 16, "the name of a field"),
    Case(
      "{\"k\":\"1\",\"a\":" + String(repeating: "[", count: 100_000), 1, 77, "nested more than"),
  ]

  @Test(arguments: csv)
  func `malformed CSV is refused with its place`(bad: Case) throws {
    try expectRefusal(bad, "in.csv")
  }

  @Test(arguments: jsonLines)
  func `malformed JSON is refused with its place`(bad: Case) throws {
    try expectRefusal(bad, "in.jsonl")
  }

  private func expectRefusal(_ bad: Case, _ name: String) throws {
    let file = try scratch.write(name, bad.text)
    let text = try scratch.cairn("import", "t", file, "--key", "k")
    #expect(text.status == 1)
    #expect(text.errors.contains("\(file):\(bad.line):\(bad.column): "))
    #expect(text.errors.contains(bad.message))
    #expect(!scratch.exists("root"))
    let outcome = try scratch.cairn("import", "t", file, "--key", "k", "--json")
    let error = try #require(try json(outcome.errors)["error"] as? [String: Any])
    #expect(error["line"] as? Int == bad.line)
    #expect(error["column"] as? Int == bad.column)
  }

  @Test func `a bad last row leaves the table as it was`() throws {
    let good = try scratch.write("good.csv", "k,a\n1,1\n2,2\n")
    try scratch.succeed("import", "t", good, "--key", "k")
    let before = try scratch.succeed("export", "t")
    let rows = (0..<5000).map { "\($0),\($0)\n" }.joined()
    let bad = try scratch.write("bad.csv", "k,a\n" + rows + "5000\n")
    let outcome = try scratch.cairn("import", "t", bad, "--key", "k")
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains(":5002:1: "))
    #expect(try scratch.succeed("export", "t") == before)
  }

  @Test func `an import beyond the datastore's limit leaves no trace`() throws {
    let text = String(repeating: "x", count: 100_000)
    let rows = (0..<110).map { "{\"$id\":\"\($0)\",\"text\":\"\(text)\"}\n" }.joined()
    let file = try scratch.write("in.jsonl", rows)
    let outcome = try scratch.cairn("import", "t", file)
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("--limits large"))
    #expect(try scratch.succeed("tables") == "")
    // The raised limits are remembered: one that is too large for the others passes later, too.
    try scratch.succeed("import", "t", file, "--limits", "large")
    let larger = String(repeating: "x", count: 120_000)
    try scratch.succeed("set", "t", "more", "--insert", "text=" + larger)
    #expect(try scratch.succeed("tables") == "t  111 records\n")
  }

  @Test func `an import that grows beyond the limit and shrinks again leaves no trace`() throws {
    func rows(_ name: String, _ numbers: Range<Int>, _ size: Int) -> String {
      let text = String(repeating: "x", count: size)
      return numbers.map { "{\"$id\":\"\(name)\($0)\",\"text\":\"\(text)\"}\n" }.joined()
    }
    let first = try scratch.write(
      "first.jsonl",
      rows("other", 0..<45, 100_000) + rows("big", 0..<40, 90_000) + rows("small", 0..<40, 1))
    try scratch.succeed("import", "t", first)
    let before = try scratch.succeed("export", "t")
    // 26 of them have room: enough for a commit of their own, were they not counted before.
    let second = try scratch.write(
      "second.jsonl", rows("small", 0..<40, 90_000) + rows("big", 0..<40, 1))
    let outcome = try scratch.cairn("import", "t", second)
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("its limit is 10485760: nothing was imported"))
    let isAsBefore = try scratch.succeed("export", "t") == before
    #expect(isAsBefore)
    // The other way round each row has room.
    let third = try scratch.write(
      "third.jsonl", rows("big", 0..<40, 1) + rows("small", 0..<40, 90_000))
    #expect(try scratch.succeed("import", "t", third).contains("0 inserted, 80 updated"))
  }

  @Test func `a record beyond the limit is refused with its line`() throws {
    let text = String(repeating: "x", count: 110_000)
    let file = try scratch.write("in.csv", "k,a\n1,x\n2,\(text)\n")
    let outcome = try scratch.cairn("import", "t", file, "--key", "k")
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains(":3:1: a record of 110200 bytes; the limit is 102400"))
    #expect(try scratch.succeed("tables") == "")
  }

  @Test(arguments: 0..<40)
  func `hostile bytes never crash an import`(seed: UInt64) throws {
    let samples = [
      "k,a,b\n1,\"x\"\"y\",-12.5e3\r\n2,true,\"\n\"\n",
      "{\"k\":\"1\",\"a\":[1,{\"$date\":5}],\"b\":\"\\ud83e\\udded\"}\n{\"k\":2,\"c\":-0.5e-7}\n",
    ]
    let random = SeededRandom(seed)
    let sample = Int(seed % 2)
    var bytes = Array(samples[sample].utf8)
    for _ in 0...random.below(4) {
      let place = random.below(bytes.count)
      switch random.below(3) {
      case 0: bytes[place] = random.bytes(1)[0]
      case 1: bytes.remove(at: place)
      default: bytes.insert(contentsOf: bytes[place...].prefix(5), at: place)
      }
    }
    let file = try scratch.write(sample == 0 ? "in.csv" : "in.jsonl", bytes)
    let outcome = try scratch.cairn("import", "t", file, "--key", "k")
    #expect(outcome.status == 0 || outcome.status == 1, "\(outcome)")
    #expect(scratch.exists("root") == (outcome.status == 0))
  }
}
