import Cairn
import TestSupport
import Testing

@Suite struct MassDeleteToolTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test func `a mass delete is said, held, and taken with a flag`() throws {
    let rows = (0..<80).map { "\($0),x\n" }.joined()
    let file = try scratch.write("in.csv", "k,name\n" + rows)
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    try scratch.succeed(
      "import", "t", file, "--key", "k", "--folder", folder, "--user", "ann", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, "--user", "bea", root: b)
    let ids = (0..<80).map { "\($0)" }
    #expect(try Tool.run(["delete", "t"] + ids + ["--root", a]).status == 0)
    try scratch.succeed("sync", root: a)
    let held = try scratch.cairn("sync", root: b)
    #expect(held.status == 1)
    #expect(held.output.contains("held: device ") && held.output.contains("(ann) deletes 80 of"))
    let command = "cairn sync --datastore default --allow-mass-delete --root \(b)\n"
    #expect(held.output.contains("\nto take what is held: \(command)"), "\(held)")
    #expect(try scratch.succeed("status", root: b).contains(": \(command)"))
    let health = try scratch.cairn("doctor", root: b)
    #expect(health.status == 1 && health.output.contains("  -> \(command)"), "\(health)")
    #expect(!health.output.contains("  -> cairn sync --datastore default --root"), "\(health)")
    let report = try json(scratch.cairn("sync", "--json", root: b).output)
    let part = try #require(report["massDelete"] as? [String: Any])
    #expect(part["records"] as? Int == 80)
    #expect(try scratch.succeed("tables", root: b) == "t  80 records\n")
    #expect(try scratch.succeed("sync", "--allow-mass-delete", root: b).contains("80 deleted"))
    #expect(try scratch.succeed("tables", root: b) == "")
  }

  @Test func `datastores that were deleted at once are said, held, and taken with a flag`()
    async throws
  {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    let ids = (0..<8).map { "d\($0)" }
    for id in ids {
      try scratch.succeed(
        "set", "t", "r", "n=1", "--insert", "--datastore", id, "--folder", folder, "--user", "ann",
        root: a)
      try scratch.succeed("sync", "--datastore", id, root: a)
    }
    try scratch.succeed("ls", "--refresh", root: a)
    try scratch.succeed("ls", "--refresh", "--folder", folder, "--user", "bea", root: b)
    let manager = try DatastoreManager(
      root: a, account: Account(user: "ann", folder: .directory(folder)))
    for id in ids.prefix(6) { try manager.deleteDatastore(id) }
    try await manager.refresh()
    let held = try scratch.cairn("ls", "--refresh", root: b)
    #expect(held.status == 1, "\(held)")
    let advice = "cairn ls --refresh --allow-mass-delete --root \(b)\n"
    #expect(held.output.contains("\nheld: 6 datastores deleted elsewhere at once, "), "\(held)")
    #expect(held.output.hasSuffix("d0 d1 d2 d3 d4 d5; if that is meant: " + advice), "\(held)")
    let again = try scratch.cairn("ls", "--refresh", "--json", root: b)
    #expect(again.status == 1)
    #expect(try json(again.output)["heldDeletes"] as? [String] == Array(ids.prefix(6)))
    try scratch.succeed("ls", "--refresh", "--allow-mass-delete", root: b)
    let left = try scratch.succeed("ls", root: b)
    #expect(left.contains("d6 ") && left.hasSuffix("\n2 datastores\n"), "\(left)")
  }
}
