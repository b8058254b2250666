import CairnBytes
import Foundation
import TestSupport
import Testing

/// `cairn trash` after a mass delete, and with damage in it.
@Suite struct TrashMassRestoreTests {
  let scratch: Scratch
  let (a, b): (String, String)

  init() throws {
    scratch = try Scratch()
    (a, b) = (scratch.path("a"), scratch.path("b"))
  }

  /// Two devices that have these records.
  private func prepare(_ lines: String) throws {
    let (file, folder) = (try scratch.write("in.jsonl", lines), scratch.path("folder"))
    try scratch.succeed("import", "t", file, "--folder", folder, "--user", "ann", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, "--user", "bea", root: b)
  }

  private func delete(_ ids: [String]) throws {
    #expect(try Tool.run(["delete", "t"] + ids + ["--root", a]).status == 0)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--allow-mass-delete", root: b)
  }

  private func committed() throws -> Int {
    let status = try json(scratch.succeed("status", "--json", root: b))
    return try #require(status["committed"] as? Int)
  }

  @Test func `more than one commit has room for comes back`() throws {
    let text = String(repeating: "x", count: 60_000)
    try prepare((0..<60).map { "{\"$id\":\"\($0)\",\"text\":\"\(text)\"}\n" }.joined())
    let export = try scratch.succeed("export", "t", root: b)
    try delete((0..<60).map { "\($0)" })
    #expect(try scratch.succeed("tables", root: b) == "")
    let before = try committed()
    #expect(
      try scratch.succeed("trash", "restore", "--all", root: b) == "restored 60 records\n")
    #expect(try committed() >= before + 2)
    #expect(try scratch.succeed("export", "t", root: b) == export)
    #expect(try scratch.succeed("trash", root: b) == "0 records\n")
    try scratch.succeed("sync", root: b)
    try scratch.succeed("sync", root: a)
    #expect(try scratch.succeed("export", "t", root: a) == export)
  }

  @Test func `damage in the trash is mended by what doctor and verify say`() throws {
    try prepare("{\"$id\":\"7\",\"n\":1}\n{\"$id\":\"8\",\"n\":1}\n")
    try delete(["7"])
    let name = try #require(try scratch.files(below: "b").first { $0.hasSuffix(".del") })
    var bytes = try scratch.bytes("b/" + name)
    bytes[40] ^= 1
    _ = try scratch.write("b/" + name, bytes)
    let verified = try scratch.cairn("verify", root: b)
    #expect(verified.status == 3 && verified.output.contains("cairn trash empty"))
    #expect(!verified.output.contains("cairn repair"))
    let health = try scratch.cairn("doctor", root: b)
    let command = "  -> cairn trash empty --datastore default --root \(b)\n"
    #expect(health.status == 1 && health.output.contains(command), "\(health)")
    let empty = try Tool.run(
      command.split(whereSeparator: \.isWhitespace).dropFirst(2).map(String.init))
    #expect(empty.status == 0)
    #expect(empty.output == "removed 0 records for good, and 1 damaged file\n")
    #expect(try scratch.cairn("verify", root: b).status == 0)
    #expect(try scratch.cairn("doctor", root: b).status == 0)
  }

  @Test func `what a newer version has put into the trash is no damage`() throws {
    try prepare("{\"$id\":\"7\",\"n\":1}\n{\"$id\":\"8\",\"n\":1}\n")
    try delete(["7"])
    let name = try #require(try scratch.files(below: "b").first { $0.hasSuffix(".del") })
    let whole = try scratch.bytes("b/" + name)
    var newer = whole
    (newer[8], newer[10]) = (9, 9)
    newer.removeLast(8)
    newer.put(XXH3.hash64(newer))
    let path = try scratch.write("b/" + name, newer)
    let what =
      "\(path): written by a newer version: it needs format 9, this is 1; update the app"
    let verified = try scratch.cairn("verify", root: b)
    #expect(verified.status == 1 && verified.output.hasPrefix("not checked: \(what)\n"))
    #expect(verified.output.hasSuffix("\nno damage, 1 file not checked\n"), "\(verified)")
    let report = try json(scratch.cairn("verify", "--json", root: b).output)
    #expect(report["unread"] as? [String] == [what] && report["mend"] as? [String] == [])
    #expect((report["damage"] as? [Any])?.count == 0)
    let health = try scratch.cairn("doctor", root: b)
    #expect(health.status == 1 && health.output.contains("warning: default: \(what)\n"))
    #expect(!health.output.contains("trash empty"), "\(health)")
    _ = try scratch.write("b/" + name, whole)
    #expect(try scratch.succeed("trash", "restore", "--all", root: b) == "restored 1 record\n")
  }
}
