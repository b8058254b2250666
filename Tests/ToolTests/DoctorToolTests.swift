import Foundation
import TestSupport
import Testing

@Suite struct DoctorToolTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    let rows = (0..<500).map { "\($0),name \($0),\($0 * 7)\n" }.joined()
    let file = try scratch.write("in.csv", "k,name,n\n" + rows)
    try scratch.succeed("import", "t", file, "--key", "k")
  }

  private func damage(_ suffix: String) throws -> String {
    let name = try #require(try scratch.files(below: "root").first { $0.hasSuffix(suffix) })
    var bytes = try scratch.bytes("root/" + name)
    for offset in 300..<340 { bytes[offset] ^= 0x5A }
    _ = try scratch.write("root/" + name, bytes)
    return name
  }

  @Test func `a healthy root ends with 0 and says so`() throws {
    #expect(try scratch.succeed("doctor") == "looked at 1 datastore: all is well\n")
    let report = try json(scratch.succeed("doctor", "--json"))
    #expect(report["healthy"] as? Bool == true)
    #expect((report["findings"] as? [Any])?.isEmpty == true)
    #expect(try scratch.succeed("doctor", "default").hasSuffix("all is well\n"))
    #expect(try scratch.cairn("doctor", "none").status == 1)
  }

  @Test func `damage ends with 1, with its place and the command that mends it`() throws {
    try scratch.succeed("compact")
    let name = try damage(".snap")
    let outcome = try scratch.cairn("doctor")
    #expect(outcome.status == 1)
    #expect(outcome.output.contains("error: default: "))
    #expect(outcome.output.contains(name))
    #expect(outcome.output.contains("  -> cairn repair default --root \(scratch.root)"))
    let report = try json(scratch.cairn("doctor", "--json").output)
    let findings = try #require(report["findings"] as? [[String: Any]])
    #expect(findings.first?["check"] as? String == "snapshot")
    #expect(findings.first?["severity"] as? String == "error")
    #expect(findings.first?["offset"] is Int)
  }

  @Test func `what doctor says is what repair does`() throws {
    try scratch.succeed("set", "t", "1", "n=0")
    try scratch.succeed("compact")
    try scratch.succeed("set", "t", "new", "n=1", "--insert")
    _ = try damage(".snap")
    let dry = try scratch.succeed("repair", "default", "--dry-run")
    #expect(dry.contains("damaged: ") && dry.contains("would have"))
    #expect(try scratch.cairn("doctor").status == 1, "nothing has changed")
    let done = try scratch.succeed("repair", "default")
    #expect(done.contains("lost: ") && done.contains("the original is in \(scratch.root)/trash/"))
    #expect(try scratch.cairn("verify").status == 0)
    #expect(try scratch.cairn("doctor").status == 0)
    #expect(
      try scratch.succeed("repair", "default") == "default is whole; nothing to repair\n")
    #expect(try scratch.succeed("get", "t", "new").contains("n=1"))
    let trash = try scratch.succeed("trash", "list", "--datastores")
    #expect(trash.contains("default") && trash.contains("1 datastore"))
    #expect(try scratch.succeed("trash", "empty", "--datastores").contains("for good"))
    #expect(try scratch.files(below: "root/trash") == [])
  }

  @Test func `what is said of a datastore works though its id begins like an option`() throws {
    try scratch.succeed(
      "import", "t", scratch.path("in.csv"), "--key", "k", "--datastore=-x")
    try scratch.succeed("compact", "--datastore=-x")
    #expect(try damage(".snap").hasPrefix("p--x/"))
    let repair = "cairn repair --root \(scratch.root) -- -x\n"
    let verified = try scratch.cairn("verify", "--datastore=-x")
    #expect(verified.status == 3, "\(verified)")
    #expect(verified.output.hasSuffix("\nto mend the datastore: \(repair)"), "\(verified)")
    #expect(try scratch.cairn("doctor").output.contains("  -> \(repair)"))
    let done = try runAdvice(scratch.root)
    #expect(done.status == 0 && done.output.contains("\nthe original is in "), "\(done)")
    #expect(try scratch.cairn("verify", "--datastore=-x").status == 0)
    try scratch.succeed("status", "--datastore=-x")
    var bytes = try scratch.bytes("root/p--x/INFO")
    bytes[20] ^= 1
    _ = try scratch.write("root/p--x/INFO", bytes)
    let status = "  -> cairn status '--datastore=-x' --root \(scratch.root)\n"
    #expect(try scratch.cairn("doctor").output.contains(status))
    let shown = try runAdvice(scratch.root)
    #expect(shown.status == 0 && shown.output.hasPrefix("datastore    -x\n"), "\(shown)")
  }

  // MARK: what the folder has lost

  /// A root that has published three records, and its file in the folder.
  private func published() throws -> (root: String, file: String) {
    let (a, folder) = (scratch.path("a"), scratch.path("folder"))
    let file = try scratch.write("two.csv", "k,name\n7,name 7\n8,name 8\n9,name 9\n")
    try scratch.succeed(
      "import", "t", file, "--key", "k", "--folder", folder, "--user", "ann", root: a)
    try scratch.succeed("sync", root: a)
    let name = try #require(try scratch.files(below: "folder").first { $0.hasSuffix(".seg") })
    return (a, "folder/" + name)
  }

  private func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: scratch.path(name))
  }

  /// Runs what doctor says that mends it.
  private func runAdvice(_ root: String) throws -> Tool.Outcome {
    let health = try scratch.cairn("doctor", root: root)
    #expect(health.status == 1)
    let start = "  -> cairn "
    let line = try #require(
      health.output.split(separator: "\n").first { $0.hasPrefix(start) }, "\(health.output)")
    // As a shell takes it.
    return try Tool.run(
      ["-c", #""$0" "# + String(line.dropFirst(start.count)), Tool.directory + "cairn"],
      program: "/bin/sh")
  }

  private func expectAll(_ wanted: String, in root: String) throws {
    try scratch.succeed("sync", "--folder", scratch.path("folder"), "--user", "new", root: root)
    #expect(try scratch.succeed("export", "t", root: root) == wanted)
  }

  @Test func `an own file that the folder has lost comes back by the command that doctor says`()
    throws
  {
    let (a, file) = try published()
    let bytes = try scratch.bytes(file)
    try remove(file)
    let dry = try scratch.succeed("repair", "default", "--dry-run", root: a)
    #expect(dry.contains("lost in the folder: ") && !scratch.exists(file))
    let alone = try scratch.succeed("repair", "default", "--without-folder", root: a)
    #expect(alone == "default is whole; nothing to repair\n" && !scratch.exists(file))
    let done = try runAdvice(a)
    #expect(done.status == 0, "\(done)")
    #expect(done.output.contains("lost in the folder: "))
    #expect(done.output.contains("written to the folder: "))
    #expect(try scratch.bytes(file) == bytes)
    #expect(try scratch.cairn("doctor", root: a).status == 0)
    try expectAll(try scratch.succeed("export", "t", root: a), in: scratch.path("c"))
  }

  @Test func `an own file that is damaged in the folder is written again`() throws {
    let (a, file) = try published()
    let bytes = try scratch.bytes(file)
    var bent = bytes
    bent[bent.count / 2] ^= 1
    _ = try scratch.write(file, bent)
    #expect(
      try scratch.succeed("repair", "default", "--dry-run", root: a)
        .contains("damaged in the folder: "))
    #expect(try scratch.bytes(file) == bent)
    let report = try json(scratch.succeed("repair", "default", "--json", root: a))
    let folder = try #require(report["folder"] as? [String: Any])
    #expect(report["needed"] as? Bool == false)
    #expect((folder["damaged"] as? [Any])?.count == 1 && (folder["written"] as? [Any])?.count == 1)
    #expect(try scratch.bytes(file) == bytes)
    let whole = try scratch.succeed("repair", "default", root: a)
    #expect(whole.contains("nothing to repair\nthe folder has what this device has published: "))
    try expectAll(try scratch.succeed("export", "t", root: a), in: scratch.path("c"))
  }

  @Test func `what the folder has lost of a device that is gone comes from one that has it`()
    throws
  {
    let (a, file) = try published()
    let b = scratch.path("b")
    let all = try scratch.succeed("export", "t", root: a)
    try expectAll(all, in: b)
    try scratch.succeed("sync", root: b)
    try remove("a")
    try remove(file)
    let found = try scratch.succeed("doctor", root: b)
    #expect(found.contains("names 1 file of ") && found.contains("All that is in it is here"))
    #expect(found.contains("  -> cairn repair default --root \(b)\n"), "\(found)")
    let done = try scratch.succeed("repair", "default", root: b)
    #expect(done.contains("a snapshot has what the files in the folder lack"))
    try expectAll(all, in: scratch.path("c"))
  }

  @Test func `a dry run writes nothing to a folder in which nobody has exchanged`() throws {
    let (a, folder) = (scratch.path("a"), scratch.path("folder"))
    let file = try scratch.write("one.csv", "k,name\n7,name 7\n")
    try scratch.succeed(
      "import", "t", file, "--key", "k", "--folder", folder, "--user", "ann", root: a)
    let dry = try scratch.cairn("repair", "default", "--dry-run", root: a)
    #expect(dry.status != 0 && dry.errors.contains("cairn.json"))
    #expect(!scratch.exists("folder/cairn.json"))
    #expect(try scratch.cairn("repair", "default", root: a).status == 0)
    #expect(scratch.exists("folder/cairn.json"))
    #expect(try scratch.cairn("repair", "default", "--dry-run", root: a).status == 0)
  }

  @Test func `a folder that is not there is told, and what was found here, too`() throws {
    let (a, _) = try published()
    try remove("folder")
    let outcome = try scratch.cairn("repair", "default", root: a)
    #expect(outcome.status != 0 && outcome.output == "default is whole; nothing to repair\n")
    #expect(outcome.errors.contains("cairn.json"))
  }

  @Test func `records that were deleted elsewhere come back`() throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    let file = try scratch.write("two.csv", "k,name\n7,name 7\n8,name 8\n")
    try scratch.succeed(
      "import", "t", file, "--key", "k", "--folder", folder, "--user", "ann", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, "--user", "bea", root: b)
    try scratch.succeed("delete", "t", "7", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", root: b)
    let list = try scratch.succeed("trash", root: b)
    #expect(list.hasPrefix("t  7  ") && list.contains("1 record\n"))
    #expect(try scratch.succeed("trash", "show", "t", "7", root: b).contains("name=\"name 7\""))
    #expect(try scratch.cairn("trash", "restore", "t", "8", root: b).status == 4)
    #expect(try scratch.cairn("trash", "restore", root: b).status == 2)
    #expect(
      try scratch.succeed("trash", "restore", "t", "7", root: b) == "restored 1 record\n")
    try scratch.succeed("sync", root: b)
    try scratch.succeed("sync", root: a)
    #expect(try scratch.succeed("get", "t", "7", root: a).contains("name=\"name 7\""))
    #expect(try scratch.succeed("trash", "empty", root: b) == "removed 0 records for good\n")
  }

  @Test func `a damaged file of the trash is named`() throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    let file = try scratch.write("two.csv", "k,name\n7,name 7\n8,name 8\n")
    try scratch.succeed(
      "import", "t", file, "--key", "k", "--folder", folder, "--user", "ann", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, "--user", "bea", root: b)
    for key in ["7", "8"] {
      try scratch.succeed("delete", "t", key, root: a)
      try scratch.succeed("sync", root: a)
      try scratch.succeed("sync", root: b)
    }
    let files = try scratch.files(below: "b").filter { $0.hasSuffix(".del") }
    try #require(files.count == 2)
    var bytes = try scratch.bytes("b/" + files[0])
    bytes[40] ^= 1
    let bad = try scratch.write("b/" + files[0], bytes)
    let list = try scratch.cairn("trash", root: b)
    #expect(list.status == 1)
    #expect(list.output.contains("t  8  ") && list.output.contains("1 record\n"))
    #expect(list.output.contains("lost: ") && list.output.contains(bad))
    let report = try json(try scratch.cairn("trash", "--json", root: b).output)
    #expect((report["problems"] as? [String])?.count == 1)
    let doctor = try scratch.cairn("doctor", root: b)
    #expect(doctor.status == 1 && doctor.output.contains(bad))
    #expect(try scratch.cairn("verify", root: b).status == 3)
    let restored = try scratch.cairn("trash", "restore", "--all", root: b)
    #expect(restored.status == 1 && restored.output.contains("restored 1 record\nlost: "))
  }
}
