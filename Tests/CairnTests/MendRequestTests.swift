import TestSupport
import Testing

@testable import Cairn

/// What it costs to look again and again whether the folder takes what it has lost.
@Suite struct MendRequestTests {
  @Test func `a file that only a snapshot can replace is asked for ever more seldom`()
    async throws
  {
    let bench = try FolderWorkbench()
    bench.options.durability = .none
    let (hook, asked) = (HookedFolder.Switch(), Told<String>())
    let a = try bench.open("a", hook)
    try a.add("a")
    for _ in 0..<2 { try await a.exchange() }
    try a.compact()
    try await a.exchange()
    let lost = try bench.segment(a)
    try bench.remove(bench.shared + "/" + lost)
    hook.set { request, path throws(CairnError) in
      if path.hasSuffix(lost), request == .read { asked.add(path) }
      guard request == .write, path.hasSuffix(".snap") else { return }
      throw CairnError(.sizeLimit, "\(path) is too large", file: path)
    }
    let start = "the folder lacks "
    let failed =
      start + "what only a snapshot can give it, and there is none that can be published just "
      + "now; one of the next rounds tries again"
    let skipped =
      start + "files of this device, and they could not be put back; that is tried again in one of "
      + "the next rounds"
    var rounds: [Int] = []
    for round in 1...13 {
      let count = asked.all.count
      let report = try await a.exchange()
      let isTried = asked.all.count > count
      if isTried { rounds.append(round) }
      let said = report.problems.map(\.reason).filter { $0.hasPrefix(start) }
      let expected: [String] = isTried ? [failed] : [skipped]
      // A listing may lag behind.
      #expect(said == (round == 1 ? [] : expected), "round \(round)")
    }
    // Twice in each, before it is given up.
    #expect(rounds == [2, 3, 5, 9, 13] && asked.all.count == 10)
    // Another process may have another folder, with parts.
    hook.set(nil)
    try a.close()
    let again = try bench.open("a", hook)
    #expect(try await again.exchange().publishedSnapshot)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a"])
  }

  /// The first listing of a process lacks it, and the first answer is wrong, too. Simulation seed
  /// 47645.
  @Test(arguments: ["damaged", "absent"])
  func `a file that only the folder has is not given up for one bad answer`(answer: String)
    async throws
  {
    let bench = try FolderWorkbench()
    bench.options.durability = .none
    var a = try bench.open("a")
    try a.add("a")
    for _ in 0..<2 { try await a.exchange() }
    try a.compact()
    try await a.exchange()
    let name = try bench.segment(a)
    try a.close()
    let (script, asked) = (ScriptedFolder.Script(), Shared(0))
    script.list { _, entries in entries.filter { $0.name != name } }
    script.read { path, bytes in
      guard path.hasSuffix(name) else { return bytes }
      let isFirst = asked.withLock { count -> Bool in
        count += 1
        return count == 1
      }
      guard isFirst else { return bytes }
      return answer == "absent" ? nil : bytes?.flipped(at: 150)
    }
    a = try bench.open("a", script)
    try await a.exchange()
    #expect(asked.withLock { $0 } == 2)
    script.list(nil)
    for _ in 0..<3 { try await a.exchange() }
    let head = try Head(
      bench.read(bench.shared + "/" + bench.head(a)), name: "head", datastore: nil)
    #expect(head.gaps == [])
    #expect(try bench.segment(a) == name)
  }
}
