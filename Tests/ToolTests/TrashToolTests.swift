import Foundation
import TestSupport
import Testing

/// `cairn trash`.
@Suite struct TrashToolTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test func `what is emptied is gone`() throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    let file = try scratch.write("in.csv", "k,name\n7,name 7\n8,name 8\n9,name 9\n")
    try scratch.succeed(
      "import", "t", file, "--key", "k", "--folder", folder, "--user", "ann", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, "--user", "bea", root: b)
    try scratch.succeed("delete", "t", "7", "8", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", root: b)
    #expect(try scratch.succeed("trash", root: b).hasSuffix("\n2 records\n"))
    #expect(try scratch.succeed("trash", "empty", root: b) == "removed 2 records for good\n")
    #expect(try scratch.succeed("trash", root: b) == "0 records\n")
    #expect(try scratch.succeed("trash", "restore", "--all", root: b) == "restored 0 records\n")
  }

  // MARK: datastores

  private func damage() throws {
    let directory = "root/p-default/"
    let name = try #require(
      try scratch.files(below: "root/p-default").first { $0.hasSuffix(".snap") })
    var bytes = try scratch.bytes(directory + name)
    for offset in 300..<340 { bytes[offset] ^= 0x5A }
    _ = try scratch.write(directory + name, bytes)
  }

  /// The directories of the copies that are in the trash.
  private func copies() throws -> [String] {
    let list = try json(scratch.succeed("trash", "list", "--datastores", "--json"))
    let found = try #require(list["trash"] as? [[String: Any]])
    return try found.map { try #require($0["directory"] as? String) }
  }

  @Test func `of several copies of a datastore the newest is restored`() throws {
    let rows = (0..<500).map { "\($0),name \($0),\($0 * 7)\n" }.joined()
    let file = try scratch.write("in.csv", "k,name,n\n" + rows)
    try scratch.succeed("import", "t", file, "--key", "k")
    for id in ["first", "second"] {
      try scratch.succeed("compact")
      try scratch.succeed("set", "t", id, "n=1", "--insert")
      try damage()
      try scratch.succeed("repair", "default")
    }
    let kept = try copies()
    try #require(kept.count == 2)
    #expect(try scratch.cairn("trash", "restore", "default", "--datastores").status == 1)
    #expect(try copies() == kept, "its place is taken")
    try FileManager.default.removeItem(atPath: scratch.path("root/p-default"))
    #expect(
      try scratch.succeed("trash", "restore", "default", "--datastores") == "restored default\n")
    #expect(try copies() == [kept[0]])
    // It is what it was, damage and all.
    #expect(try scratch.cairn("doctor").status == 1)
    try scratch.succeed("repair", "default")
    #expect(try scratch.succeed("get", "t", "second") == "n=1\n")
    #expect(try copies().count == 2)
  }

  /// One copy of a datastore in the trash, as if it had come there at some time.
  private func place(_ id: String, at time: Int64) throws {
    let place = scratch.path("root/trash/\(time)")
    try FileManager.default.createDirectory(
      atPath: place + "/p-" + id, withIntermediateDirectories: true)
    _ = try scratch.write("root/trash/\(time)/REASON", "a test\n")
  }

  @Test func `what is done with whole datastores refuses the name of one`() throws {
    for id in ["notes", "others"] { try place(id, at: id == "notes" ? 1000 : 2000) }
    for command in [["list"], ["restore", "notes"], ["empty"]] {
      let outcome = try Tool.run(
        ["trash"] + command + ["--datastores", "--datastore", "notes", "--root", scratch.root])
      #expect(outcome.status == 2, "\(command): \(outcome)")
      #expect(outcome.errors.contains("--datastore notes: "), "\(command): \(outcome)")
      #expect(try copies().count == 2)
    }
    #expect(!scratch.exists("root/p-notes"))
    #expect(
      try scratch.succeed("trash", "empty", "--datastores") == "removed 2 datastores for good\n")
  }

  // MARK: times

  /// A copy lies in a directory that is named after the time when it came there.
  @Test func `times are printed as people write them`() throws {
    let times: [(Int64, String)] = [
      (.min, "-292275055-05-16 16:47:04.192 UTC"),
      (-1, "1969-12-31 23:59:59.999 UTC"),
      (0, "1970-01-01 00:00:00.000 UTC"),
      (951_782_400_000, "2000-02-29 00:00:00.000 UTC"),
      (1_709_210_096_789, "2024-02-29 12:34:56.789 UTC"),
      (1_735_689_599_999, "2024-12-31 23:59:59.999 UTC"),
      (1_767_225_599_999, "2025-12-31 23:59:59.999 UTC"),
      (1_767_225_600_000, "2026-01-01 00:00:00.000 UTC"),
      (4_107_542_399_999, "2100-02-28 23:59:59.999 UTC"),
      (4_107_542_400_000, "2100-03-01 00:00:00.000 UTC"),
      (.max, "292278994-08-17 07:12:55.807 UTC"),
    ]
    for (time, _) in times { try place("notes", at: time) }
    let output = try scratch.succeed("trash", "list", "--datastores")
    #expect(output.hasSuffix("\n\(times.count) datastores\n"))
    let lines = output.split(separator: "\n")
    #expect(lines.count == times.count + 1)
    for (line, (_, text)) in zip(lines, times) {
      #expect(line.hasPrefix("notes  \(text)  ") && line.hasSuffix("  0 bytes  a test"))
    }
  }
}
