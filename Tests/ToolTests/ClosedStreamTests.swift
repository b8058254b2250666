import TestSupport
import Testing

/// A command that was started without its standard streams: their numbers are free, and the files
/// that are opened next would get them, and what it prints.
@Suite struct ClosedStreamTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.succeed("set", "t", "a", "n=1", "--insert")
    for value in 2...3 { try scratch.succeed("set", "t", "a", "n=\(value)") }
  }

  /// What the files of the root hold; the lock says who had it last.
  private func files() throws -> [String: [UInt8]] {
    let names = try scratch.files(below: "root").filter { !$0.hasSuffix("LOCK") }
    return Dictionary(uniqueKeysWithValues: try names.map { ($0, try scratch.bytes("root/" + $0)) })
  }

  private func run(_ arguments: String, _ closed: String) throws -> Tool.Outcome {
    try Tool.run(
      [
        "-c", "exec \"$0\" \(arguments) --root \"$1\" \(closed)", Tool.directory + "cairn",
        scratch.root,
      ], program: "/bin/sh")
  }

  /// It failed, and said why if it could.
  private func expectUnprinted(_ outcome: Tool.Outcome, _ closed: String) throws {
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.output == "")
    let message = "cairn: can't write standard output: Bad file descriptor\n"
    #expect(outcome.errors == (closed.contains("2>&-") ? "" : message))
    let lock = try #require(try scratch.files(below: "root").first { $0.hasSuffix("LOCK") })
    let holder = try scratch.text("root/" + lock)
    #expect(holder.utf8.count == 20 && holder.wholeMatch(of: /[0-9]+ +\n/) != nil, "\(holder)")
    let verified = try scratch.cairn("verify")
    #expect(verified.status == 0, "\(verified)")
  }

  @Test(arguments: ["<&- >&-", "<&- >&- 2>&-", ">&-"])
  func `what is read and can't be printed goes into no file`(closed: String) throws {
    let before = try files()
    #expect(before.keys.contains { $0.hasSuffix(".seg") })
    #expect(!before.keys.contains { $0.hasSuffix(".snap") })
    try expectUnprinted(try run("get t a", closed), closed)
    #expect(try files() == before)
    #expect(try scratch.succeed("get", "t", "a") == "n=3\n")
  }

  @Test(arguments: ["<&- >&-", "<&- >&- 2>&-", ">&-"])
  func `what is written stays, and what can't be printed of it goes into no file`(
    closed: String
  ) throws {
    try expectUnprinted(try run("set t a n=4", closed), closed)
    #expect(try scratch.succeed("get", "t", "a") == "n=4\n")
  }
}
