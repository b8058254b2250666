import Foundation
import TestSupport
import Testing

/// What commands say where something is missing, mistyped or in the way: why, and what to do.
@Suite struct AdviceTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private var folder: String { scratch.path("folder") }

  private func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: scratch.path(name))
  }

  private func move(_ name: String, to other: String) throws {
    try FileManager.default.moveItem(atPath: scratch.path(name), toPath: scratch.path(other))
  }

  private func device(of root: String) throws -> String {
    let list = try json(scratch.succeed("devices", "--json", root: root))
    return try #require(list["thisDevice"] as? String)
  }

  // MARK: what is lost

  @Test func `a log that has lost its end is told by doctor, verify and repair`() throws {
    let rows = (0..<500).map { "\($0),name \($0)\n" }.joined()
    let file = try scratch.write("in.csv", "k,name\n" + rows)
    try scratch.succeed("import", "t", file, "--key", "k")
    let segment = try #require(try scratch.files(below: "root").first { $0.hasSuffix(".seg") })
    try remove("root/" + segment)
    let words = "p-default/INFO notes 500 records in "
    let health = try scratch.cairn("doctor")
    #expect(health.status == 1 && health.output.contains(words), "\(health)")
    // Nobody knows why, and one of the causes is harmless.
    #expect(health.output.contains("or this directory was copied while it was open"), "\(health)")
    let verified = try scratch.cairn("verify")
    #expect(verified.status == 3 && verified.output.contains("damage: \(scratch.root)/\(words)"))
    #expect(
      verified.output.hasSuffix(
        "\nto have back what is lost: restore a backup of the whole directory; nothing here has "
          + "it\n"))
    let repair = try scratch.cairn("repair", "default")
    #expect(repair.status == 1 && repair.output.contains("lost: \(scratch.root)/\(words)"))
    #expect(repair.output.hasSuffix("has no damage that can be mended; nothing to repair\n"))
    let report = try json(scratch.cairn("repair", "default", "--json").output)
    #expect((report["lostEnd"] as? String)?.contains(words) == true)
  }

  @Test func `what an account has lost is exchanged again, wherever its folder is`() throws {
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", folder)
    let segment = try #require(try scratch.files(below: "root").first { $0.hasSuffix(".seg") })
    try remove("root/" + segment)
    let start = "\nto have back what was published: "
    let known = try scratch.cairn("verify")
    #expect(
      known.output.hasSuffix(
        start + "cairn sync --datastore default --root \(scratch.root)\n"), "\(known)")
    try remove("root.settings")
    let unknown = try scratch.cairn("verify")
    #expect(
      unknown.output.hasSuffix(
        start + "exchange with the account's shared folder, which is not known here\n"),
      "\(unknown)")
  }

  @Test func `a lost CURRENT is named by the repair`() throws {
    try scratch.succeed("set", "t", "a", "n=1", "--insert")
    try remove("root/p-default/CURRENT")
    let repair = try scratch.succeed("repair", "default")
    #expect(
      repair.hasPrefix("damaged: \(scratch.root)/p-default/CURRENT: it is missing"), "\(repair)")
    let trash = try scratch.succeed("trash", "list", "--datastores")
    #expect(trash.contains("as it was: it is missing although there is"), "\(trash)")
    let restore = try scratch.cairn("trash", "restore", "default", "--datastores")
    #expect(restore.status == 1)
    #expect(restore.errors.contains("move \(scratch.root)/p-default out of the root first"))
  }

  @Test func `a copy that was merged is not said to be deleted elsewhere`() throws {
    let (local, account) = (scratch.path("local"), scratch.path("account"))
    try scratch.succeed("set", "t", "a", "n=1", "--insert", root: local)
    try scratch.succeed("set", "t", "b", "n=1", "--insert", "--folder", folder, root: account)
    try scratch.succeed("migrate", "--to", account, root: local)
    let trash = try scratch.succeed("trash", "list", "--datastores", root: account)
    #expect(trash.contains("  from before it was merged with another one\n"), "\(trash)")
  }

  // MARK: whose it is

  @Test func `a root that was moved without its settings says what it needs`() throws {
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", folder, "--user", "ann")
    try scratch.succeed("sync")
    try move("root", to: "moved")
    let moved = scratch.path("moved")
    let advice = "cairn sync --folder FOLDER --user ann --root \(moved)"
    let health = try scratch.cairn("doctor", root: moved)
    #expect(health.status == 1 && health.output.contains(advice), "\(health)")
    for command in [["tables"], ["sync"], ["watch"], ["ls", "--refresh"]] {
      let outcome = try Tool.run(command + ["--root", moved])
      #expect(outcome.status == 2 && outcome.errors.contains(advice), "\(outcome)")
      #expect(outcome.errors.contains("default in \(moved) belongs to an account"))
    }
    // Whoever runs it, it goes on as the user that it was.
    let environment = ProcessInfo.processInfo.environment.merging(["USER": "somebody"]) { $1 }
    let synced = try Tool.run(
      ["sync", "--root", moved, "--folder", folder], environment: environment)
    #expect(synced.status == 0, "\(synced)")
    #expect(try scratch.text("moved.settings") == "folder \(folder)\nuser ann\n")
    #expect(try scratch.cairn("doctor", root: moved).status == 0)
  }

  /// It would be a local one, which nobody would ever exchange.
  @Test func `nothing is made in a root that was moved without its settings`() throws {
    let names = ["--datastore", "notes"]
    let make = ["set", "t", "a", "n=1", "--insert"]
    let place = ["--folder", folder, "--root", scratch.root]
    #expect(try Tool.run(make + names + place).status == 0)
    #expect(try Tool.run(["sync", "--root", scratch.root] + names).status == 0)
    try move("root", to: "moved")
    let moved = scratch.path("moved")
    let file = try scratch.write("in.csv", "k,x\nr,1\n")
    for command in [make, ["import", "t", file, "--key", "k"]] {
      let outcome = try Tool.run(command + ["--root", moved])
      #expect(outcome.status == 2, "\(outcome)")
      #expect(outcome.errors.contains("notes in \(moved) belongs to an account"), "\(outcome)")
    }
    #expect(!scratch.exists("moved/p-default") && !scratch.exists("moved.settings"))
    #expect(try Tool.run(make + ["--folder", folder, "--root", moved]).status == 0)
    #expect(scratch.exists("moved/p-default"))
    try scratch.succeed("sync", root: moved)
  }

  // MARK: which one

  @Test func `where there is another datastore it is named`() throws {
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--datastore", "notes")
    let one = try scratch.cairn("status")
    #expect(one.status == 4)
    #expect(one.errors.contains("; there is notes, to be chosen with --datastore"), "\(one)")
    // What looks at files only takes the only one.
    for command in ["verify", "log", "segments"] {
      #expect(try scratch.cairn(command).status == 0, "\(command)")
    }
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--datastore", "more")
    for command in ["tables", "verify"] {
      let several = try scratch.cairn(command)
      #expect(several.status == 4 && several.errors.contains("; there are more, notes, "))
    }
  }

  @Test func `what is followed under another name is verified without naming it`() throws {
    let (member, copy) = (scratch.path("member"), scratch.path("copy"))
    let names = ["--datastore", "notes"]
    #expect(
      try Tool.run(
        ["set", "t", "a", "n=1", "--insert", "--folder", folder, "--root", member] + names
      ).status == 0)
    #expect(try Tool.run(["sync", "--root", member] + names).status == 0)
    #expect(try Tool.run(["follow", folder, "--root", copy] + names).status == 0)
    for command in ["verify", "log", "segments"] {
      #expect(try scratch.cairn(command, root: copy).status == 0, "\(command)")
    }
  }

  @Test func `a datastore that is only in the list is not made by looking at it`() throws {
    let (a, b) = (scratch.path("a"), scratch.path("b"))
    try scratch.succeed(
      "set", "t", "r", "n=1", "--insert", "--datastore", "prog", "--folder", folder, root: a)
    try scratch.succeed("sync", "--datastore", "prog", root: a)
    try scratch.succeed("ls", "--refresh", root: a)
    try scratch.succeed("ls", "--refresh", "--folder", folder, root: b)
    for command in [["tables"], ["status"], ["get", "t", "r"]] {
      let outcome = try Tool.run(command + ["--datastore", "prog", "--root", b])
      #expect(outcome.status == 4, "\(outcome)")
      #expect(outcome.errors.contains("get it with cairn sync --datastore prog --root \(b)\n"))
    }
    let named = try Tool.run(["tables", "--datastore", "prog", "--root", b, "--folder", folder])
    #expect(named.errors.contains("--datastore prog --root \(b) --folder \(folder)\n"), "\(named)")
    #expect(!scratch.exists("b/p-prog"))
    try scratch.succeed("sync", "--datastore", "prog", root: b)
    #expect(try scratch.succeed("get", "t", "r", "--datastore", "prog", root: b) == "n=1\n")
  }

  // MARK: devices

  @Test func `nobody is told to leave out a device that has just been there`() throws {
    let (a, b) = (scratch.path("a"), scratch.path("b"))
    try scratch.succeed("set", "t", "r", "n=1", "--insert", "--folder", folder, root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, root: b)
    try scratch.succeed("set", "t", "r", "n=2", root: b)
    try scratch.succeed("sync", root: b)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("set", "t", "r", "n=3", root: a)
    try scratch.succeed("sync", root: a)
    let asked = try scratch.succeed("compact", "--forget", root: a)
    let other = try device(of: b)
    #expect(asked.contains("waiting for \(other)\n"), "\(asked)")
    #expect(asked.contains("each of them has to sync; ") && !asked.contains("--retire"))
    #expect(asked.contains(": cairn doctor default --root \(a)\n"), "\(asked)")
    let health = try scratch.succeed("doctor", "default", root: a)
    #expect(health.contains("Let it sync") && !health.contains("--retire"), "\(health)")
  }

  // MARK: folders

  @Test func `a folder is remembered without steps up, and named where it is missing`() throws {
    try FileManager.default.createDirectory(
      atPath: scratch.path("sub"), withIntermediateDirectories: true)
    let typed = scratch.path("sub/../folder")
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", typed, "--user", "ann")
    #expect(try scratch.text("root.settings") == "folder \(folder)\nuser ann\n")
    try scratch.succeed("sync")
    try move("folder", to: "away")
    let outcome = try scratch.cairn("sync")
    #expect(outcome.status == 4 && outcome.errors.contains("(the folder is \(folder))"))
  }

  // MARK: values

  @Test func `a value that can't be is told why`() throws {
    let cases = [
      (#"a={"x":1}"#, "a field can't hold an object"), ("a=[1,", "it is no JSON: "),
      ("a=[[1]]", "a list can't hold a list"), ("a", "write field=value"),
      ("a b=1", "can't be a field's name"),
    ]
    for (argument, reason) in cases {
      let outcome = try scratch.cairn("set", "t", "r", argument, "--insert")
      #expect(outcome.status == 2 && outcome.errors.contains(reason), "\(outcome)")
    }
    let item = try scratch.cairn("list", "append", "t", "r", "f", "[1]x")
    #expect(item.status == 2 && item.errors.contains("it is no JSON: "), "\(item)")
    #expect(!scratch.exists("root"))
  }

  // MARK: help

  @Test(arguments: ["-5", "0", "1", "26", "40", "x"])
  func `help comes on the narrowest screen`(columns: String) throws {
    let environment = ProcessInfo.processInfo.environment.merging(["COLUMNS": columns]) { $1 }
    for command in [[], ["sync"], ["import"], ["follow"]] {
      let outcome = try Tool.run(command + ["--help"], environment: environment)
      #expect(outcome.status == 0 && outcome.output.contains("USAGE: cairn"), "\(outcome)")
    }
  }
}
