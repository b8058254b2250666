import Foundation
import TestSupport
import Testing

/// `cairn blob` where a content is damaged, and where it is to go to standard output.
@Suite struct BlobMendTests {
  let scratch: Scratch
  let (a, b): (String, String)

  init() throws {
    scratch = try Scratch()
    (a, b) = (scratch.path("a"), scratch.path("b"))
    let folder = scratch.path("folder")
    try scratch.succeed("set", "t", "r", "n=1", "--insert", "--folder", folder, root: a)
    let file = try scratch.write("in.txt", String(repeating: "text\n", count: 100))
    try scratch.succeed("blob", "put", file, "t", "r", "photo", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, root: b)
    try scratch.succeed("blob", "fetch", root: b)
  }

  @Test func `a damaged content is mended by what doctor and verify say`() throws {
    let name = try #require(try scratch.files(below: "b").first { $0.hasSuffix(".blob") })
    let whole = try scratch.bytes("b/" + name)
    _ = try scratch.write("b/" + name, whole.reversed())
    let verified = try scratch.cairn("verify", root: b)
    #expect(verified.status == 3 && verified.output.contains("cairn blob fetch"))
    let health = try scratch.cairn("doctor", root: b)
    let command = "  -> cairn blob fetch --datastore default --root \(b)\n"
    #expect(health.status == 1 && health.output.contains(command), "\(health)")
    let fetched = try Tool.run(
      command.split(whereSeparator: \.isWhitespace).dropFirst(2).map(String.init))
    #expect(fetched.status == 0 && fetched.output == "fetched 1 attachment\n", "\(fetched)")
    #expect(try scratch.bytes("b/" + name) == whole)
    #expect(try scratch.cairn("verify", root: b).status == 0)
    #expect(try scratch.cairn("doctor", root: b).status == 0)
  }

  @Test func `a dash is standard output`() throws {
    let text = try scratch.text("in.txt")
    for output in ["-o", "--output"] {
      #expect(try scratch.succeed("blob", "get", "t", "r", "photo", output, "-", root: b) == text)
    }
    #expect(!FileManager.default.fileExists(atPath: "-"))
  }
}
