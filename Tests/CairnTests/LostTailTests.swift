import Cairn
import TestSupport
import Testing

/// The newest file of the log is removed by hand: nothing at home says that it ever was.
@Suite struct LostTailTests {
  /// A device with some segments in its log; the newest one goes.
  private func loseTail(_ bench: IdentityBench, _ a: Datastore) throws -> Datastore {
    try a.close()
    let log = bench.disk("a").paths().filter { $0.contains("/log/") }
    try #require(log.count > 1)
    try bench.disk("a").remove(log[log.count - 1])
    return try bench.open("a")
  }

  private func device(_ bench: IdentityBench) throws -> Datastore {
    bench.options.tuning.segmentBytes = 300
    let a = try bench.open("a")
    for index in 0..<6 { try a.add("a\(index)") }
    return a
  }

  /// The folder has nothing of the device any more.
  private func loseFiles(_ bench: IdentityBench, of device: String) throws {
    let files = bench.folder.paths().filter { $0.contains("/\(device)") }
    try #require(files.contains { $0.hasSuffix(".head") } && files.count > 1)
    for path in files { try bench.folder.remove(path) }
  }

  /// As many commits as were lost, one less, and more: then the numbers are the same again.
  @Test(arguments: 0...4, [false, true])
  func `what the newest segment held comes back from the folder, whatever was committed since`(
    count: Int, reopens: Bool
  ) async throws {
    let bench = IdentityBench()
    let a = try device(bench)
    let device = a.device
    try await a.exchange()
    var again = try loseTail(bench, a)
    let left = try again.ids()
    var all: Set<String> = ["a0", "a1", "a2", "a3", "a4", "a5"]
    #expect(left.count < 6 && left.count > 1 && left.isSubset(of: all))
    for index in 0..<count {
      try again.add("later\(index)")
      all.insert("later\(index)")
      if reopens {
        try again.close()
        again = try bench.open("a")
      }
    }
    // Its own head in the folder is another history's, as after a restored backup.
    #expect(try await again.exchange().isRejoining)
    #expect(try again.sync().newDevice == again.device && again.device != device)
    #expect(try again.ids() == all)
    let late = try bench.open("late")
    #expect(try await bench.settle([again, late]))
    try bench.expectEqual([again, late])
    #expect(try late.ids() == all)
  }

  /// The frames of the very last sync are vouched for by nothing: when they rot they look torn.
  @Test(arguments: 0...3)
  func `what rot took from the last sync comes back from the folder`(count: Int) async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    for index in 0..<4 { try a.add("a\(index)") }
    try await a.exchange()
    try a.close()
    let log = try #require(bench.disk("a").paths().last { $0.contains("/log/") })
    let length = try #require(bench.disk("a").bytes(log)).count
    try bench.disk("a").corrupt(log, length - 20, xor: 8)
    let again = try bench.open("a")
    #expect(again.recoveryNotes.count == 1)
    var all: Set<String> = ["a0", "a1", "a2"]
    #expect(try again.ids() == all)
    for index in 0..<count {
      try again.add("later\(index)")
      all.insert("later\(index)")
    }
    if count > 1 { try again.compact() }
    #expect(try await again.pull().isRejoining)
    #expect(try again.ids() == all.union(["a3"]))
    let late = try bench.open("late")
    #expect(try await bench.settle([again, late]))
    try bench.expectEqual([again, late])
  }

  @Test func `without a folder that has it, what is before it is whole and goes on`() async throws {
    let bench = IdentityBench()
    let a = try device(bench)
    let again = try loseTail(bench, a)
    let left = try again.ids()
    #expect(left == Set((0..<left.count).map { "a\($0)" }), "a prefix of the commits")
    #expect(!left.isEmpty && left.count < 6)
    try again.add("later")
    try await again.exchange()
    let late = try bench.open("late")
    try await late.pull()
    #expect(try late.ids() == left.union(["later"]))
  }

  /// They would take it for another copy's history, and give up what they have for it.
  @Test func `numbers that others have deltas of are not published anew`() async throws {
    let bench = IdentityBench()
    let a = try device(bench)
    let device = a.device
    try await a.exchange()
    let c = try bench.open("c")
    try await c.pull()
    try await c.exchange()
    let again = try loseTail(bench, a)
    try loseFiles(bench, of: device)
    try again.add("later")
    for _ in 0..<5 {
      let report = try await again.pull()
      #expect(report.publishedFiles == 0 && !report.isRejoining)
      let reason = "under this device's name more was published than this copy of it knows"
      #expect(report.waiting.contains { $0.reason.hasPrefix(reason) })
    }
    for _ in 0..<5 { try await c.pull() }
    #expect(try c.ids() == ["a0", "a1", "a2", "a3", "a4", "a5"])
    #expect(!bench.folder.paths().contains { $0.contains("/\(device)") })
    #expect(again.device == device)
  }

  @Test func `numbers of which nobody has anything any more are used again`() async throws {
    let bench = IdentityBench()
    let a = try device(bench)
    let device = a.device
    try await a.exchange()
    let again = try loseTail(bench, a)
    try loseFiles(bench, of: device)
    let left = try again.ids()
    try again.add("later")
    for _ in 0..<5 { try await again.pull() }
    #expect(again.device == device)
    let late = try bench.open("late")
    try await late.pull()
    #expect(try late.ids() == left.union(["later"]))
  }
}
