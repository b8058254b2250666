import TestSupport
import Testing

@Suite struct ListFieldTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.succeed(
      "set", "tasks", "a", "title=Wall", "tags=[\"x\",2,true]", "--insert")
  }

  private func list(_ command: String, _ arguments: String...) throws -> Tool.Outcome {
    try Tool.run(["list", command, "--root", scratch.root] + arguments)
  }

  private func items() throws -> String { try scratch.succeed("list", "tasks", "a", "tags") }

  @Test func `items are shown with their numbers`() throws {
    #expect(try items() == "0  \"x\"\n1  2\n2  true\n3 items\n")
    #expect(try scratch.succeed("list", "show", "tasks", "a", "tags") == items())
    #expect(try scratch.succeed("list", "tasks", "a", "nothing") == "0 items\n")
    let document = try json(scratch.succeed("list", "tasks", "a", "tags", "--json"))
    #expect(document["field"] as? String == "tags")
    #expect((document["items"] as? [Any])?.count == 3)
  }

  @Test func `items are inserted, appended, replaced, moved and removed`() throws {
    let printed = try scratch.succeed("list", "insert", "tasks", "a", "tags", "1", "y", "1.5")
    #expect(printed == "0  \"x\"\n1  \"y\"\n2  1.5\n3  2\n4  true\n5 items\n")
    #expect(try items() == printed)
    #expect(
      try list("append", "tasks", "a", "tags", "\"7\"", "--", "-8").status == 0)
    try scratch.succeed("list", "replace", "tasks", "a", "tags", "0", "z")
    try scratch.succeed("list", "move", "tasks", "a", "tags", "0", "6")
    #expect(
      try items() == "0  \"y\"\n1  1.5\n2  2\n3  true\n4  \"7\"\n5  -8\n6  \"z\"\n7 items\n")
    try scratch.succeed("list", "remove", "tasks", "a", "tags", "0", "6", "2")
    #expect(try items() == "0  1.5\n1  true\n2  \"7\"\n3  -8\n4 items\n")
    #expect(
      try scratch.succeed("get", "tasks", "a") == "tags=[1.5,true,\"7\",-8]\ntitle=\"Wall\"\n")
  }

  @Test func `a field that is not there becomes a list`() throws {
    let text = try scratch.succeed("list", "append", "tasks", "a", "new", "1", "2", "--json")
    let document = try json(text)
    #expect(document["items"] as? [Int] == [1, 2])
    #expect(document["committed"] as? Bool == true)
    let again = try json(
      scratch.succeed("list", "move", "tasks", "a", "new", "1", "1", "--json"))
    #expect(again["committed"] as? Bool == false)
  }

  @Test(
    arguments: [
      (["insert", "tasks", "a", "tags", "4", "y"], "badIndex"),
      (["replace", "tasks", "a", "tags", "3", "y"], "badIndex"),
      (["remove", "tasks", "a", "tags", "0", "3"], "badIndex"),
      (["move", "tasks", "a", "tags", "0", "3"], "badIndex"),
      (["append", "tasks", "a", "title", "y"], "badType"),
      (["append", "tasks", "a", "tags", "[1]"], "badType"),
      (["show", "tasks", "a", "title"], "badType"),
    ])
  func `what can't be done changes nothing and says why`(
    arguments: [String], code: String
  ) throws {
    let outcome = try Tool.run(["list"] + arguments + ["--root", scratch.root, "--json"])
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.output == "")
    let error = try json(outcome.errors)["error"] as? [String: Any]
    #expect(error?["code"] as? String == code)
    #expect(try items() == "0  \"x\"\n1  2\n2  true\n3 items\n")
  }

  @Test func `what is missing or used wrongly ends with 4 or 2`() throws {
    #expect(try list("show", "tasks", "nobody", "tags").status == 4)
    #expect(try list("append", "nothing", "a", "tags", "1").status == 4)
    #expect(try list("append", "tasks", "a", "tags").status == 2)
    #expect(try list("remove", "tasks", "a", "tags", "first").status == 2)
    #expect(try list("remove", "tasks", "a", "tags", "0", "0").status == 2)
    #expect(try list("show", "tasks", "a").status == 2)
  }

  @Test func `edits of two roots merge`() throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    try scratch.succeed(
      "set", "tasks", "a", "tags=[\"x\"]", "--insert", "--folder", folder, root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, root: b)
    try scratch.succeed("list", "insert", "tasks", "a", "tags", "0", "here", root: a)
    try scratch.succeed("list", "append", "tasks", "a", "tags", "there", root: b)
    for root in [a, b, a] { try scratch.succeed("sync", root: root) }
    for root in [a, b] {
      #expect(
        try scratch.succeed("list", "tasks", "a", "tags", root: root)
          == "0  \"here\"\n1  \"x\"\n2  \"there\"\n3 items\n")
    }
  }
}
