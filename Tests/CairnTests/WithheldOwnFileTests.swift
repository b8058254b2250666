import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// An own file in the folder that no head names, and that the folder does not give.
@Suite struct WithheldOwnFileTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// A device that ended after a file of it had gone up, and before its head did: which file.
  private func crashed() async throws -> String {
    let script = ScriptedFolder.Script()
    let a = try bench.open("a", script)
    try a.add("a1")
    try await a.exchange()
    try a.add("a2")
    let before = Set(try bench.segments(a))
    script.write { path, _ in path.hasSuffix(".seg") ? .unanswered : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    let file = try #require(Set(try bench.segments(a)).subtracting(before).first)
    try a.close()
    return file
  }

  @Test(arguments: [CairnError.Code.auth, .server, .retryLater, .timeout])
  func `an own file that went up before a crash, and is not given, stops nobody`(
    code: CairnError.Code
  ) async throws {
    let file = try await crashed()
    _ = try await bench.publisher("c")
    let hook = HookedFolder.Switch()
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(file) { throw CairnError(code, "no", file: path) }
    }
    let a = try bench.open("a", hook)
    // It may be another copy's: for some rounds nothing is written.
    for _ in 1...2 {
      let report = try await a.pull()
      #expect(report.publishedFiles == 0)
      #expect(report.waiting.map(\.name) == [file] && report.problems.map(\.name) == [file])
      #expect(try a.ids() == ["a1", "a2", "c"])
    }
    for _ in 0..<2 { try await a.pull() }
    #expect(a.publishedDeltas == a.committedDeltas)
  }

  @Test func `who waited for an own file that can't be read at all then waits no longer`()
    async throws
  {
    let file = try await crashed()
    let hook = HookedFolder.Switch()
    let code = Shared(CairnError.Code.retryLater)
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(file) else { return }
      throw CairnError(code.withLock { $0 }, "no", file: path)
    }
    let a = try bench.open("a", hook)
    #expect(try await a.pull().publishedFiles == 0)
    _ = code.exchange(.fileIO)
    for _ in 0..<2 { try await a.pull() }
    #expect(a.publishedDeltas == a.committedDeltas)
  }
}
