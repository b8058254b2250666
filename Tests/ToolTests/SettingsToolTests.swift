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
    #expect(try self.folder(of: scratch.root) == folder)
    #expect(scratch.exists("root.settings"))
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

  @Test func `many commands may be the first at once`() throws {
    let folder = scratch.path("folder")
    let processes = try (0..<8).map { number in
      try Tool.start(
        [
          "set", "t", "a", "n=1", "--insert", "--datastore", "d\(number)", "--folder", folder,
          "--root", scratch.root,
        ], output: scratch.path("output\(number)"), errors: scratch.path("errors\(number)"))
    }
    let statuses = processes.map { Tool.wait(for: $0) }
    let errors = try (0..<8).map { try scratch.text("errors\($0)") }
    #expect(statuses == [Int32](repeating: 0, count: 8), "\(errors)")
    let settings = try scratch.text("root.settings")
    #expect(settings.contains("folder \(folder)\n"))
    #expect(try scratch.files(below: ".").allSatisfy { !$0.hasSuffix(".partial") })
  }
}
