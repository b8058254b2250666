import TestSupport
import Testing

@Suite struct VerifyTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    let rows = (0..<500).map { "\($0),name \($0),\($0 * 7)\n" }.joined()
    let file = try scratch.write("in.csv", "k,name,n\n" + rows)
    try scratch.succeed("import", "t", file, "--key", "k")
    try scratch.succeed("set", "t", "1", "n=0")
  }

  @Test func `a sound datastore verifies before and after compaction`() throws {
    #expect(try scratch.cairn("verify").status == 0)
    let dry = try json(scratch.succeed("compact", "--dry-run", "--json"))
    #expect(dry["dryRun"] as? Bool == true)
    #expect(try scratch.files(below: "root").contains { $0.hasSuffix(".snap") } == false)
    try scratch.succeed("compact")
    #expect(try scratch.files(below: "root").contains { $0.hasSuffix(".snap") })
    #expect(try scratch.cairn("verify").status == 0)
    #expect(try scratch.succeed("tables") == "t  500 records\n")
  }

  @Test(arguments: [".seg", ".snap", "CURRENT"])
  func `damage ends with 3 and is named with its place`(suffix: String) throws {
    if suffix == ".snap" { try scratch.succeed("compact") }
    let name = try #require(
      try scratch.files(below: "root").first { $0.hasSuffix(suffix) })
    var bytes = try scratch.bytes("root/" + name)
    // In a segment: the middle of the import's delta, which the second one vouches for.
    bytes[min(bytes.count / 2, 2000)] ^= 0x04
    _ = try scratch.write("root/" + name, bytes)
    let outcome = try scratch.cairn("verify")
    #expect(outcome.status == 3, "\(outcome)")
    #expect((outcome.output + outcome.errors).contains(name))
    let report = try json(scratch.cairn("verify", "--json").output)
    let damage = try #require(report["damage"] as? [[String: Any]])
    let file = try #require(damage.first?["file"] as? String)
    #expect(file.hasSuffix(name))
    #expect(damage.first?["offset"] is Int)
    #expect(try scratch.bytes("root/" + name) == bytes)
  }
}
