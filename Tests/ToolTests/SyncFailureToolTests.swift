import Foundation
import TestSupport
import Testing

/// `cairn sync` with a folder that gives and takes nothing.
@Suite struct SyncFailureToolTests {
  let scratch: Scratch
  let (a, b): (String, String)

  init() throws {
    scratch = try Scratch()
    (a, b) = (scratch.path("a"), scratch.path("b"))
    let folder = scratch.path("folder")
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", folder, root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("set", "t", "b", "n=2", "--insert", "--folder", folder, root: b)
    let file = try scratch.write("in.bin", [1, 2, 3])
    let id = try scratch.succeed("blob", "put", file, "t", "b", "photo", root: b)
    let device = try #require(
      try json(scratch.succeed("status", "--json", root: b))["device"] as? String)
    // No file can take the place of a directory, whoever asks for that: what B has to publish first
    // can't get there.
    let hash = try #require(id.split(separator: "-").first)
    try FileManager.default.createDirectory(
      atPath: scratch.path("folder/b-p-default/\(device)-\(hash).blob"),
      withIntermediateDirectories: true)
  }

  @Test func `what came is merged although nothing can be published`() throws {
    let outcome = try scratch.cairn("sync", root: b)
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.errors.contains("cairn: "))
    #expect(outcome.output.contains("merged 1 delta: 1 record changed, 0 deleted"))
    #expect(!outcome.output.contains("published"), "nobody knows")
    #expect(try scratch.succeed("get", "t", "a", root: b) == "n=1\n")
    try scratch.succeed("set", "t", "a", "n=3", root: a)
    try scratch.succeed("sync", root: a)
    let report = try scratch.cairn("sync", "--json", root: b)
    #expect(report.status == 1)
    let document = try json(report.output)
    #expect((document["merged"] as? [String: Any])?["deltas"] as? Int == 1)
    #expect(document["published"] is NSNull)
    #expect(try json(report.errors)["error"] != nil)
    #expect(try scratch.succeed("get", "t", "a", root: b) == "n=3\n")
  }

  @Test func `where nothing came either, the failure is all that is told`() throws {
    _ = try scratch.cairn("sync", root: b)
    let again = try scratch.cairn("sync", root: b)
    #expect(again.status == 1 && again.output == "" && again.errors.contains("cairn: "))
  }
}
