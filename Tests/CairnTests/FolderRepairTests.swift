import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What a thorough look says that can't put back what it misses, or may not.
@Suite struct FolderRepairTests {
  private let bench = IdentityBench()

  private func segments(of device: Datastore) -> [String] {
    bench.folder.paths().filter { $0.hasSuffix(".seg") && $0.contains("/\(device.device)-") }
      .sorted()
  }

  private func name(_ path: String) -> String {
    String(path.split(separator: "/").last ?? "")
  }

  private func files() -> [String: [UInt8]] {
    Dictionary(
      uniqueKeysWithValues: bench.folder.paths().map { ($0, bench.folder.bytes($0) ?? []) })
  }

  /// A device that has published three files, behind a script.
  private func published(_ script: ScriptedFolder.Script? = nil) async throws -> Datastore {
    bench.scripts["a"] = script
    let a = try bench.open("a")
    for number in 0..<3 {
      try a.add("a\(number)")
      try await a.exchange()
    }
    try await a.exchange()
    return a
  }

  @Test func `a dry run says what is lost, and that it still is`() async throws {
    let a = try await published()
    let lost = segments(of: a)[1]
    let bytes = bench.folder.bytes(lost)
    try bench.folder.remove(lost)
    let dry = try await a.repairFolder(dryRun: true)
    #expect(dry.missing == [name(lost)] && dry.written == [] && dry.problems == [])
    #expect(!dry.wasWhole && !dry.isWhole)
    #expect(dry.exchange.devices == 1, "the report is as complete as any")
    #expect(bench.folder.bytes(lost) == nil)
    let done = try await a.repairFolder()
    #expect(done.written == [name(lost)] && done.isWhole && bench.folder.bytes(lost) == bytes)
    #expect(try await a.repairFolder(dryRun: true).isWhole)
  }

  @Test func `what can't be put back before the own head is there is said`() async throws {
    let script = ScriptedFolder.Script()
    let a = try await published(script)
    let lost = segments(of: a)[1]
    try bench.folder.remove(lost)
    script.list { _, entries in
      entries.map { entry in
        var entry = entry
        if entry.name.hasSuffix(".head") { entry.isPresent = false }
        return entry
      }
    }
    let repair = try await a.repairFolder()
    #expect(repair.missing == [name(lost)] && repair.written == [])
    #expect(!repair.isWhole && repair.problems.count == 1)
    script.list(nil)
    let again = try await a.repairFolder()
    #expect(again.isWhole && again.written == [name(lost)])
  }

  @Test func `what can't be put back under a name that is left is said`() async throws {
    let a = try await published()
    try a.close()
    bench.clone("a", as: "b")
    let again = try bench.open("a")
    try again.add("more")
    try await again.exchange()
    let lost = segments(of: again)[1]
    try bench.folder.remove(lost)
    let b = try bench.open("b")
    try b.add("of-b")
    let repair = try await b.repairFolder()
    #expect(repair.exchange.isRejoining && repair.missing == [name(lost)])
    #expect(!repair.isWhole && repair.written == [])
    #expect(repair.problems.count == 1 && repair.problems[0].contains("another copy"))
  }

  /// A device that has seen one of two branches, and finds the other one in the folder.
  @Test func `what only a snapshot could put back is said by one that publishes none`()
    async throws
  {
    let a = try await published()
    var c = try bench.open("c")
    try c.add("of-c")
    for _ in 0..<3 { try await c.pull() }
    try c.compact()
    for device in [a, c] { try device.close() }
    bench.clone("a", as: "b")
    for view in ["one", "two"] {
      for path in bench.folder.paths() {
        try bench.disk("folder " + view).setBytes(path, bench.folder.bytes(path) ?? [])
      }
    }
    for (name, view) in [("a", "one"), ("c", "one"), ("b", "two")] { bench.view(view, of: name) }
    let (one, two) = (try bench.open("a"), try bench.open("b"))
    c = try bench.open("c")
    for (device, name) in [(one, "x"), (two, "y")] {
      try device.add(name)
      try await device.exchange()
    }
    try await c.pull()
    #expect(try c.ids().contains("x"))
    for device in [one, two, c] { try device.close() }
    try bench.merge(["one", "two"], winner: "two")
    c = try bench.open("c")
    let lost = try #require(segments(of: c).first)
    try bench.folder.remove(lost)
    let repair = try await c.repairFolder()
    #expect(repair.exchange.isRejoining && repair.missing == [name(lost)])
    #expect(!repair.isWhole && repair.written == [])
    #expect(repair.problems.count == 1 && repair.problems[0].contains("only a snapshot"))
  }

  @Test func `a file without content is named and not called right`() async throws {
    let script = ScriptedFolder.Script()
    let a = try await published(script)
    let absent = name(segments(of: a)[1])
    script.list { _, entries in
      entries.map { entry in
        var entry = entry
        if entry.name == absent { entry.isPresent = false }
        return entry
      }
    }
    for dryRun in [true, false] {
      let repair = try await a.repairFolder(dryRun: dryRun)
      #expect(repair.unread == [absent] && repair.checkedFiles == 2)
      #expect(repair.missing == [] && repair.damaged == [] && repair.written == [])
    }
  }

  @Test func `a dry run makes no folder one of ours`() async throws {
    let a = try bench.open("a")
    try a.add("a")
    for bytes: [UInt8]? in [nil, Array("{".utf8)] {
      if let bytes { try bench.folder.setBytes("/folder/cairn.json", bytes) }
      let before = files()
      for _ in 0..<4 {
        do {
          _ = try await a.repairFolder(dryRun: true)
          Issue.record("it has looked into nothing")
        } catch { #expect(error.file == "cairn.json") }
      }
      #expect(files() == before)
    }
    try bench.folder.remove("/folder/cairn.json")
    #expect(try await a.repairFolder().isWhole)
    #expect(bench.folder.bytes("/folder/cairn.json") != nil && segments(of: a).count == 1)
  }

  @Test func `a dry run does not write the own head from what lies there`() async throws {
    var a = try await published()
    try a.close()
    bench.clone("a", as: "b")
    a = try bench.open("a")
    try a.add("more")
    try await a.exchange()
    let lost = segments(of: a)[1]
    try a.close()
    let head = try #require(bench.folder.paths().first { $0.hasSuffix(".head") })
    try bench.folder.remove(head)
    try bench.folder.remove(lost)
    let before = files()
    let b = try bench.open("b")
    for _ in 0..<5 {
      let repair = try await b.repairFolder(dryRun: true)
      #expect(!repair.isWhole && repair.missing.count == 1)
      #expect(files() == before)
    }
    for _ in 0..<5 { try await b.pull() }
    #expect(bench.folder.bytes(head) != nil)
    #expect(try b.ids() == ["a0", "a1", "a2", "more"])
  }
}
