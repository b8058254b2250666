import Foundation
import TestSupport
import Testing

/// What the tool remembers of a root, however that is called and by however many at once.
@Suite struct SettingsToolTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func folder(of root: String) throws -> String? {
    try json(scratch.succeed("status", "--json", root: root))["folder"] as? String
  }

  @Test func `a root is linked by whatever path it was reached`() throws {
    let folder = scratch.path("folder")
    let link = scratch.path("link")
    try FileManager.default.createDirectory(
      atPath: scratch.root, withIntermediateDirectories: false)
    try scratch.succeed(
      "set", "t", "a", "n=1", "--insert", "--folder", folder, root: scratch.root + "/.")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch.root)
    let roots = [scratch.root, scratch.root + "/", scratch.root + "/../root", link, link + "/."]
    for root in roots { #expect(try self.folder(of: root) == folder, "\(root)") }
    #expect(scratch.exists("root.settings"))
    #expect(!scratch.exists("root/..settings") && !scratch.exists("link.settings"))
    #expect(try scratch.cairn("sync", root: link).status == 0)
  }

  @Test func `what an older cairn remembered under the name as typed is found once`() throws {
    let folder = scratch.path("folder")
    let link = scratch.path("link")
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", folder)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch.root)
    try FileManager.default.moveItem(
      atPath: scratch.path("root.settings"), toPath: scratch.path("link.settings"))
    #expect(try self.folder(of: link) == folder)
    #expect(scratch.exists("root.settings") && !scratch.exists("link.settings"))
    #expect(try self.folder(of: scratch.root) == folder)
  }

  @Test(arguments: ["folder", "user", "credentials", "certificates"])
  func `an option that is remembered is one line of text`(_ option: String) throws {
    let outcome = try scratch.cairn("set", "t", "a", "n=1", "--insert", "--\(option)", "/a\nb")
    #expect(outcome.status == 2, "\(outcome)")
    #expect(
      outcome.errors.contains(
        "--folder, --user, --credentials and --certificates hold one line of text each"))
    #expect(!scratch.exists("root.settings"))
  }

  /// Runs the tool in the directory around the root, with a CAIRN_ROOT that is empty.
  private func here(_ arguments: [String]) throws -> Tool.Outcome {
    let tool = URL(filePath: Tool.directory + "cairn").absoluteURL.path
    return try Tool.run(
      ["-c", #"cd "$0" && CAIRN_ROOT= "$@""#, scratch.path("."), tool] + arguments,
      program: "/bin/sh")
  }

  @Test(
    arguments: [
      ["--folder", ""], ["--folder", "dir:"], ["--credentials", ""], ["--certificates", ""],
    ])
  func `an option that is empty is no place, and nothing is remembered`(
    option: [String]
  ) throws {
    let set = ["set", "t", "a", "n=1", "--insert", "--root", scratch.root]
    let outcome = try here(set + option)
    #expect(outcome.status == 2, "\(outcome)")
    let message = "an option that names a place is empty: is a variable not set?"
    #expect(outcome.errors == "cairn: \(message)\n")
    #expect(!scratch.exists("root.settings"))
    #expect(try scratch.files(below: ".") == [])
    // Nor is another place remembered instead of one that is.
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", scratch.path("folder"))
    let before = try scratch.text("root.settings")
    #expect(try here(["get", "t", "a", "--root", scratch.root] + option).status == 2)
    #expect(try scratch.text("root.settings") == before)
  }

  @Test(arguments: ["tables", "ls", "verify", "doctor", "unfollow"])
  func `a root that is empty is no place`(command: String) throws {
    let outcome = try here([command, "--root", ""])
    #expect(outcome.status == 2, "\(outcome)")
    #expect(outcome.errors.contains("--root takes a directory, and is empty"))
    #expect(outcome.output == "")
    #expect(try scratch.files(below: ".") == [])
  }

  @Test func `an empty CAIRN_ROOT is one that is not set`() throws {
    let root = scratch.path("cairn-data")
    try scratch.succeed("set", "t", "a", "n=1", "--insert", root: root)
    let read = try here(["get", "t", "a"])
    #expect(read.status == 0 && read.output == "n=1\n", "\(read)")
    let written = try here(["set", "t", "a", "n=2"])
    #expect(written.status == 0, "\(written)")
    #expect(try scratch.succeed("get", "t", "a", root: root) == "n=2\n")
    let verified = try here(["verify"])
    #expect(verified.status == 0, "\(verified)")
    #expect(try here(["unfollow"]).errors == "cairn: nothing is followed in cairn-data\n")
  }

  // MARK: another folder

  /// The root has exchanged with a folder; the path of that.
  private func exchanged() throws -> String {
    let folder = scratch.path("folder")
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", folder)
    try scratch.succeed("sync")
    return folder
  }

  @Test(arguments: [["devices"], ["sync"], ["set", "t", "a", "n=2"]])
  func `a folder that has not proved to be the right one is not remembered`(
    command: [String]
  ) throws {
    let folder = try exchanged()
    let before = try scratch.text("root.settings")
    let place = ["--folder", scratch.path("other"), "--root", scratch.root]
    let outcome = try Tool.run(command + place)
    if command == ["sync"] { #expect(outcome.status == 4, "\(outcome)") }
    #expect(try scratch.text("root.settings") == before)
    #expect(try self.folder(of: scratch.root) == folder)
    #expect(try scratch.cairn("sync").status == 0)
  }

  @Test func `a folder elsewhere is remembered when it has proved to be the same`() throws {
    let moved = scratch.path("moved")
    try FileManager.default.moveItem(atPath: try exchanged(), toPath: moved)
    #expect(try scratch.cairn("sync").status == 4)
    try scratch.succeed("sync", "--folder", moved)
    #expect(try folder(of: scratch.root) == moved)
    #expect(try scratch.cairn("sync").status == 0)
  }

  @Test func `until something was exchanged a folder takes the place of one that was wrong`()
    throws
  {
    let (wrong, right) = (scratch.path("wrong"), scratch.path("right"))
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", wrong)
    #expect(try folder(of: scratch.root) == wrong)
    try scratch.succeed("set", "t", "b", "n=2", "--insert", "--folder", right)
    #expect(try folder(of: scratch.root) == right)
    try scratch.succeed("sync")
    #expect(scratch.exists("right/cairn.json") && !scratch.exists("wrong/cairn.json"))
  }

  /// The second time it was, but not with the folder of the others.
  @Test func `a datastore that was never exchanged proves nothing of another folder`() throws {
    let folder = try exchanged()
    let before = try scratch.text("root.settings")
    try scratch.succeed("set", "t", "b", "n=2", "--insert", "--datastore", "new")
    for _ in 0..<2 {
      try scratch.succeed("sync", "--datastore", "new", "--folder", scratch.path("other"))
      #expect(try scratch.text("root.settings") == before)
    }
    #expect(try self.folder(of: scratch.root) == folder)
    #expect(try scratch.cairn("sync").status == 0)
  }

  @Test func `many commands may be the first at once`() throws {
    let folder = scratch.path("folder")
    let processes = try (0..<8).map { number in
      try Tool.start(
        [
          "set", "t", "a", "n=1", "--insert", "--datastore", "d\(number)", "--folder", folder,
          "--root", scratch.root,
        ] + (number == 3 ? ["--limits", "large"] : []),
        output: scratch.path("output\(number)"), errors: scratch.path("errors\(number)"))
    }
    let statuses = processes.map { Tool.wait(for: $0) }
    let errors = try (0..<8).map { try scratch.text("errors\($0)") }
    #expect(statuses == [Int32](repeating: 0, count: 8), "\(errors)")
    let settings = try scratch.text("root.settings")
    #expect(settings.contains("folder \(folder)\n"))
    #expect(settings.contains("limits large\n"), "no other one takes back what one was told")
    #expect(try scratch.files(below: ".").allSatisfy { !$0.hasSuffix(".partial") })
  }
}
