import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// A report says how often the folder was called, also on the ways that are seldom gone.
@Suite struct RequestCountTests {
  private let calls = Shared(0)

  /// A round that says how often it has called the folder.
  @discardableResult
  private func exchange(_ device: Datastore, _ comment: Comment) async throws -> ExchangeReport {
    let before = calls.withLock { $0 }
    let report = try await device.exchange()
    let count = calls.withLock { $0 } - before
    #expect(report.requests == count, comment)
    return report
  }

  @Test func `a snapshot is counted by who writes it and by who fetches it`() async throws {
    let bench = try FolderWorkbench()
    bench.options.durability = .none
    // Due whenever as much has come as the last one has.
    bench.options.tuning.smallFileBytes = 0
    let (hook, calls) = (HookedFolder.Switch(), calls)
    hook.set { _, _ in calls.withLock { $0 += 1 } }
    let a = try bench.open("a", hook)
    try a.add("a")
    try await exchange(a, "the first one of all")
    try a.compact()
    #expect(try await exchange(a, "writes a snapshot").publishedSnapshot)
    let b = try bench.open("b", hook)
    #expect(try await exchange(b, "fetches it").fetchedSnapshot)
    try b.sync()
    #expect(try b.ids() == ["a"])
  }

  @Test func `a head that is written from the files of a copy is counted`() async throws {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    bench.clone("a", as: "b")
    try a.add("a1")
    try await a.exchange()
    try a.close()
    let head = try #require(bench.folder.paths().first { $0.hasSuffix(".head") })
    try bench.folder.remove(head)
    let calls = calls
    script.list { _, entries in
      calls.withLock { $0 += 1 }
      return entries
    }
    script.read { _, bytes in
      calls.withLock { $0 += 1 }
      return bytes
    }
    script.write { _, _ in
      calls.withLock { $0 += 1 }
      return .whole
    }
    bench.scripts["b"] = script
    let b = try bench.open("b")
    var written = 0
    for round in 1...6 where written == 0 {
      written = try await exchange(b, "round \(round)").publishedFiles
    }
    #expect(written == 1 && bench.folder.bytes(head) != nil)
  }
}
