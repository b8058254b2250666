import TestSupport
import Testing

/// Commands about datastores as a whole: the list, titles, and moving to a folder.
@Suite struct DatastoreListTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func list(_ root: String, _ arguments: String...) throws -> [[String: Any]] {
    let outcome = try Tool.run(["ls", "--json", "--root", root] + arguments)
    #expect(outcome.status == 0, "\(outcome.errors)")
    return try #require(try json(outcome.output)["datastores"] as? [[String: Any]])
  }

  @Test func `titles are set, shown, listed and removed`() throws {
    try scratch.succeed("set", "t", "r", "a=1", "--insert")
    try scratch.succeed("set", "t", "r", "a=1", "--insert", "--datastore", "other")
    #expect(try scratch.succeed("title") == "")
    #expect(try scratch.succeed("title", "My list") == "My list\n")
    #expect(try scratch.succeed("title") == "My list\n")
    let expected = """
      default  here  2 records  "My list"
      other    here  1 record
      2 datastores

      """
    #expect(try scratch.succeed("ls") == expected)
    // The title is the second record, and in no table.
    let tables = try scratch.succeed("tables").split(separator: "\n")
    #expect(tables.count == 2 && tables[0] == "t  1 record")
    let besides = "besides, 1 record of the library's own tables (title, "
    #expect(tables.last?.hasPrefix(besides) == true)
    #expect(try scratch.succeed("tables", "--datastore", "other") == "t  1 record\n")
    #expect(try scratch.succeed("title", "--remove") == "")
    #expect(try list(scratch.root).map { $0["title"] as? String } == [nil, nil])
    #expect(try scratch.cairn("title", "x", "--remove").status == 2)
    #expect(try scratch.cairn("title", "--datastore", "missing").status == 4)
    #expect(try scratch.cairn("ls", "--refresh").status == 2)
  }

  @Test func `what one root has the other one lists`() throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    try scratch.succeed("set", "t", "r", "a=1", "--insert", "--folder", folder, root: a)
    try scratch.succeed("title", "Shared", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("ls", "--refresh", root: a)
    let found = try list(b, "--refresh", "--folder", folder)
    #expect(found.map { $0["title"] as? String } == ["Shared"])
    #expect(found.first?["here"] as? Bool == false)
    try scratch.succeed("sync", root: b)
    #expect(try list(b).first?["here"] as? Bool == true)
    #expect(try scratch.succeed("get", "t", "r", root: b) == "a=1\n")
  }

  @Test func `a refresh tells which files of the list are damaged`() throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    try scratch.succeed("set", "t", "r", "a=1", "--insert", "--folder", folder, root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("ls", "--refresh", root: a)
    let name = try #require(try scratch.files(below: "folder/catalogue").first)
    var bytes = try scratch.bytes("folder/catalogue/" + name)
    bytes[bytes.count / 2] ^= 0x5A
    _ = try scratch.write("folder/catalogue/" + name, bytes)
    let outcome = try scratch.cairn("ls", "--refresh", "--folder", folder, root: b)
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors.contains("cairn: problem with \(name): "), "\(outcome)")
    #expect(outcome.errors.contains("the checksum does not match"), "\(outcome)")
  }

  @Test func `a status names the others that are here, and not those in the folder`() throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    try scratch.succeed(
      "set", "t", "r", "a=1", "--insert", "--datastore", "notes", "--folder", folder, root: a)
    try scratch.succeed("sync", "--datastore", "notes", root: a)
    try scratch.succeed("ls", "--refresh", root: a)
    try scratch.succeed("set", "t", "r", "a=1", "--insert", "--folder", folder, root: b)
    let found = try list(b, "--refresh")
    #expect(found.map { $0["datastore"] as? String } == ["default", "notes"])
    #expect(try scratch.succeed("status", root: b).contains("\nothers here  none\n"))
    let status = try json(try scratch.succeed("status", "--json", root: b))
    #expect(status["otherDatastores"] as? [String] == [])
    try scratch.succeed("set", "t", "r", "a=1", "--insert", "--datastore", "more", root: b)
    #expect(try scratch.succeed("status", root: b).contains("\nothers here  more\n"))
  }

  @Test func `moving all datastores refuses the name of one`() throws {
    let (local, account) = (scratch.path("local"), scratch.path("account"))
    for id in ["one", "two"] {
      try scratch.succeed("set", "t", "r", "a=1", "--insert", "--datastore", id, root: local)
    }
    let outcome = try scratch.cairn(
      "migrate", "--datastore", "one", "--to", account, "--folder", scratch.path("folder"),
      root: local)
    #expect(outcome.status == 2 && outcome.errors.contains("--datastore one: "), "\(outcome)")
    #expect(try list(local).map { $0["datastore"] as? String } == ["one", "two"])
    #expect(!scratch.exists("account") && !scratch.exists("folder"))
  }

  @Test func `local datastores are moved to a root with a folder`() throws {
    let (local, account) = (scratch.path("local"), scratch.path("account"))
    try scratch.succeed("set", "t", "r", "a=1", "b=1", "--insert", root: local)
    try scratch.succeed("set", "t", "x", "a=1", "--insert", "--datastore", "more", root: local)
    #expect(try scratch.cairn("migrate", "--to", account, root: local).status == 2)
    try scratch.succeed(
      "set", "t", "r", "a=2", "c=2", "--insert", "--folder", scratch.path("folder"), root: account)
    let text = try scratch.succeed("migrate", "--to", account, root: local)
    #expect(
      text == """
        moved default: 1 record
        moved more: 1 record
        default: t/r.a is 2; 1 is lost

        """)
    #expect(try list(local).isEmpty)
    #expect(try list(account).map { $0["datastore"] as? String } == ["default", "more"])
    #expect(try scratch.succeed("get", "t", "r", root: account) == "a=2\nb=1\nc=2\n")
    try scratch.succeed("sync", root: account)
    try scratch.succeed("sync", "--datastore", "more", root: account)
  }
}
