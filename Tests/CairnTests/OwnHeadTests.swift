import CairnBytes
import CairnDisk
import CairnLog
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// A device that was restored, or copied, and finds its own head in the folder as the backup knows
/// it, or damaged: what was published since the backup is not written over.
@Suite struct OwnHeadTests {
  enum Harm: CaseIterable { case emptied, halved, flipped, gone, old }

  /// A device that has published two deltas since its backup, which is the disk of `b`.
  private struct Past {
    let bench: IdentityBench
    let device: String
    /// Its head, as it is now and as the backup knows it.
    let path: String
    let head: [UInt8]
    let oldHead: [UInt8]
    /// The files that were there at the time of the backup.
    let oldPaths: Set<String>

    /// - Parameter isYoung: The backup is from before anything was published.
    /// - Parameter reader: Another device, that has all of it.
    /// - Parameter merges: The files that the backup knows were merged since.
    init(isYoung: Bool = false, reader: String? = nil, merges: Bool = false) async throws {
      let bench = IdentityBench()
      if merges { bench.options.tuning.smallFileRun = 4 }
      self.bench = bench
      var a = try bench.open("a")
      let c = try reader.map { try bench.open($0) }
      if !isYoung {
        try a.add("a0")
        try await a.exchange()
        try await c?.pull()
      }
      device = a.device
      let number = try #require(UInt64(a.device, radix: 16))
      path = "/folder/p-notes/" + FileName.head(device: number)
      try a.close()
      bench.use(bench.disk("a").snapshot(), for: "b")
      (oldHead, oldPaths) = (bench.folder.bytes(path) ?? [], Set(bench.folder.paths()))
      a = try bench.open("a")
      if isYoung { try a.add("a0") }
      for number in 1...(merges ? 6 : 2) {
        try a.add("a\(number)")
        try await a.exchange()
      }
      try a.close()
      try await c?.pull()
      try await c?.exchange()
      try c?.close()
      head = try #require(bench.folder.bytes(path))
    }

    func harm(_ harm: Harm) throws {
      var bytes = head
      switch harm {
      case .emptied: bytes = []
      case .halved: bytes.removeLast(bytes.count / 2)
      case .flipped: bytes[20] ^= 4
      case .gone: return try bench.folder.remove(path)
      case .old: bytes = oldHead
      }
      try bench.folder.setBytes(path, bytes)
    }
  }

  private func names(_ prefix: String, _ numbers: Range<Int>) -> Set<String> {
    Set(numbers.map { "\(prefix)\($0)" })
  }

  /// With none, fewer, as many, and more commits than were lost.
  @Test(arguments: Harm.allCases, 0...3)
  func `what was published since a backup is there, whatever has become of the head`(
    _ harm: Harm, _ count: Int
  ) async throws {
    let past = try await Past()
    let bench = past.bench
    try past.harm(harm)
    let (b, c) = (try bench.open("b"), try bench.open("c"))
    for number in 0..<count { try b.add("b\(number)") }
    let first = try await b.pull()
    #expect(first.publishedFiles == 0 && !first.waiting.isEmpty)
    for _ in 0..<5 { try await b.pull() }
    #expect(b.device != past.device)
    #expect(try await bench.settle([b, c]))
    #expect(try b.ids() == names("a", 0..<3).union(names("b", 0..<count)))
    let late = try bench.open("late")
    #expect(try await bench.settle([b, c, late]))
    try bench.expectEqual([b, c, late])
  }

  @Test(arguments: Harm.allCases)
  func `files that were merged since the backup are found, too`(_ harm: Harm) async throws {
    let past = try await Past(merges: true)
    let bench = past.bench
    #expect(!past.oldPaths.isSubset(of: bench.folder.paths()))
    try past.harm(harm)
    let b = try bench.open("b")
    try b.add("mine")
    for _ in 0..<6 { try await b.pull() }
    #expect(b.device != past.device)
    let late = try bench.open("late")
    #expect(try await bench.settle([b, late]))
    #expect(try late.ids() == names("a", 0..<7).union(["mine"]))
    try bench.expectEqual([b, late])
  }

  enum Lie: CaseIterable { case emptyHead, halfHead, oldHead, headNotListed, oldListing }

  private func tell(_ lie: Lie, _ script: ScriptedFolder.Script, _ past: Past) {
    let (old, paths, name) = (past.oldHead, past.oldPaths, past.path)
    switch lie {
    case .emptyHead, .halfHead, .oldHead:
      script.read { path, bytes in
        guard let bytes, path.hasSuffix(".head") else { return bytes }
        if lie == .oldHead { return old.isEmpty ? nil : old }
        return lie == .emptyHead ? [] : Array(bytes.prefix(bytes.count / 2))
      }
    case .headNotListed:
      script.list { _, entries in entries.filter { !name.hasSuffix("/" + $0.name) } }
    case .oldListing:
      script.list { directory, entries in
        entries.filter { paths.contains("/folder/\(directory)/\($0.name)") }
      }
    }
  }

