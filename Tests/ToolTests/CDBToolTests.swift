import CairnCDB
import Foundation
import TestSupport
import Testing

@Suite struct CDBToolTests {
  let scratch: Scratch
  private static let text = "+3,5:one->Hello\n+3,6:two->a\nline\n+0,0:->\n+3,3:one->dup\n\n"

  init() throws { scratch = try Scratch() }

  private func succeed(_ arguments: String...) throws -> String {
    let outcome = try Tool.run(["cdb"] + arguments)
    guard outcome.status == 0 else {
      throw Scratch.Failed(arguments: arguments, outcome: outcome)
    }
    return outcome.output
  }

  @Test func `a text is made into a file and comes back`() throws {
    let text = try scratch.write("text", Self.text)
    let file = scratch.path("f.cdb")
    #expect(try succeed("make", file, text) == "4 records into \(file), 2167 bytes\n")
    #expect(try succeed("dump", file) == Self.text)
    #expect(try succeed("get", file, "two") == "a\nline")
    #expect(try succeed("get", file, "one", "--all") == "Hello\ndup\n")
    #expect(try succeed("get", file, "") == "")
    let piped = try Tool.run(["cdb", "make", scratch.path("g.cdb")], input: text)
    #expect(piped.status == 0)
    #expect(try scratch.bytes("g.cdb") == scratch.bytes("f.cdb"))
    let wide = try succeed("make", file, text, "--format", "cdb64")
    #expect(wide == "4 records into \(file), 4311 bytes\n")
    #expect(try succeed("dump", file) == Self.text)
  }

  @Test func `statistics count records and looks`() throws {
    let text = try scratch.write("text", Self.text)
    let file = scratch.path("f.cdb")
    _ = try succeed("make", file, text)
    let report = try json(try succeed("stats", file, "--json"))
    #expect(report["format"] as? String == "cdb")
    #expect(report["records"] as? Int == 4)
    #expect(report["keys"] as? Int == 3)
    #expect(report["distances"] as? [Int] == [3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    #expect(try succeed("stats", file).contains("records          4\n"))
  }

  @Test func `what is wrong is said, with its place, and nothing is left`() throws {
    let file = scratch.path("f.cdb")
    for (text, place) in [
      ("+3,5:one->Hello\n", ":2:1: "), ("+1,1:a=>b\n\n", ":1:7: "), ("\nx", ":2:1: "),
    ] {
      let input = try scratch.write("text", text)
      let outcome = try Tool.run(["cdb", "make", file, input])
      #expect(outcome.status == 1)
      #expect(outcome.errors.contains(place), "\(outcome.errors)")
      #expect(try scratch.files(below: ".") == ["text"])
    }
    #expect(try Tool.run(["cdb", "dump", file]).status == 4)
    _ = try scratch.write("f.cdb", "no cdb")
    let damaged = try Tool.run(["cdb", "dump", file, "--json"])
    #expect(damaged.status == 1)
    let error = try #require(try json(damaged.errors)["error"] as? [String: Any])
    #expect(error["code"] as? String == "corrupt")
    let text = try scratch.write("text", Self.text)
    _ = try succeed("make", file, text)
    #expect(try Tool.run(["cdb", "get", file, "three"]).status == 4)
    #expect(try Tool.run(["cdb", "make", file, text, "--format", "dbm"]).status == 2)
  }

  @Test func `a link and a pipe stay what they are`() throws {
    let text = try scratch.write("text", Self.text)
    try scratch.succeed("set", "t", "a", "n=1", "--insert")
    let target = try scratch.write("target", "before")
    let (link, pipe) = (scratch.path("link"), scratch.path("pipe"))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    let code = unsafe mkfifo(pipe, 0o600)
    try #require(code == 0)
    for path in [link, pipe] {
      let message =
        "cairn: \"\(path)\" is a link, a pipe or a device, and is not replaced by a cdb file; "
        + "name a file\n"
      let made = try Tool.run(["cdb", "make", path, text])
      #expect(made.status == 1 && made.errors == message, "\(made)")
      let exported = try scratch.cairn("cdb", "export", "t", path)
      #expect(exported.status == 1 && exported.errors == message, "\(exported)")
    }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
    #expect(try scratch.text("target") == "before")
    var status = stat()
    let found = unsafe lstat(pipe, &status)
    #expect(found == 0 && status.st_mode & S_IFMT == S_IFIFO)
  }

