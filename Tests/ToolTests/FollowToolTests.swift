import Cairn
import Foundation
import TestSupport
import Testing

@Suite struct FollowToolTests {
  let scratch: Scratch
  let (member, copy, folder): (String, String, String)

  init() throws {
    scratch = try Scratch()
    (member, copy, folder) = (
      scratch.path("member"), scratch.path("copy"), scratch.path("folder")
    )
    let file = try scratch.write("in.csv", "k,x\nr1,1\nr2,2\n")
    try scratch.succeed("import", "t", file, "--key", "k", "--folder", folder, root: member)
    try scratch.succeed("import", "u", file, "--key", "k", root: member)
    try scratch.succeed("sync", root: member)
  }

  private func run(_ arguments: [String], root: String) throws -> Tool.Outcome {
    try Tool.run(arguments + ["--root", root])
  }

  private func export(_ table: String, _ root: String) throws -> String {
    try scratch.succeed("export", table, root: root)
  }

  @Test func `what a member has is followed, read and refused`() throws {
    let first = try json(scratch.succeed("follow", folder, "--json", root: copy))
    #expect(first["datastore"] as? String == "default" && first["tables"] as? Int == 2)
    #expect(first["records"] as? Int == 4)
    for table in ["t", "u"] { #expect(try export(table, copy) == export(table, member)) }
    for command in [
      ["set", "t", "r1", "x=5"], ["delete", "t", "r1"], ["title", "mine"],
    ] {
      let outcome = try run(command, root: copy)
      #expect(outcome.status == 1 && outcome.errors.contains("followed"), "\(outcome)")
    }
    let doctor = try json(scratch.succeed("doctor", "--json", root: copy))
    #expect(doctor["datastores"] as? [String] == ["default"])
    #expect((doctor["findings"] as? [Any])?.count == 0)
    let members = try json(scratch.succeed("devices", "--json", root: member))
    #expect((members["devices"] as? [Any])?.count == 1)
    try scratch.succeed("set", "t", "r1", "x=9", root: member)
    try scratch.succeed("sync", root: member)
    try scratch.succeed("sync", root: copy)
    #expect(try export("t", copy) == export("t", member))
    #expect(try scratch.succeed("follow", root: copy).contains("0 deltas in 0 files"))
    try scratch.succeed("status", root: copy)
    try scratch.succeed("tables", root: copy)
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func `following ends when what it brings can't be printed`() throws {
    let outcome = try Tool.run(
      [
        "-c", #"timeout 100 "$0" "$@" > /dev/full"#, Tool.directory + "cairn", "follow", folder,
        "--watch", "--root", copy,
      ], program: "/bin/sh")
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("can't write standard output"), "\(outcome.errors)")
    #expect(try export("t", copy) == export("t", member))
  }

  @Test func `a list has it, and commands on one's own say what to do`() throws {
    try scratch.succeed("title", "Prices", root: member)
    try scratch.succeed("sync", root: member)
    try scratch.succeed("follow", folder, root: copy)
    let listed = try json(scratch.succeed("ls", "--json", root: copy))
    let first = try #require((listed["datastores"] as? [[String: Any]])?.first)
    #expect(first["datastore"] as? String == "default" && first["title"] as? String == "Prices")
    let own = try json(scratch.succeed("ls", "--json", root: member))
    let original = try #require((own["datastores"] as? [[String: Any]])?.first)
    let records = try #require(first["records"] as? Int)
    #expect(records >= 4 && records == original["records"] as? Int)
    #expect(first["here"] as? Bool == true)
    for command in [
      ["ls", "--refresh"], ["repair", "default"], ["trash", "list", "--datastores"],
      ["migrate", "--to", member],
    ] {
      let outcome = try run(command, root: copy)
      #expect(outcome.status == 1, "\(command): \(outcome)")
      #expect(outcome.errors.contains("cairn unfollow"), "\(command): \(outcome)")
    }
  }

  @Test func `another folder is remembered when it has proved to be the same`() throws {
    try scratch.succeed("follow", folder, root: copy)
    let stranger = (root: scratch.path("stranger"), folder: scratch.path("other"))
    let file = try scratch.write("other.csv", "k,x\nr9,9\n")
    try scratch.succeed(
      "import", "t", file, "--key", "k", "--folder", stranger.folder, root: stranger.root)
    try scratch.succeed("sync", root: stranger.root)
    for command in [["follow", stranger.folder], ["sync", "--folder", stranger.folder]] {
      #expect(try run(command, root: copy).status == 1)
      try scratch.succeed("follow", root: copy)
    }
    let moved = scratch.path("moved")
    try FileManager.default.moveItem(atPath: folder, toPath: moved)
    #expect(try run(["follow"], root: copy).status == 4)
    try scratch.succeed("follow", moved, root: copy)
    try scratch.succeed("follow", root: copy)
    #expect(try export("t", copy) == export("t", member))
  }

  @Test func `tables are chosen, and the choice is remembered`() throws {
    let first = try scratch.succeed("follow", folder, "--except-table", "u", root: copy)
    #expect(first.contains("2 records in 1 table here"))
    #expect(try scratch.succeed("follow", root: copy).contains("2 records in 1 table here"))
    let other = try scratch.succeed("follow", "--table", "u", root: copy)
    #expect(other.contains("2 records in 1 table here"))
    #expect(try export("u", copy) == export("u", member))
    let all = try scratch.succeed("follow", "--all-tables", root: copy)
    #expect(all.contains("4 records in 2 tables here"))
    let both = try run(
      ["follow", "--table", "u", "--except-table", "t"], root: copy)
    #expect(both.status == 2)
  }

  @Test func `unfollow that fails leaves what is followed, and its folder is known`() throws {
    try scratch.succeed("follow", folder, root: copy)
    let settings = try scratch.text("copy.settings")
    #expect(settings.contains("folder \(folder)\n"))
    _ = try scratch.write("copy.settings", settings + "nobody knows\n")
    let damaged = try run(["unfollow"], root: copy)
    #expect(damaged.status == 1 && damaged.errors.contains("is unknown; mend or remove it"))
    #expect(scratch.exists("copy/FOLLOWING"))
    _ = try scratch.write("copy.settings", settings)
    let follower = try DatastoreFollower(root: copy, folder: .directory(folder))
    #expect(try run(["unfollow"], root: copy).status == 5)
    try follower.close()
    #expect(try scratch.text("copy.settings") == settings)
    #expect(try export("t", copy) == export("t", member))
    // What is left of one that was interrupted goes, and the folder with it.
    try FileManager.default.removeItem(atPath: scratch.path("copy/FOLLOWING"))
    try scratch.succeed("unfollow", root: copy)
    #expect(try scratch.text("copy.settings") == "")
    #expect(try run(["unfollow"], root: copy).status == 4)
  }

  /// `unfollow` takes no folder. What was chosen is chosen again.
  @Test(arguments: [[], ["--table", "t"], ["--except-table", "u"]])
  func `what doctor says of a damaged copy works though it was told the folder`(
    choice: [String]
  ) throws {
    _ = try run(["follow", folder] + choice, root: copy)
    let name = try #require(try scratch.files(below: "copy/followed/log").first)
    var bytes = try scratch.bytes("copy/followed/log/" + name)
    bytes[20] ^= 1
    _ = try scratch.write("copy/followed/log/" + name, bytes)
    let health = try scratch.cairn("doctor", "--folder", folder, root: copy)
    #expect(health.status == 1)
    let advice = health.output.split(separator: "\n").filter { $0.hasPrefix("  -> ") }
    let line = try #require(advice.first, "\(health)")
    let again = (["cairn follow \(folder)"] + choice + ["--root \(copy)"]).joined(separator: " ")
    #expect(line == "  -> cairn unfollow --root \(copy) && \(again)")
    let verified = try scratch.cairn("verify", root: copy)
    #expect(verified.output.hasSuffix(" && \(again)\n"), "\(verified)")
    let done = try Tool.run(
      ["-c", "PATH=\(Tool.directory):$PATH; " + String(line.dropFirst(5))], program: "/bin/sh")
    #expect(done.status == 0, "\(done)")
    #expect(try export("t", copy) == export("t", member))
  }

  @Test func `what is not there is not found, and unfollow removes everything`() throws {
    let missing = try run(
      ["follow", folder, "--datastore", "others"], root: copy)
    #expect(missing.status == 4, "\(missing)")
    #expect(try run(["follow"], root: copy).status == 2, "which folder?")
    #expect(try run(["unfollow"], root: copy).status == 4)
    #expect(try run(["follow", folder], root: member).status == 1, "a member's root")
    try scratch.succeed("follow", folder, root: copy)
    #expect(
      try run(["query", "t", "--datastore", "others"], root: copy).status == 4)
    try scratch.succeed("unfollow", root: copy)
    #expect(try run(["query", "t"], root: copy).status == 4)
    // What comes into this root next is not for that folder.
    let file = try scratch.write("own.csv", "k,x\nr1,1\n")
    try scratch.succeed("import", "t", file, "--key", "k", root: copy)
    #expect(try run(["sync"], root: copy).status == 2)
  }
}