  @Test(arguments: Lie.allCases, [false, true])
  func `what the folder shows for a moment is not believed, and nothing written over`(
    _ lie: Lie, _ isYoung: Bool
  ) async throws {
    let past = try await Past(isYoung: isYoung)
    let (bench, script) = (past.bench, ScriptedFolder.Script())
    bench.scripts["b"] = script
    let b = try bench.open("b")
    try b.add("mine")
    tell(lie, script, past)
    #expect(try await b.pull().publishedDeltas == 0)
    script.read(nil)
    script.list(nil)
    #expect(bench.folder.bytes(past.path) == past.head)
    let late = try bench.open("late")
    for _ in 0..<2 { for device in [b, late] { try await device.pull() } }
    #expect(try await bench.settle([b, late]))
    #expect(bench.folder.bytes(past.path) == past.head)
    #expect(try late.ids() == names("a", 0..<3).union(["mine"]))
    try bench.expectEqual([b, late])
  }

  @Test func `numbers that another device has seen are not used again, though no file has them`()
    async throws
  {
    let past = try await Past(reader: "c")
    let bench = past.bench
    try past.harm(.old)
    for path in bench.folder.paths()
    where path.hasSuffix(".seg") && !past.oldPaths.contains(path) {
      try bench.folder.remove(path)
    }
    let b = try bench.open("b")
    try b.add("mine")
    for _ in 0..<5 { try await b.pull() }
    #expect(b.device != past.device)
    #expect(bench.folder.bytes(past.path) == past.oldHead)
    let c = try bench.open("c")
    for _ in 0..<12 { for device in [b, c] { try await device.pull() } }
    #expect(try c.ids() == names("a", 0..<3).union(["mine"]))
    try bench.expectEqual([b, c])
  }

