import TestSupport
import Testing

@Suite struct CommandTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    let rows = "k,name,n\na,Anna,1\nb,Ben,2\nc,\"1\",1.0\n"
    let file = try scratch.write("in.csv", rows)
    try scratch.succeed("import", "people", file, "--key", "k")
  }

  @Test func `query matches by value and prints in the order of ids`() throws {
    #expect(
      try scratch.succeed("query", "people", "--where", "n=1")
        == "a  n=1 name=\"Anna\"\nc  n=1.0 name=\"1\"\n2 records\n")
    #expect(
      try scratch.succeed("query", "people", "--where", "n=1", "--where", "name=\"1\"")
        == "c  n=1.0 name=\"1\"\n1 record\n")
    #expect(
      try scratch.succeed("query", "people", "--limit", "1")
        == "a  n=1 name=\"Anna\"\n3 records, 1 shown\n")
    #expect(try scratch.succeed("query", "people", "--where", "name=Nobody") == "0 records\n")
  }

  @Test func `query compares, sorts and cuts`() throws {
    let more = try scratch.write("more.csv", "k,name,n\nd,Bob,7\ne,Eve,-2.5\n")
    try scratch.succeed("import", "people", more, "--key", "k")
    func ids(_ arguments: String...) throws -> [String] {
      let outcome = try Tool.run(["query", "people", "--root", scratch.root] + arguments)
      let lines = outcome.output.split(separator: "\n")
      return lines.dropLast().map { String($0.prefix(1)) }
    }
    #expect(try ids("--where", "n>=1", "--where", "n<7") == ["a", "b", "c"])
    #expect(try ids("--where", "n>1") == ["b", "d"])
    #expect(try ids("--where", "n<=-2.5") == ["e"])
    #expect(try ids("--where", "name^=B") == ["b", "d"])
    #expect(try ids("--where", "n!=1", "--sort", "n") == ["e", "b", "d"])
    #expect(try ids("--where", "n<100", "--sort", "n:desc") == ["d", "b", "a", "c", "e"])
    #expect(try ids("--sort", "n:desc", "--sort", "name", "--limit", "4") == ["d", "b", "c", "a"])
    #expect(
      try scratch.succeed("query", "people", "--where", "n>0", "--limit", "0")
        == "4 records, 0 shown\n")
  }

  @Test func `set types its values and removes fields`() throws {
    let printed = try scratch.succeed(
      "set", "people", "a", "n=-1", "real=2.5", "yes=true", "text=a=b", "empty=\"\"",
      "list=[1,\"x\"]", "date={\"$date\":0}", "bytes={\"$bytes\":\"AAE=\"}", "--remove", "name")
    let expected = """
      bytes={"$bytes":"AAE="}
      date={"$date":0}
      empty=""
      list=[1,"x"]
      n=-1
      real=2.5
      text="a=b"
      yes=true

      """
    #expect(printed == expected)
    #expect(try scratch.succeed("get", "people", "a") == expected)
  }

  @Test func `the last deltas of the log are the newest`() throws {
    for value in [10, 20] { try scratch.succeed("set", "people", "a", "n=\(value)") }
    func sequences(_ arguments: String...) throws -> [Int] {
      let outcome = try Tool.run(["log", "--json", "--root", scratch.root] + arguments)
      let list = try json(outcome.output)
      let deltas = try #require(list["deltas"] as? [[String: Any]])
      return deltas.compactMap { $0["sequence"] as? Int }
    }
    let all = try sequences()
    #expect(all.count >= 3 && all == Set(all).sorted())
    #expect(try sequences("--last", "2") == Array(all.suffix(2)))
    #expect(try sequences("--last", "1") == Array(all.suffix(1)))
    #expect(try sequences("--last", "0") == [])
    #expect(try sequences("--last", "\(all.count + 1)") == all)
  }

  @Test func `what a compaction frees is told before, and is nothing after`() throws {
    let random = SeededRandom(1)
    for _ in 0..<5 {
      let letters = (0..<8000).map { _ in UInt8(97 + random.below(26)) }
      try scratch.succeed("set", "people", "a", "text=" + String(decoding: letters, as: UTF8.self))
    }
    func sizes() throws -> (bytes: Int, live: Int, dead: Int) {
      let found = try json(scratch.succeed("stat", "--json"))
      return (
        try #require(found["bytes"] as? Int), try #require(found["live"] as? Int),
        try #require(found["dead"] as? Int)
      )
    }
    let before = try sizes()
    #expect(before.live > 8000 && before.dead > 8000)
    #expect(before.bytes == before.live + before.dead)
    try scratch.succeed("compact")
    let after = try sizes()
    #expect(after.bytes == before.live)
    #expect(after.live == after.bytes && after.dead == 0)
  }

  @Test func `an insert makes datastore, table and record`() throws {
    let other = scratch.path("other")
    try scratch.succeed("set", "t", "x", "a=1", "--insert", "--datastore", "d", root: other)
    #expect(try scratch.succeed("tables", "--datastore", "d", root: other) == "t  1 record\n")
    let again = try scratch.cairn(
      "set", "t", "x", "a=2", "--insert", "--datastore", "d", root: other)
    #expect(again.status == 1)
    #expect(try scratch.succeed("get", "t", "x", "--datastore", "d", root: other) == "a=1\n")
  }

  @Test func `delete takes all or nothing`() throws {
    #expect(try scratch.cairn("delete", "people", "a", "nobody").status == 4)
    #expect(try scratch.succeed("tables") == "people  3 records\n")
    try scratch.succeed("delete", "people", "a", "b")
    #expect(try scratch.succeed("tables") == "people  1 record\n")
  }

  @Test(
    arguments: [
      ["get", "people", "nobody"], ["get", "nothing", "a"], ["export", "nothing"],
      ["query", "nothing"], ["set", "people", "nobody", "a=1"], ["delete", "people", "nobody"],
      ["tables", "--datastore", "other"], ["import", "people", "/no/such/file.csv"],
      ["verify", "--datastore", "other"], ["log", "--datastore", "other"],
    ])
  func `what isn't there ends with 4`(arguments: [String]) throws {
    let outcome = try Tool.run(arguments + ["--root", scratch.root])
    #expect(outcome.status == 4, "\(outcome)")
    #expect(outcome.errors.hasPrefix("cairn: "))
    let nowhere = try Tool.run(["tables", "--root", scratch.path("nowhere")])
    #expect(nowhere.status == 4)
    #expect(!scratch.exists("nowhere"))
  }

  @Test(
    arguments: [
      ["nonsense"], ["get", "people"], ["set", "people", "a"], ["set", "people", "a", "noequals"],
      ["set", "people", "a", "x=[1"], ["query", "people", "--limit=-1"], ["log", "--last=-1"],
      ["tables", "--what"],
      ["query", "people", "--where", "n"], ["query", "people", "--where", "n!1"],
      ["query", "people", "--where", "a b>1"], ["query", "people", "--sort", "n:up"],
      ["import", "people", "file.txt"], ["import", "no table", "file.csv"],
      ["import", ":info", "file.csv"], ["sync"], ["tables", "--limits", "none"],
    ])
  func `what is used wrongly ends with 2`(arguments: [String]) throws {
    let outcome = try Tool.run(arguments + ["--root", scratch.root])
    #expect(outcome.status == 2, "\(outcome)")
    #expect(!outcome.errors.isEmpty)
    #expect(outcome.output.isEmpty)
  }

  @Test(
    arguments: [
      ["tables"], ["query", "people"], ["get", "people", "a"], ["set", "people", "a", "n=5"],
      ["delete", "people", "b"], ["log"], ["segments"], ["stat"], ["status"], ["devices"],
      ["verify"], ["compact", "--dry-run"], ["compact"],
    ])
  func `every command speaks JSON`(arguments: [String]) throws {
    let outcome = try Tool.run(arguments + ["--json", "--root", scratch.root])
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors.isEmpty)
    #expect(try !json(outcome.output).isEmpty)
    let failed = try Tool.run(arguments + ["--json", "--root", scratch.path("nowhere")])
    #expect(failed.status == 4)
    let error = try #require(try json(failed.errors)["error"] as? [String: Any])
    #expect(error["code"] as? String == "notFound")
  }

  @Test func `help and version go to standard output`() throws {
    let help = try Tool.run(["--help"])
    #expect(help.status == 0)
    // Broken into lines as the terminal is wide.
    let words = help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("EXIT STATUS: 0 done, 1 failed"))
    #expect(words.contains("ls --refresh holds back deletes"))
    #expect(try Tool.run(["import", "--help"]).output.contains("--key"))
    let version = try Tool.run(["--version"])
    #expect(version.status == 0)
    #expect(version.output.wholeMatch(of: /[0-9]+\.[0-9]+\.[0-9]+\n/) != nil, "\(version)")
  }

  @Test func `no value can drive the terminal`() throws {
    let file = try scratch.write("in.jsonl", "{\"$id\":\"x\",\"t\":\"\\u001b[2J\u{9B}\u{7F}\"}\n")
    try scratch.succeed("import", "t", file)
    #expect(try scratch.succeed("get", "t", "x") == "t=\"\\u001b[2J\\u009b\\u007f\"\n")
    #expect(try scratch.succeed("title", "\u{1B}[2J") == "\\u001b[2J\n")
    #expect(try scratch.succeed("title") == "\\u001b[2J\n")
    let empty = try scratch.write("\u{1B}[2J.csv", "")
    let outcome = try scratch.cairn("import", "t", empty, "--key", "k")
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("/\\u001b[2J.csv:1:1: "))
    #expect(!outcome.errors.contains("\u{1B}"))
  }

  @Test func `settings that can't be read are an error`() throws {
    _ = try scratch.write("root.settings", "folder\n")
    let outcome = try scratch.cairn("tables")
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("root.settings line 1"))
  }
}
