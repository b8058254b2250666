import TestSupport
import Testing

@Suite struct RulesTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.succeed("set", "tasks", "a", "votes=1", "--insert")
  }

  @Test func `rules are set and shown`() throws {
    #expect(try scratch.succeed("rules") == "(default)    remote\n")
    #expect(try scratch.succeed("rules", "set", "tasks", "votes", "sum") == "tasks  votes  sum\n")
    try scratch.succeed("rules", "set", "later", "size", "max")
    #expect(try scratch.succeed("rules", "default", "local") == "(default)  local\n")
    #expect(
      try scratch.succeed("rules", "show") == """
        later      size   max
        tasks      votes  sum
        (default)         local

        """)
  }

  @Test func `rules speak JSON`() throws {
    let set = try json(scratch.succeed("rules", "set", "tasks", "votes", "sum", "--json"))
    #expect(set["rule"] as? String == "sum" && set["committed"] as? Bool == true)
    let again = try json(scratch.succeed("rules", "set", "tasks", "votes", "sum", "--json"))
    #expect(again["committed"] as? Bool == false)
    let shown = try json(scratch.succeed("rules", "--json"))
    #expect(shown["default"] as? String == "remote")
    #expect(
      shown["rules"] as? [[String: String]]
        == [["table": "tasks", "field": "votes", "rule": "sum"]])
    let fallback = try json(scratch.succeed("rules", "default", "min", "--json"))
    #expect(fallback["default"] as? String == "min")
  }

  @Test func `a rule holds on the other device`() throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    try scratch.succeed(
      "set", "tasks", "a", "votes=1", "--insert", "--folder", folder, root: a)
    try scratch.succeed("rules", "set", "tasks", "votes", "sum", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, root: b)
    #expect(try scratch.succeed("rules", root: b) == scratch.succeed("rules", root: a))
    try scratch.succeed("set", "tasks", "a", "votes=3", root: a)
    try scratch.succeed("set", "tasks", "a", "votes=11", root: b)
    for root in [a, b, a] { try scratch.succeed("sync", root: root) }
    for root in [a, b] {
      #expect(try scratch.succeed("get", "tasks", "a", root: root) == "votes=13\n")
    }
  }

  @Test func `what is used wrongly says so`() throws {
    #expect(try scratch.cairn("rules", "set", "tasks", "votes", "most").status == 2)
    #expect(try scratch.cairn("rules", "set", "tasks", "votes").status == 2)
    #expect(try scratch.cairn("rules", "default").status == 2)
    let bad = try scratch.cairn("rules", "set", "tasks", "a field", "sum")
    #expect(bad.status == 1 && bad.errors.hasPrefix("cairn: "))
    #expect(try scratch.cairn("rules", "set", ":info", "title", "sum").status == 1)
    #expect(try scratch.cairn("rules", "--datastore", "other").status == 4)
    #expect(try scratch.succeed("rules") == "(default)    remote\n")
  }
}