  @Test func `JSON shows bytes that are no text`() throws {
    let text = try scratch.write("text", Array("+1,1:a->".utf8) + [0xFF] + Array("\n\n".utf8))
    let file = scratch.path("f.cdb")
    _ = try succeed("make", file, text)
    #expect(
      try succeed("dump", file, "--json")
        == "{\"records\":[{\"key\":\"a\",\"value\":{\"$bytes\":\"/w==\"}}]}\n")
    #expect(
      try succeed("get", file, "a", "--json")
        == "{\"key\":\"a\",\"values\":[{\"$bytes\":\"/w==\"}]}\n")
  }

  @Test func `a table goes to a cdb file and comes back`() throws {
    let lines = #"""
      {"$id":"a","bytes":{"$bytes":"AAECAw=="},"date":{"$date":-1},"double":12.0,"int":12}
      {"$id":"b","list":[1,1.5,true,"x"],"text":"ü \"\\\n"}
      {"$id":"c"}

      """#
    let input = try scratch.write("in.jsonl", lines)
    try scratch.succeed("import", "t", input)
    let file = scratch.path("t.cdb")
    #expect(try scratch.succeed("cdb", "export", "t", file) == "3 records of t into \(file)\n")
    #expect(try succeed("get", file, "c") == "{}")
    try scratch.succeed("cdb", "import", "u", file)
    #expect(try scratch.succeed("export", "u") == lines)
    let again = try json(try scratch.succeed("cdb", "import", "u", file, "--json"))
    #expect(again["unchanged"] as? Int == 3)
    #expect(try scratch.cairn("cdb", "export", "nowhere", file).status == 4)
  }

  @Test func `one field goes as it is`() throws {
    let text = try scratch.write(
      "text", Array("+1,2:a->hi\n+1,1:b->".utf8) + [0xFF] + Array("\n+1,1:a->x\n\n".utf8))
    let file = scratch.path("f.cdb")
    _ = try succeed("make", file, text)
    let report = try json(
      try scratch.succeed("cdb", "import", "t", file, "--field", "v", "--json"))
    #expect(report["inserted"] as? Int == 2)
    #expect(report["skipped"] as? Int == 1)
    #expect(
      try scratch.succeed("export", "t")
        == "{\"$id\":\"a\",\"v\":\"hi\"}\n{\"$id\":\"b\",\"v\":{\"$bytes\":\"/w==\"}}\n")
    let out = scratch.path("out.cdb")
    let more = try scratch.write("more.jsonl", "{\"$id\":\"c\",\"other\":1}\n")
    try scratch.succeed("import", "t", more)
    try scratch.succeed("cdb", "export", "t", out, "--field", "v")
    #expect(try CDBFile(out).value(for: Array("b".utf8)) == [0xFF])
    #expect(try CDBFile(out).statistics().records == 2)
    let number = try scratch.cairn("cdb", "export", "t", out, "--field", "other")
    #expect(number.status == 1)
    #expect(number.errors.contains("field other of record c is 1"))
    #expect(try CDBFile(out).statistics().records == 2)
  }

  @Test func `a record that is none names its key, and nothing is imported`() throws {
    let file = scratch.path("f.cdb")
    for (text, part) in [
      ("+1,2:a->{}\n+1,1:b->7\n\n", "key \"b\": a value is a JSON object"),
      ("+1,2:a->{}\n+3,2:b c->{}\n\n", "key \"b c\": the id of a record is"),
      ("+1,2:a->{}\n+1,3:b->{x}\n\n", "key \"b\": byte 1 of the value"),
    ] {
      _ = try succeed("make", file, try scratch.write("text", text))
      let outcome = try scratch.cairn("cdb", "import", "t", file)
      #expect(outcome.status == 1)
      #expect(outcome.errors.contains(part), "\(outcome.errors)")
      #expect(!scratch.exists("root"))
    }
  }

  /// As `cdb -c -0` leaves it of a record that it has replaced.
  @Test func `zeros without a key, to which no table points, are no record`() throws {
    let file = scratch.path("f.cdb")
    let text = try scratch.write("text", "+0,3:->\0\0\0\n+1,2:a->{}\n\n")
    _ = try succeed("make", file, text)
    let refused = try scratch.cairn("cdb", "import", "t", file)
    #expect(refused.status == 1 && refused.errors.contains("key \"\""), "\(refused)")
    // The slot of the empty key, whose hash is 5381.
    let bytes = try scratch.bytes("f.cdb")
    let slot: [UInt8] = [5, 21, 0, 0, 0, 8, 0, 0]
    let start = try #require(bytes.indices.first { bytes[$0...].starts(with: slot) })
    var changed = bytes
    changed.replaceSubrange(start..<(start + 8), with: [UInt8](repeating: 0, count: 8))
    _ = try scratch.write("f.cdb", changed)
    let report = try json(try succeed("stats", file, "--json"))
    #expect(report["records"] as? Int == 1 && report["keyBytes"] as? Int == 1)
    try scratch.succeed("cdb", "import", "t", file)
    #expect(try scratch.succeed("export", "t") == "{\"$id\":\"a\"}\n")
  }
}
