import Foundation
import TestSupport
import Testing

/// One `cairn sync` may be several rounds: what it says is what all of them have done.
@Suite struct SyncRoundsTests {
  let scratch: Scratch
  let (a, b, c): (String, String, String)

  init() throws {
    scratch = try Scratch()
    (a, b, c) = (scratch.path("a"), scratch.path("b"), scratch.path("c"))
    let file = try scratch.write("in.csv", "k,x,y\nr1,0,0\nr2,0,0\nr3,0,0\n")
    let folder = scratch.path("folder")
    try scratch.succeed("import", "t", file, "--key", "k", "--folder", folder, root: a)
    try scratch.succeed("sync", root: a)
    for root in [b, c] {
      try scratch.succeed("sync", "--folder", folder, "--user", "me", root: root)
    }
    try scratch.succeed("set", "t", "r1", "y=1", root: c)
    try scratch.succeed("sync", root: c)
    try meet()
  }

  private func meet() throws {
    for root in [a, b, a] { try scratch.succeed("sync", root: root) }
  }

  private func device() throws -> String {
    let list = try json(scratch.succeed("devices", "--json", root: c))
    return try #require(list["thisDevice"] as? String)
  }

  private func status(of root: String) throws -> [String: Any] {
    try json(scratch.succeed("status", "--json", root: root))
  }

  /// It takes a new id in the round that finds the other one, and publishes under it in the next.
  @Test(arguments: ["clone", "restored"])
  func `one sync of a copy publishes what only that has`(kind: String) throws {
    let (files, copy) = (FileManager.default, scratch.path("copy"))
    try files.copyItem(atPath: c, toPath: copy)
    try files.copyItem(atPath: c + ".settings", toPath: copy + ".settings")
    try scratch.succeed("set", "t", "r1", "x=5", root: c)
    try scratch.succeed("sync", root: c)
    let root = kind == "clone" ? copy : c
    if kind == "restored" {
      try files.removeItem(atPath: c)
      try files.moveItem(atPath: copy, toPath: c)
    }
    try scratch.succeed("set", "t", "r2", "y=7", root: root)
    let old = try #require(try status(of: root)["device"] as? String)
    let report = try json(scratch.succeed("sync", "--json", root: root))
    let after = try status(of: root)
    let new = try #require(after["device"] as? String)
    #expect(new != old && report["newDevice"] as? String == new)
    let committed = try #require(after["committed"] as? Int)
    #expect(committed > 0 && after["published"] as? Int == committed, "\(after)")
    try scratch.succeed("sync", root: b)
    #expect(try scratch.succeed("get", "t", "r1", root: b) == "x=5\ny=1\n")
    #expect(try scratch.succeed("get", "t", "r2", root: b) == "x=0\ny=7\n")
  }

  private func segments() throws -> Set<String> {
    Set(try scratch.files(below: "folder").filter { $0.hasSuffix(".seg") })
  }

  @Test func `what the rounds of a return have published and fetched is added up`() throws {
    let old = try device()
    try scratch.succeed("set", "t", "r2", "y=7", root: c)
    try scratch.succeed("delete", "t", "r3", root: a)
    try scratch.succeed("devices", "--retire", old, root: a)
    for _ in 0..<3 { try meet() }
    let before = try segments()
    let report = try json(scratch.succeed("sync", "--json", root: c))
    let new = try device()
    #expect(new != old && report["newDevice"] as? String == new)
    // Under the old id in the round in which it hears of that, and under the new one in the last.
    let files = try segments().subtracting(before)
    let authors = Set(files.compactMap { $0.split(separator: "/").last?.prefix(16) })
    #expect(authors == [old[...], new[...]], "\(files)")
    let published = try #require(report["published"] as? [String: Any])
    #expect((published["deltas"] as? Int ?? 0) >= 2, "\(report)")
    // The others' two commits, which came in the first.
    let fetched = try #require(report["fetched"] as? [String: Any])
    #expect((fetched["deltas"] as? Int ?? 0) >= 2, "\(report)")
  }

  private func devices(of root: String) throws -> String {
    let list = try json(scratch.succeed("devices", "--json", root: root))
    return try #require(list["thisDevice"] as? String)
  }

  @Test func `one sync says what is missing of a device whose head the folder has lost`() throws {
    try scratch.succeed("set", "t", "r1", "y=2", root: a)
    try scratch.succeed("sync", root: a)
    let name = try device() + ".head"
    let lost = try #require(scratch.files(below: "folder").first { $0.hasSuffix(name) })
    try FileManager.default.removeItem(atPath: scratch.path("folder/" + lost))
    let d = scratch.path("d")
    let folder = scratch.path("folder")
    let report = try json(
      scratch.succeed("sync", "--json", "--folder", folder, "--user", "me", root: d))
    let waiting = try #require(report["waiting"] as? [[String: Any]])
    #expect(
      waiting.contains { ($0["reason"] as? String)?.contains("builds on deltas") == true },
      "\(report)")
  }

  /// The rounds that a loss is waited for are counted by a process, and each of these is one.
  @Test func `one sync is enough to join a snapshot for what the folder has lost`() throws {
    let name = try devices(of: a)
    let first = try #require(scratch.files(below: "folder").first { $0.contains(name + "-1-") })
    try FileManager.default.removeItem(atPath: scratch.path("folder/" + first))
    try scratch.succeed("repair", "default", root: b)
    let d = scratch.path("d")
    try scratch.succeed("sync", "--folder", scratch.path("folder"), "--user", "me", root: d)
    let export = try scratch.succeed("export", "t", root: d)
    let whole = try scratch.succeed("export", "t", root: b)
    #expect(export == whole && export.contains("r3"))
  }
}
