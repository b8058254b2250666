import Foundation
import TestSupport
import Testing

@testable import Cairn

/// `cairn blob`.
@Suite struct BlobToolTests {
  let scratch: Scratch
  let (a, b): (String, String)

  init() throws {
    scratch = try Scratch()
    (a, b) = (scratch.path("a"), scratch.path("b"))
    let folder = scratch.path("folder")
    try scratch.succeed("set", "t", "r", "n=1", "--insert", "--folder", folder, root: a)
  }

  private var content: [UInt8] { (0..<300_000).map { UInt8(truncatingIfNeeded: ($0 * 7) >> 3) } }

  @Test func `a content goes in, through the folder, and out again`() throws {
    let file = try scratch.write("in.bin", content)
    let id = try scratch.succeed("blob", "put", file, "t", "r", "photo", root: a)
      .trimmingCharacters(in: .newlines)
    #expect(id.hasSuffix("-300000"))
    #expect(try scratch.succeed("get", "t", "r", root: a).contains("$attachment"))
    let list = try json(scratch.succeed("blob", "list", "--json", root: a))
    let rows = try #require(list["attachments"] as? [[String: Any]])
    #expect(rows.count == 1 && rows[0]["state"] as? String == "here")
    #expect(rows[0]["attachment"] as? String == id && rows[0]["field"] as? String == "photo")
    let sync = try json(scratch.succeed("sync", "--json", root: a))
    let sent = try #require(sync["attachments"] as? [String: Any])
    #expect(sent["published"] as? Int == 1 && sent["publishedBytes"] as? Int == 300_000)
    try scratch.succeed("sync", "--folder", scratch.path("folder"), root: b)
    #expect(try scratch.succeed("blob", root: b).contains("remote"))
    let out = scratch.path("out.bin")
    try scratch.succeed("blob", "get", "t", "r", "photo", "--output", out, root: b)
    #expect(try scratch.bytes("out.bin") == content)
    try scratch.succeed("blob", "get", id, "--output", out, root: b)
    #expect(try scratch.succeed("blob", "list", root: b).contains("here"))
    #expect(try scratch.succeed("blob", "fetch", root: b) == "fetched 0 attachments\n")
    #expect(try scratch.cairn("verify", root: b).status == 0)
    // What is damaged here is fetched anew.
    let name = try #require(try scratch.files(below: "b").first { $0.hasSuffix(".blob") })
    _ = try scratch.write("b/" + name, content.reversed())
    #expect(try scratch.cairn("verify", root: b).status == 3)
    try scratch.succeed("blob", "get", id, "--output", out, root: b)
    #expect(try scratch.bytes("out.bin") == content)
    #expect(try scratch.cairn("verify", root: b).status == 0)
  }

  @Test func `what is printed behind a content does not lie over it`() throws {
    let file = try scratch.write("in", "content\n")
    try scratch.succeed("blob", "put", file, "t", "r", "photo", root: a)
    let get = "\"$0\" blob get t r photo --output /dev/stdout --root \"$1\""
    let outcome = try Tool.run(
      [
        "-c", "{ \(get) && echo end; } > \"$2\"", Tool.directory + "cairn", a,
        scratch.path("said"),
      ], program: "/bin/sh")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(try scratch.text("said") == "content\nend\n")
  }

  @Test func `what is fetched, missing and wrong is told`() throws {
    let file = try scratch.write("in.bin", content)
    try scratch.succeed("blob", "put", file, "t", "r", "photo", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", scratch.path("folder"), root: b)
    #expect(try scratch.succeed("blob", "fetch", root: b) == "fetched 1 attachment\n")
    let number = try scratch.cairn("blob", "get", "t", "r", "n", root: a)
    #expect(number.status == 4 && number.errors.contains("has no attachment n"), "\(number)")
    #expect(try scratch.cairn("blob", "get", "x", root: a).status == 2)
    let nobody = try scratch.cairn("blob", "put", file, "t", "none", "photo", root: a)
    #expect(nobody.status == 4 && nobody.errors.contains("has no record none"), "\(nobody)")
    #expect(try scratch.cairn("blob", "put", scratch.path("none"), root: a).status == 4)
    let name = try #require(
      try scratch.files(below: "folder").first { $0.hasSuffix(".blob") })
    try FileManager.default.removeItem(atPath: scratch.path("folder/" + name))
    let c = scratch.path("c")
    try scratch.succeed("sync", "--folder", scratch.path("folder"), root: c)
    let outcome = try scratch.cairn("blob", "fetch", root: c)
    #expect(outcome.status != 0 && outcome.output.contains("does not have"))
  }

