import TestSupport
import Testing

@Suite struct TwoDevicesTests {
  let scratch: Scratch
  let (a, b): (String, String)

  init() throws {
    scratch = try Scratch()
    (a, b) = (scratch.path("a"), scratch.path("b"))
    let file = try scratch.write("in.csv", "k,x,y\nr1,0,0\nr2,0,0\nr3,0,0\n")
    let folder = scratch.path("folder")
    try scratch.succeed("import", "t", file, "--key", "k", "--folder", folder, root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, "--user", "me", root: b)
  }

  /// A syncs, then B, then A: both have met all.
  private func meet() throws -> [[String: Any]] {
    try [a, b, a].map { try json(scratch.succeed("sync", "--json", root: $0)) }
  }

  private func expectEqualExports() throws -> String {
    let export = try scratch.succeed("export", "t", root: a)
    #expect(try scratch.succeed("export", "t", root: b) == export)
    return export
  }

  @Test func `what A publishes B has`() throws {
    #expect(try expectEqualExports().split(separator: "\n").count == 3)
  }

  @Test func `concurrent edits merge and conflicts are told`() throws {
    try scratch.succeed("set", "t", "r1", "x=1", root: a)
    try scratch.succeed("set", "t", "r1", "x=2", "y=2", root: b)
    try scratch.succeed("delete", "t", "r2", root: a)
    try scratch.succeed("set", "t", "r2", "x=9", root: b)
    try scratch.succeed("set", "t", "new", "x=1", "--insert", root: a)
    try scratch.succeed("set", "t", "new", "y=2", "--insert", root: b)
    let reports = try meet()
    #expect(
      try expectEqualExports() == """
        {"$id":"new","x":1,"y":2}
        {"$id":"r1","x":1,"y":2}
        {"$id":"r3","x":0,"y":0}

        """)
    let conflicts = try #require(reports[1]["conflicts"] as? [[String: Any]])
    let conflict = try #require(conflicts.first)
    #expect(conflicts.count == 1)
    #expect(conflict["id"] as? String == "r1")
    #expect(conflict["field"] as? String == "x")
    #expect(conflict["rule"] as? String == "remote")
    #expect(conflict["chosen"] as? Int == 1)
    let lost = try #require(conflict["lost"] as? [[String: Any]])
    #expect(lost.map { $0["value"] as? Int } == [2])
    let merged = try #require(reports[2]["merged"] as? [String: Any])
    #expect((merged["deltas"] as? Int ?? 0) >= 3)
  }

  @Test func `the text of a sync says what was decided`() throws {
    try scratch.succeed("set", "t", "r1", "x=1", root: a)
    try scratch.succeed("set", "t", "r1", "x=2", root: b)
    try scratch.succeed("sync", root: a)
    let text = try scratch.succeed("sync", root: b)
    #expect(text.contains("conflict t/r1 x: rule remote chose 1 over 2 of device "))
    #expect(text.contains("published 1 delta in "))
    #expect(text.contains("fetched 1 delta in 1 file"))
  }

  @Test func `both list both devices`() throws {
    _ = try meet()
    for root in [a, b] {
      let list = try json(scratch.succeed("devices", "--json", root: root))
      let devices = try #require(list["devices"] as? [[String: Any]])
      #expect(devices.count == 2)
      #expect(devices.count { $0["thisDevice"] as? Bool == true } == 1)
    }
  }

  @Test func `a device is retired, and listed as such`() throws {
    _ = try meet()
    let list = try json(scratch.succeed("devices", "--json", root: b))
    let other = try #require(
      (list["devices"] as? [[String: Any]])?.first { $0["thisDevice"] as? Bool == false })
    let id = try #require(other["device"] as? String)
    #expect(other["retired"] as? Bool == false)
    let own = try #require(list["thisDevice"] as? String)
    for wrong in [own, "00000000000000aa"] {
      let refused = try scratch.cairn("devices", "--retire", wrong, root: b)
      #expect(refused.status != 0)
      #expect(refused.errors.contains("cairn devices") && !refused.errors.contains("devices()"))
    }
    let text = try scratch.succeed("devices", "--retire", id, root: b)
    #expect(text.contains("\nretired \(id) ("))
    #expect(text.contains("can't be undone"))
    let later = try scratch.succeed("devices", root: b)
    #expect(later.split(separator: "\n").contains { $0.hasPrefix(id) && $0.contains("retired") })
    #expect(text.split(separator: "\n").contains { $0.hasPrefix(id) && $0.contains("retired") })
    #expect(try scratch.cairn("devices", "--retire", "nobody", root: b).status != 0)
  }

  private func device(_ root: String) throws -> String {
    let list = try json(scratch.succeed("devices", "--json", root: root))
    return try #require(list["thisDevice"] as? String)
  }

  /// A third device, whose changes the others have.
  private func third() throws -> String {
    let c = scratch.path("c")
    try scratch.succeed("sync", "--folder", scratch.path("folder"), "--user", "me", root: c)
    try scratch.succeed("set", "t", "r1", "y=1", root: c)
    try scratch.succeed("sync", root: c)
    _ = try meet()
    return c
  }

  @Test func `a retired device comes back, though each round is a process`() throws {
    let c = try third()
    let old = try device(c)
    try scratch.succeed("set", "t", "r2", "y=7", root: c)
    try scratch.succeed("delete", "t", "r3", root: a)
    try scratch.succeed("devices", "--retire", old, root: a)
    for _ in 0..<3 { _ = try meet() }
    let text = try scratch.succeed("sync", root: c)
    let new = try device(c)
    #expect(new != old)
    #expect(text.contains("goes on under a new id, \(new)\n"))
    _ = try meet()
    let export = try expectEqualExports()
    #expect(try scratch.succeed("export", "t", root: c) == export)
    // What it had published under its old id stays held, and no sync can do anything about that.
    let health = try scratch.succeed("doctor", root: a)
    #expect(health.contains("1 fetched file is held, of devices that were retired"), "\(health)")
    #expect(!health.contains("for a sync"))
    #expect(
      export == """
        {"$id":"r1","x":0,"y":1}
        {"$id":"r2","x":0,"y":7}

        """)
  }

  @Test func `a device is not retired while what it has published is not merged`() throws {
    let c = try third()
    let id = try device(c)
    let before = try scratch.files(below: "folder")
    try scratch.succeed("set", "t", "r2", "y=7", root: c)
    try scratch.succeed("sync", root: c)
    let name = try #require(
      try scratch.files(below: "folder").first { $0.hasSuffix(".seg") && !before.contains($0) })
    var bytes = try scratch.bytes("folder/" + name)
    bytes[bytes.count / 2] ^= 0x10
    _ = try scratch.write("folder/" + name, bytes)
    let refused = try scratch.cairn("devices", "--retire", id, root: a)
    #expect(refused.status == 1)
    #expect(refused.errors.contains("--anyway"))
    #expect(try !scratch.succeed("devices", root: a).contains("retired"))
    let text = try scratch.succeed("devices", "--retire", id, "--anyway", root: a)
    #expect(text.contains("1 delta that it has published and nobody has merged"))
    #expect(try scratch.succeed("devices", root: a).contains("retired"))
  }

  @Test func `the others are asked what may be forgotten`() throws {
    _ = try meet()
    func committed() throws -> Int? {
      try json(scratch.succeed("status", "--json", root: a))["committed"] as? Int
    }
    let before = try #require(try committed())
    try scratch.succeed("compact", "--forget", "--dry-run", root: a)
    #expect(try committed() == before)
    let asked = try scratch.succeed("compact", "--forget", root: a)
    // The other one has said already that it has all that is here.
    #expect(asked.contains("all have agreed"), "\(asked)")
    #expect(try committed() == before + 1)
    for report in try meet() + meet() { #expect((report["problems"] as? [Any])?.isEmpty == true) }
    #expect(try expectEqualExports().split(separator: "\n").count == 3)
  }

  @Test func `a damaged file in the folder is reported and stops nothing`() throws {
    let name = try #require(
      try scratch.files(below: "folder").first { $0.hasSuffix(".seg") })
    let segment = "folder/" + name
    // What this one writes before it has heard of anybody needs nothing of that file.
    let (folder, alone) = (scratch.path("folder"), scratch.path("alone"))
    try scratch.succeed("set", "own", "x", "n=1", "--insert", "--folder", folder, root: alone)
    try scratch.succeed("sync", root: alone)
    var bytes = try scratch.bytes(segment)
    bytes[bytes.count / 2] ^= 0x10
    _ = try scratch.write(segment, bytes)
    let other = scratch.path("c")
    let report = try json(scratch.succeed("sync", "--json", "--folder", folder, root: other))
    let problems = try #require(report["problems"] as? [[String: Any]])
    let waiting = try #require(report["waiting"] as? [[String: Any]])
    #expect(problems.count + waiting.count > 0)
    #expect(try scratch.succeed("tables", root: other) == "own  1 record\n")
  }

  @Test func `the folder is not where the datastores are`() throws {
    let root = scratch.path("folder/inside")
    let outcome = try scratch.cairn("sync", "--folder", scratch.path("folder"), root: root)
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("must not lie inside one another"), "\(outcome)")
    #expect(!scratch.exists("folder/inside") && !scratch.exists("folder/inside.settings"))
  }
}
