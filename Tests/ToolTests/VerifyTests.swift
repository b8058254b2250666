import Foundation
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

  // MARK: closed segments

  /// A linked root of which nothing is in the folder yet: closed segments wait for that.
  private func waiting() throws -> String {
    let root = scratch.path("waiting")
    try scratch.succeed(
      "set", "t", "r1", "n=1", "--insert", "--folder", scratch.path("folder"), root: root)
    return root
  }

  private func cut(_ name: String, to length: Int) throws {
    _ = try scratch.write(name, Array(try scratch.bytes(name).prefix(length)))
  }

  /// One place is damaged, and the command that says so mends it.
  private func expectMended(_ name: String, _ root: String) throws {
    let outcome = try scratch.cairn("verify", "--json", root: root)
    #expect(outcome.status == 3, "\(outcome)")
    let report = try json(outcome.output)
    let damage = try #require(report["damage"] as? [[String: Any]])
    try #require(damage.count == 1)
    #expect((damage[0]["file"] as? String)?.hasSuffix(name) == true)
    #expect(report["notes"] as? [String] == [])
    let command = "cairn repair default --root \(root)"
    #expect(report["mend"] as? [String] == ["to mend the datastore: " + command])
    let health = try scratch.cairn("doctor", root: root)
    #expect(health.status == 1 && health.output.contains("  -> \(command)\n"), "\(health)")
    let mended = try scratch.succeed("repair", "default", root: root)
    #expect(!mended.contains("nothing to repair"), "\(mended)")
    #expect(try scratch.cairn("verify", root: root).status == 0)
  }

  @Test(arguments: [0, 63])
  func `a closed segment that has lost everything is damage`(length: Int) throws {
    let root = try waiting()
    try scratch.succeed("compact", root: root)
    try scratch.succeed("set", "t", "r1", "n=2", root: root)
    try scratch.succeed("compact", root: root)
    try scratch.succeed("set", "t", "r2", "n=3", "--insert", root: root)
    let names = try scratch.files(below: "waiting").filter { $0.hasSuffix(".seg") }
    try #require(names.count == 3)
    try cut("waiting/" + names[0], to: length)
    try expectMended(names[0], root)
    #expect(try scratch.succeed("get", "t", "r1", root: root) == "n=2\n")
    #expect(try scratch.succeed("get", "t", "r2", root: root) == "n=3\n")
  }

  /// It was closed, and durable, before the snapshot could have it. 64 bytes are its header, and
  /// 150 are that, one frame and the beginning of another.
  @Test(arguments: [0, 63, 64, 150])
  func `so is the newest one if it is in the snapshot`(length: Int) throws {
    let root = try waiting()
    try scratch.succeed("set", "t", "r2", "n=2", "--insert", root: root)
    try scratch.succeed("compact", root: root)
    let names = try scratch.files(below: "waiting").filter { $0.hasSuffix(".seg") }
    try #require(names.count == 1)
    try cut("waiting/" + names[0], to: length)
    try expectMended(names[0], root)
    try scratch.succeed("sync", root: root)
    let other = scratch.path("other")
    try scratch.succeed("sync", "--folder", scratch.path("folder"), root: other)
    #expect(try scratch.succeed("get", "t", "r1", root: other) == "n=1\n")
    #expect(try scratch.succeed("get", "t", "r2", root: other) == "n=2\n")
  }

  // MARK: CURRENT

  @Test func `a datastore that has lost its CURRENT is damaged, and not unknown`() throws {
    let name = try #require(
      try scratch.files(below: "root").first { $0.hasSuffix("/CURRENT") })
    try FileManager.default.removeItem(atPath: scratch.path("root/" + name))
    let verified = try scratch.cairn("verify")
    #expect(verified.status == 3, "\(verified)")
    #expect(verified.output.contains("\(name) is missing although there is a log or a snapshot"))
    #expect(
      verified.output.hasSuffix(
        "to mend the datastore: cairn repair default --root \(scratch.root)\n"))
    let opened = try scratch.cairn("get", "t", "1")
    #expect(opened.status == 1 && opened.errors.contains("default has to be repaired first"))
    try scratch.succeed("repair", "default")
    #expect(try scratch.cairn("verify").status == 0)
    #expect(try scratch.succeed("tables") == "t  500 records\n")
  }

  @Test func `the empty directory of one that was never finished is none`() throws {
    for part in ["log", "snap"] {
      try FileManager.default.createDirectory(
        atPath: scratch.path("root/p-other/" + part), withIntermediateDirectories: true)
    }
    #expect(try scratch.cairn("verify", "--datastore", "other").status == 4)
    #expect(try scratch.cairn("get", "t", "1", "--datastore", "other").status == 4)
    try scratch.succeed("set", "t", "1", "n=1", "--insert", "--datastore", "other")
    #expect(try scratch.succeed("get", "t", "1", "--datastore", "other") == "n=1\n")
  }

  @Test func `the path of a damaged CURRENT is said once`() throws {
    let name = try #require(
      try scratch.files(below: "root").first { $0.hasSuffix("/CURRENT") })
    let bytes = try scratch.bytes("root/" + name)
    _ = try scratch.write("root/" + name, bytes + [UInt8](repeating: 0, count: 8))
    let outcome = try scratch.cairn("verify")
    #expect(outcome.status == 3, "\(outcome)")
    let damage = outcome.output.split(separator: "\n").filter { $0.hasPrefix("damage: ") }
    let path = scratch.path("root/" + name)
    #expect(
      damage == ["damage: \(path) at offset 0: it is too long: 104 bytes, not 96"], "\(outcome)")
  }

  // MARK: CATALOGUE

  @Test func `a damaged list of datastores is moved away, and no obstacle for a check`() throws {
    let root = try waiting()
    try scratch.succeed("sync", root: root)
    try scratch.succeed("ls", "--refresh", root: root)
    var bytes = try scratch.bytes("waiting/CATALOGUE")
    for index in 60..<68 { bytes[index] ^= 0x5A }
    let path = try scratch.write("waiting/CATALOGUE", bytes)
    let outcome = try scratch.cairn("verify", root: root)
    #expect(outcome.status == 3, "\(outcome)")
    #expect(outcome.output.contains("damage: \(path) at offset 0: "), "\(outcome)")
    #expect(outcome.output.contains(" in the log, ") && outcome.output.contains("1 place damaged"))
    let away = "mv -- \(path) \(path).damaged"
    let again = "\(away) && cairn ls --refresh --root \(root)"
    #expect(outcome.output.contains("\nto mend the list of datastores (it is fetched anew; "))
    #expect(outcome.output.hasSuffix(" made again): \(again)\n"), "\(outcome)")
    let report = try json(try scratch.cairn("verify", "--json", root: root).output)
    #expect((report["mend"] as? [String])?.first?.hasSuffix(": " + again) == true)
    // Nobody knows the folder.
    let settings = try scratch.bytes("waiting.settings")
    try FileManager.default.removeItem(atPath: scratch.path("waiting.settings"))
    let alone = try scratch.cairn("verify", root: root)
    #expect(alone.status == 3 && alone.output.hasSuffix(" made again): \(away)\n"), "\(alone)")
    _ = try scratch.write("waiting.settings", settings)
    #expect(!outcome.output.contains("cairn repair"))
    #expect(try scratch.cairn("repair", "default", root: root).status == 1)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".damaged")
    try scratch.succeed("ls", "--refresh", root: root)
    #expect(try scratch.cairn("verify", root: root).status == 0)
    #expect(try scratch.succeed("get", "t", "r1", root: root) == "n=1\n")
  }

  // MARK: what is followed

  @Test func `damage of what is followed is mended by following it anew`() throws {
    let (member, copy, folder) = (
      scratch.path("member"), scratch.path("copy"), scratch.path("folder")
    )
    try scratch.succeed("set", "t", "r", "n=1", "--insert", "--folder", folder, root: member)
    try scratch.succeed("sync", root: member)
    try scratch.succeed("follow", folder, root: copy)
    let name = try #require(
      try scratch.files(below: "copy").first { $0.hasSuffix("/CURRENT") })
    var bytes = try scratch.bytes("copy/" + name)
    bytes[40] ^= 0x04
    _ = try scratch.write("copy/" + name, bytes)
    let verified = try scratch.cairn("verify", root: copy)
    let mend =
      "to mend what is followed: cairn unfollow --root \(copy) && cairn follow \(folder) "
      + "--root \(copy)\n"
    #expect(verified.status == 3 && verified.output.hasSuffix(mend), "\(verified)")
    #expect(!verified.output.contains("cairn repair"))
    try scratch.succeed("unfollow", root: copy)
    try scratch.succeed("follow", folder, root: copy)
    #expect(try scratch.cairn("verify", root: copy).status == 0)
    #expect(try scratch.succeed("get", "t", "r", root: copy) == "n=1\n")
  }

  /// To end what is followed forgets where that is.
  @Test func `a damaged note of what is followed is mended with its folder named`() throws {
    let (member, copy, folder) = (
      scratch.path("member"), scratch.path("copy"), scratch.path("the folder")
    )
    try scratch.succeed("set", "t", "r", "n=1", "--insert", "--folder", folder, root: member)
    try scratch.succeed("sync", root: member)
    try scratch.succeed("follow", folder, root: copy)
    var bytes = try scratch.bytes("copy/FOLLOWING")
    bytes[20] ^= 1
    _ = try scratch.write("copy/FOLLOWING", bytes)
    let end = "cairn unfollow --root \(copy)\n"
    func expectAdvice(_ place: String) throws {
      let again =
        "cairn follow \(place) --root \(copy), with --datastore, --table and --except-table as "
        + "before"
      let verified = try scratch.cairn("verify", root: copy)
      let mend = "\nto mend what is followed (and then \(again)): \(end)"
      #expect(verified.status == 3 && verified.output.hasSuffix(mend), "\(verified)")
      let health = try scratch.cairn("doctor", root: copy)
      let advice = "and then follow it anew: \(again)\n  -> \(end)"
      #expect(health.status == 1 && health.output.contains(advice), "\(health)")
    }
    try expectAdvice("'\(folder)'")
    try FileManager.default.removeItem(atPath: scratch.path("copy.settings"))
    try expectAdvice("FOLDER")
    try scratch.succeed("unfollow", root: copy)
    try scratch.succeed("follow", folder, root: copy)
    #expect(try scratch.succeed("get", "t", "r", root: copy) == "n=1\n")
  }
}
