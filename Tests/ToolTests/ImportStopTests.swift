import TestSupport
import Testing

/// An import that the disk stops between two commits.
@Suite struct ImportStopTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// More than two commits' worth: one of many small fields, which takes little room, and one of
  /// texts that no compression makes much of.
  private func rows() throws -> String {
    let random = SeededRandom(1)
    let small = String(repeating: "1,2,3,4,5,6,7,8,\n", count: 2400)
    let large = (0..<260).map { _ in
      let letters = (0..<8000).map { _ in UInt8(97 + random.below(26)) }
      return ",,,,,,,," + String(decoding: letters, as: UTF8.self) + "\n"
    }
    return try scratch.write("in.csv", "a,b,c,d,e,f,g,h,text\n" + small + large.joined())
  }

  /// Imports where no file may have more than so many blocks.
  private func run(_ file: String, blocks: Int, root: String) throws -> Tool.Outcome {
    try Tool.run(
      [
        "-c", "trap '' XFSZ; ulimit -f \(blocks); exec \"$0\" \"$@\"",
        Tool.directory + "cairn", "import", "t", file, "--root", root,
      ], program: "/bin/sh")
  }

  @Test func `rows without ids would come once more, and how many are there is said`() throws {
    let file = try rows()
    var stopped: (outcome: Tool.Outcome, root: String)?
    // A block has 512 bytes, or 1024.
    for blocks in [1024, 1536, 2048, 3072] where stopped == nil {
      let root = scratch.path("root\(blocks)")
      let outcome = try run(file, blocks: blocks, root: root)
      if outcome.errors.contains("of this import stayed") { stopped = (outcome, root) }
    }
    let (outcome, root) = try #require(stopped, "no limit stopped it between two commits")
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.errors.contains("(1 commit of this import stayed; the first "), "\(outcome)")
    #expect(outcome.errors.contains("would be inserted once more"), "\(outcome)")
    #expect(!outcome.errors.contains("--key"), "\(outcome)")
    let said = try #require(outcome.errors.firstMatch(of: /the first ([0-9]+) rows are there/))
    let status = try json(try scratch.succeed("status", "--json", root: root))
    #expect(status["records"] as? Int == Int(said.1))
  }
}
