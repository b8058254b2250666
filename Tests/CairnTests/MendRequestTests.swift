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

  /// What is new waits for them.
  @Test func `own files that are there again and not given are asked for two in a round`()
    async throws
  {
    let bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.tuning.smallFileRun = 100
    let (hook, asked) = (HookedFolder.Switch(), Told<String>())
    let a = try bench.open("a", hook)
    for number in 0..<6 {
      try a.add("a\(number)")
      try await a.exchange()
    }
    try await a.exchange()
    try a.compact()
    try await a.exchange()
    let lost = try bench.segments(a)
    try #require(lost.count == 6)
    let bytes = try lost.map { try bench.read(bench.shared + "/" + $0) }
    for name in lost { try bench.remove(bench.shared + "/" + name) }
    for _ in 0..<3 { try await a.exchange() }
    func gaps() throws -> [ClosedRange<UInt64>] {
      try Head(bench.read(bench.shared + "/" + bench.head(a)), name: "head", datastore: nil).gaps
    }
    try #require(try gaps() == [1...6])
    for (name, bytes) in zip(lost, bytes) { try bench.write(bench.shared + "/" + name, bytes) }
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(".seg") else { return }
      asked.add(path)
      throw CairnError(.server, "not now", file: path)
    }
    // The third one is skipped.
    for count in [2, 4, 4, 6] {
      try a.add("new\(count)-\(asked.all.count)")
      #expect(try await a.exchange().publishedDeltas == 1)
      #expect(asked.all.count == count)
    }
    #expect(Set(asked.all).count == 6)
    hook.set(nil)
    for _ in 0..<8 { try await a.exchange() }
    #expect(try gaps() == [])
  }
}