  /// The process that was there all the time knows its head, and not what a copy has written.
  @Test(arguments: [Harm.emptied, .halved, .gone])
  func `what a copy has published that is gone is there, though its head is not`(
    _ harm: Harm
  ) async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    let device = a.device
    bench.clone("a", as: "b")
    let b = try bench.open("b")
    try b.add("b0")
    try await b.exchange()
    try b.close()
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(".head") })
    let head = try #require(bench.folder.bytes(path))
    switch harm {
    case .emptied: try bench.folder.setBytes(path, [])
    case .halved: try bench.folder.setBytes(path, Array(head.prefix(head.count / 2)))
    default: try bench.folder.remove(path)
    }
    try a.add("mine")
    for _ in 0..<5 { try await a.pull() }
    #expect(a.device != device)
    let late = try bench.open("late")
    #expect(try await bench.settle([a, late]))
    #expect(try late.ids() == ["a0", "b0", "mine"])
    try bench.expectEqual([a, late])
  }

  @Test(arguments: [0, 1])
  func `a file that was uploaded before a crash is the own one`(_ later: Int) async throws {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    bench.scripts["a"] = script
    var a = try bench.open("a")
    let device = a.device
    try a.add("a0")
    try await a.exchange()
    try a.add("a1")
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    script.write(nil)
    try a.close()
    a = try bench.open("a")
    for number in 0..<later { try a.add("later\(number)") }
    let report = try await a.exchange()
    #expect(!report.isRejoining && report.waiting == [] && report.problems == [])
    #expect(report.publishedDeltas == UInt64(1 + later) && a.device == device)
  }

  /// One head did not arrive, the next one by half; how far the first one's file goes was not noted
  /// before the process ended. Simulation seed 6907.
  @Test func `files of heads that did not arrive are the own ones`() async throws {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    bench.scripts["a"] = script
    var a = try bench.open("a")
    let device = a.device
    try a.add("a0")
    try await a.exchange()
    try a.add("a1")
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    try a.close()
    for path in bench.disk("a").paths() where path.hasSuffix("/" + FileName.chains) {
      try bench.disk("a").remove(path)
    }
    a = try bench.open("a")
    try a.add("a2")
    script.write { path, _ in path.hasSuffix(".head") ? .partUnanswered(60) : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    script.write(nil)
    let report = try await a.exchange()
    #expect(!report.isRejoining && report.waiting == [])
    for _ in 0..<4 { try await a.pull() }
    let late = try bench.open("late")
    #expect(try await bench.settle([a, late]))
    #expect(try late.ids() == ["a0", "a1", "a2"])
    #expect(a.device == device)
  }

  @Test func `of two copies that went on none is chosen, and nothing is written`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    try a.close()
    for name in ["b", "d", "e"] { bench.clone("a", as: name) }
    bench.use(bench.folder.snapshot(), for: "folder other")
    bench.view("other", of: "d")
    var heads: [String: [UInt8]] = [:]
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(".head") })
    for name in ["b", "d"] {
      let device = try bench.open(name)
      try device.add("of-" + name)
      try await device.exchange()
      try device.close()
      heads[name] = bench.folder(of: name).bytes(path)
    }
    try bench.merge(["other"], winner: "other")
    try bench.folder.setBytes(path, [])
    let e = try bench.open("e")
    try e.add("of-e")
    for _ in 0..<5 {
      let report = try await e.pull()
      #expect(report.publishedFiles == 0 && !report.waiting.isEmpty)
    }
    #expect(bench.folder.bytes(path) == [])
    try bench.folder.setBytes(path, try #require(heads["b"]))
    let d = try bench.open("d")
    for _ in 0..<3 { for device in [e, d] { try await device.pull() } }
    #expect(try await bench.settle([e, d]))
    #expect(try d.ids() == ["a0", "of-b", "of-d", "of-e"])
    try bench.expectEqual([e, d])
  }

  @Test func `an own head that needs a newer version is left alone`() async throws {
    let past = try await Past()
    var bytes = Array(past.head.dropLast(16))
    bytes[10] = 9
    let hash = XXH3.hash128(bytes)
    for shift in 0..<16 { bytes.append(UInt8(truncatingIfNeeded: hash >> UInt128(8 * shift))) }
    try past.bench.folder.setBytes(past.path, bytes)
    let b = try past.bench.open("b")
    try b.add("mine")
    for _ in 0..<5 {
      let report = try await b.pull()
      #expect(report.publishedFiles == 0)
      #expect(report.waiting.contains { past.path.hasSuffix($0.name) })
    }
    #expect(past.bench.folder.bytes(past.path) == bytes)
  }

  /// A compaction has dropped its deltas from the log: a snapshot has them, but no copy of the
  /// device could be compared with that.
  @Test(arguments: [false, true])
  func `a file that only listings lack stays in the head`(_ isReopened: Bool) async throws {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    bench.scripts["a"] = script
    var a = try bench.open("a")
    let device = a.device
    try a.add("a0")
    try a.close()
    bench.clone("a", as: "b")
    a = try bench.open("a")
    try a.add("a1")
    try await a.exchange()
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(".seg") })
    try a.add("a2")
    try await a.exchange()
    try a.compact()
    if isReopened {
      try a.close()
      a = try bench.open("a")
    }
    script.list { _, entries in entries.filter { !path.hasSuffix("/" + $0.name) } }
    for _ in 0..<(isReopened ? 1 : 2) { try await a.exchange() }
    script.list(nil)
    for _ in 0..<2 { try await a.exchange() }
    let head = try #require(a.exchanger).memory.withLock { $0.own }
    #expect(head.gaps == [])
    #expect(bench.folder.bytes(path) != nil)
    try a.close()
    let b = try bench.open("b")
    try b.add("mine")
    #expect(try await bench.settle([b]), "\(bench.unrest)")
    #expect(b.device != device)
    #expect(try b.ids() == ["a0", "a1", "a2", "mine"])
  }

  /// The first listing of a process is old, and an upload would break off. A restored copy lacks
  /// what is in the file. Simulation seed 45298.
  @Test func `a file that only listings lack is not written over`() async throws {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    bench.scripts["a"] = script
    var a = try bench.open("a")
    try a.close()
    bench.clone("a", as: "b")
    a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    try a.close()
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(".seg") })
    let bytes = try #require(bench.folder.bytes(path))
    a = try bench.open("a")
    try a.add("a1")
    script.list { _, entries in entries.filter { !path.hasSuffix("/" + $0.name) } }
    script.write { written, bytes in
      path.hasSuffix("/" + written) ? .partUnanswered(bytes.count / 2) : .whole
    }
    #expect(await a.exchangeError() == nil)
    #expect(bench.folder.bytes(path) == bytes)
    try a.close()
    let b = try bench.open("b")
    try b.add("mine")
    #expect(try await bench.settle([b]), "\(bench.unrest)")
    #expect(try b.ids() == ["a0", "a1", "mine"])
  }

  // MARK: files of another copy's head

  /// A copy, `b`, of a device that has published two deltas, the second one since. `knows`: the
  /// copy has the first one, whose file is at `path`.
  private func copied(
    _ bench: IdentityBench, knows: Bool = true
  ) async throws -> (name: String, path: String, bytes: [UInt8]) {
    try bench.open("a").close()
    if !knows { bench.clone("a", as: "b") }
    var a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(".seg") })
    try a.close()
    if knows { bench.clone("a", as: "b") }
    a = try bench.open("a")
    try a.add("a1")
    try await a.exchange()
    try a.close()
    return (a.device, path, try #require(bench.folder.bytes(path)))
  }

  /// The other copy may never come back, as it is what was restored.
  @Test(arguments: [false, true])
  func `half a file that another copy's head names is given back from the own log`(
    isRepaired: Bool
  ) async throws {
    let bench = IdentityBench()
    let (name, path, bytes) = try await copied(bench)
    let half = Array(bytes.prefix(bytes.count / 2))
    try bench.folder.setBytes(path, half)
    let b = try bench.open("b")
    try b.add("mine")
    if isRepaired {
      #expect(try await b.repairFolder(dryRun: true).exchange.republishedFiles == 0)
      #expect(try await b.repairFolder().exchange.republishedFiles == 1)
    } else {
      // It may still be on its way.
      for _ in 0..<2 { #expect(try await b.pull().republishedFiles == 0) }
      #expect(bench.folder.bytes(path) == half)
      #expect(try await b.pull().republishedFiles == 1)
    }
    #expect(bench.folder.bytes(path) == bytes)
    let late = try bench.open("late")
    #expect(try await bench.settle([b, late]), "\(bench.unrest)")
    #expect(b.device != name)
    #expect(try late.ids() == ["a0", "a1", "mine"])
    try bench.expectEqual([b, late])
  }

  @Test func `who has other deltas than half a file of another copy waits for that`() async throws {
    let bench = IdentityBench()
    let (name, path, bytes) = try await copied(bench, knows: false)
    let half = Array(bytes.prefix(bytes.count / 2))
    try bench.folder.setBytes(path, half)
    let paths = bench.folder.paths()
    let b = try bench.open("b")
    try b.add("mine")
    for _ in 0..<5 {
      let report = try await b.pull()
      #expect(report.publishedFiles == 0 && !report.waiting.isEmpty)
    }
    #expect(bench.folder.bytes(path) == half && bench.folder.paths() == paths)
    let a = try bench.open("a")
    #expect(try await bench.settle([a, b]), "\(bench.unrest)")
    #expect(bench.folder.bytes(path) == bytes)
    #expect(a.device == name && b.device != name)
    #expect(try a.ids() == ["a0", "a1", "mine"])
    try bench.expectEqual([a, b])
  }

  @Test func `a file of another copy that the folder does not take keeps no other one back`()
    async throws
  {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    bench.scripts["b"] = script
    var a = try bench.open("a")
    for number in 0..<2 {
      try a.add("a\(number)")
      try await a.exchange()
    }
    let paths = bench.folder.paths().filter { $0.hasSuffix(".seg") }
    let whole = try paths.map { try #require(bench.folder.bytes($0)) }
    try a.close()
    bench.clone("a", as: "b")
    a = try bench.open("a")
    try a.add("a2")
    try await a.exchange()
    try a.close()
    for (path, bytes) in zip(paths, whole) {
      try bench.folder.setBytes(path, Array(bytes.prefix(bytes.count / 2)))
    }
    let b = try bench.open("b")
    try b.add("mine")
    script.write { path, _ in paths[0].hasSuffix("/" + path) ? .part(10) : .whole }
    for _ in 0..<2 { #expect(try await b.pull().republishedFiles == 0) }
    let report = try await b.pull()
    #expect(report.republishedFiles == 1)
    #expect(report.problems.contains { paths[0].hasSuffix("/" + $0.name) })
    #expect(bench.folder.bytes(paths[1]) == whole[1])
    script.write(nil)
    #expect(try await bench.settle([b]), "\(bench.unrest)")
    #expect(bench.folder.bytes(paths[0]) == whole[0])
    #expect(try b.ids() == ["a0", "a1", "a2", "mine"])
  }

  /// An upload over it would break off.
  @Test func `a file of another copy that only listings lack is not written over`() async throws {
    let (bench, script) = (IdentityBench(), ScriptedFolder.Script())
    let (name, path, bytes) = try await copied(bench)
    bench.scripts["b"] = script
    let b = try bench.open("b")
    try b.add("mine")
    script.list { _, entries in entries.filter { !path.hasSuffix("/" + $0.name) } }
    script.write { written, bytes in
      path.hasSuffix("/" + written) ? .partUnanswered(bytes.count / 2) : .whole
    }
    for _ in 0..<5 { #expect(try await b.pull().republishedFiles == 0) }
    #expect(bench.folder.bytes(path) == bytes && b.device == name)
    script.list(nil)
    #expect(try await bench.settle([b]), "\(bench.unrest)")
    #expect(b.device != name)
    #expect(try b.ids() == ["a0", "a1", "mine"])
  }
}
