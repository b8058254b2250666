import TestSupport
import Testing

/// `cairn roles`, by two users around one folder.
@Suite struct RolesTests {
  let scratch: Scratch
  private let id = ".stones"

  init() throws { scratch = try Scratch() }

  private func run(_ user: String, _ arguments: String...) throws -> Tool.Outcome {
    try Tool.run(
      arguments + [
        "--root", scratch.path(user), "--datastore", id, "--folder", scratch.path("folder"),
        "--user", user,
      ])
  }

  /// Runs it, and throws if it fails; its output.
  @discardableResult
  private func succeed(_ user: String, _ arguments: String...) throws -> String {
    let outcome = try Tool.run(
      arguments + [
        "--root", scratch.path(user), "--datastore", id, "--folder", scratch.path("folder"),
        "--user", user,
      ])
    guard outcome.status == 0 else {
      throw Scratch.Failed(arguments: arguments, outcome: outcome)
    }
    return outcome.output
  }

  @Test func `roles are listed, given and taken away`() throws {
    try succeed("ann", "set", "t", "r", "x=1", "--insert")
    #expect(try succeed("ann", "roles") == "(here)  owner\n")
    #expect(try succeed("ann", "roles", "set", "public", "viewer") == "public viewer\n")
    #expect(try succeed("ann", "roles", "set", "user:b ob", "editor") == "user:b ob editor\n")
    let listed = """
      public     viewer
      user:ann   owner
      user:b ob  editor
      (here)     owner

      """
    #expect(try succeed("ann", "roles", "list") == listed)
    #expect(try succeed("ann", "roles", "delete", "user:b ob") == "user:b ob none\n")
    #expect(try succeed("ann", "roles", "set", "public", "none") == "public none\n")
    let document = try json(try succeed("ann", "roles", "list", "--json"))
    let roles = try #require(document["roles"] as? [[String: String]])
    #expect(roles == [["principal": "user:ann", "role": "owner"]])
    #expect(document["effective"] as? String == "owner")
    #expect(document["writable"] as? Bool == true)
  }

  @Test func `a viewer is refused`() throws {
    try succeed("ann", "set", "t", "r", "x=1", "--insert")
    try succeed("ann", "roles", "set", "public", "viewer")
    try succeed("ann", "sync")
    let opened = try run("bob", "sync")
    #expect(opened.status == 0, "\(opened)")
    #expect(try succeed("bob", "get", "t", "r") == "x=1\n")
    #expect(try succeed("bob", "roles").hasSuffix("(here)    viewer\n"))
    let refused = try run("bob", "set", "t", "r", "x=2")
    #expect(refused.status == 1)
    #expect(refused.errors.contains("read-only"))
    #expect(try run("bob", "roles", "set", "user:bob", "editor").status == 1)
    #expect(try succeed("bob", "get", "t", "r") == "x=1\n")
  }

  @Test func `what is used wrongly says so`() throws {
    try succeed("ann", "set", "t", "r", "x=1", "--insert")
    #expect(try run("ann", "roles", "set", "public", "owner").status == 2)
    #expect(try run("ann", "roles", "set", "everybody", "viewer").status == 2)
    #expect(try run("ann", "roles", "set", "user:", "viewer").status == 2)
    try scratch.succeed("set", "t", "r", "x=1", "--insert")
    let isPrivate = try scratch.cairn("roles")
    #expect(isPrivate.status == 1)
    #expect(isPrivate.errors.contains("shareable"))
    let team = try run("ann", "roles", "set", "team", "viewer")
    #expect(team.status == 1 && team.errors.contains("organisation"))
  }
}
