import TestSupport
import Testing

/// What a crash has left half written is no damage, and whoever opens the datastore is told.
@Suite struct TornTailTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func notes() throws -> [String] {
    try #require(try json(scratch.succeed("verify", "--json"))["notes"] as? [String])
  }

  @Test func `a torn tail is a note of verify, and is told when it is cut off`() throws {
    try scratch.succeed("set", "t", "a", "n=1", "--insert")
    let name = try #require(try scratch.files(below: "root").last { $0.hasSuffix(".seg") })
    let whole = try scratch.bytes("root/" + name)
    #expect(try notes() == [])
    _ = try scratch.write("root/" + name, whole + [7, 7, 7])
    #expect(try notes().count == 1)
    #expect(try notes().allSatisfy { $0.contains(name) })
    let verified = try scratch.cairn("verify")
    #expect(verified.status == 0 && verified.output.contains("no damage\n"), "\(verified)")
    #expect(verified.output.contains("note: ") && !verified.output.contains("cairn repair"))
    let opened = try scratch.cairn("get", "t", "a")
    #expect(opened.status == 0 && opened.output == "n=1\n")
    #expect(opened.errors.hasPrefix("cairn: mended at opening: "), "\(opened)")
    #expect(opened.errors.contains("\(name) at offset "))
    // Once, and what was cut off is kept.
    #expect(try scratch.cairn("get", "t", "a").errors == "")
    #expect(try notes() == [])
    let kept = try scratch.files(below: "root").filter { $0.hasSuffix(".torn") }
    try #require(kept.count == 1)
    #expect(opened.errors.contains(kept[0]))
    #expect(try scratch.bytes("root/" + kept[0]).suffix(3) == [7, 7, 7])
  }
}