  @Test func `a folder that is away is not taken for one that lacks a content`() throws {
    let file = try scratch.write("in.bin", content)
    let id = try scratch.succeed("blob", "put", file, "t", "r", "photo", root: a)
      .trimmingCharacters(in: .newlines)
    let (folder, away) = (scratch.path("folder"), scratch.path("away"))
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, root: b)
    try FileManager.default.moveItem(atPath: folder, toPath: away)
    let reason =
      "the folder is empty, or not the one that default was exchanged with: cairn.json is missing; "
      + "nothing was changed. Wait until the folder is there, or begin with a new root in this one"
    let fetched = try scratch.cairn("blob", "fetch", root: b)
    #expect(fetched.status == 1)
    #expect(fetched.output == "fetched 0 attachments\nproblem: \(reason)\n")
    let get = try scratch.cairn(
      "blob", "get", id, "--output", scratch.path("out.bin"), root: b)
    #expect(get.status == 4 && get.errors.contains(reason), "\(get)")
    #expect(!scratch.exists("folder") && !scratch.exists("out.bin"))
    try FileManager.default.moveItem(atPath: away, toPath: folder)
    #expect(try scratch.succeed("blob", "fetch", root: b) == "fetched 1 attachment\n")
  }

  @Test func `unused contents go with gc`() throws {
    let file = try scratch.write("in.bin", content)
    let loose = try scratch.write("loose.bin", [1, 2, 3])
    try scratch.succeed("blob", "put", file, "t", "r", "photo", root: a)
    try scratch.succeed("blob", "put", loose, root: a)
    #expect(try scratch.succeed("blob", "gc", root: a).contains("1 unused and kept"))
    let first = try json(scratch.succeed("blob", "gc", "--grace-days", "0", "--json", root: a))
    #expect(first["removedHere"] as? Int == 1 && first["bytesHere"] as? Int == 3)
    try scratch.succeed("set", "t", "r", "--remove", "photo", root: a)
    let second = try json(scratch.succeed("blob", "gc", "--grace-days", "0", "--json", root: a))
    #expect(second["removedHere"] as? Int == 1 && second["removedInFolder"] as? Int == 1)
    #expect(try scratch.files(below: "folder").allSatisfy { !$0.hasSuffix(".blob") })
    // Without the equals sign it would be taken for another option.
    let past = try scratch.cairn("blob", "gc", "--grace-days=-1", root: a)
    #expect(past.status == 2 && past.errors.contains("from 0 to 10000"), "\(past)")
  }

  @Test func `the grace of gc is in days`() throws {
    let loose = try scratch.write("loose.bin", [1, 2, 3])
    try scratch.succeed("blob", "put", loose, root: a)
    #expect(try scratch.succeed("blob", "gc", root: a).contains("1 unused and kept"))
    let name = try #require(try scratch.files(below: "a").first { $0.hasSuffix("/UNUSED") })
    var ledger = try BlobLedger(scratch.bytes("a/" + name), path: name)
    try #require(ledger.unused.count == 1)
    // As if that had been a day and a half ago.
    for hash in ledger.unused.keys { ledger.unused[hash]?.since -= 129_600_000 }
    _ = try scratch.write("a/" + name, ledger.encoded())
    let early = try json(scratch.succeed("blob", "gc", "--grace-days", "2", "--json", root: a))
    #expect(early["removedHere"] as? Int == 0 && early["waiting"] as? Int == 1)
    let late = try json(scratch.succeed("blob", "gc", "--grace-days", "1", "--json", root: a))
    #expect(late["removedHere"] as? Int == 1 && late["waiting"] as? Int == 0)
  }

  @Test func `an export and an import carry references`() throws {
    let file = try scratch.write("in.bin", content)
    let id = try scratch.succeed("blob", "put", file, "t", "r", "photo", root: a)
      .trimmingCharacters(in: .newlines)
    let text = try scratch.succeed("export", "t", "--format", "jsonl", root: a)
    #expect(text.contains("{\"$attachment\":\"\(id)\"}"))
    try scratch.succeed(
      "set", "t", "copy", "photo={\"$attachment\":\"\(id)\"}", "--insert", root: a)
    try scratch.succeed(
      "blob", "get", "t", "copy", "photo", "--output", scratch.path("out.bin"), root: a)
    #expect(try scratch.bytes("out.bin") == content)
  }
}
