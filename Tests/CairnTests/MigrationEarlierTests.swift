import Cairn
import CairnDisk
import TestSupport
import Testing

/// What a migration says of one before it that was interrupted.
@Suite struct MigrationEarlierTests {
  private struct NeverThere: Error {}

  /// The app is killed in the middle of a move, as soon as a file is there. `prepare` is what was
  /// before that.
  static func killed(
    when path: String, _ prepare: (CatalogueBench) async throws -> Void = { _ in }
  ) async throws -> CatalogueBench {
    for step in 1..<1000 {
      let bench = CatalogueBench(seed: 3)
      try await prepare(bench)
      let local = bench.local("l")
      for id in ["one", "two"] { try await local.with(id) { try $0.add("of-" + id) } }
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try local.migrate(to: bench.manager("a")) } catch {}
      bench.disk.heal()
      if bench.disk.bytes(path) != nil { return bench }
    }
    throw NeverThere()
  }

  /// From the target's note on, a move only goes forward.
  @Test(arguments: [("/l/MIGRATION", false), ("/a/MIGRATION", true)])
  func `one that was interrupted is completed and told, or done anew`(
    path: String, isDecided: Bool
  ) async throws {
    let bench = try await Self.killed(when: path)
    #expect((bench.disk.bytes("/a/MIGRATION") != nil) == isDecided)
    let report = try bench.local("l").migrate(to: bench.manager("a"))
    #expect(report.hasCompletedEarlier == isDecided)
    // What it moved then is not told again.
    #expect(report.datastores.map(\.id) == (isDecided ? [] : ["one", "two"]))
    #expect(bench.files("/l").filter { $0.hasPrefix("p-") } == [])
    let a = bench.manager("a")
    #expect(try a.ids() == ["one", "two"])
    for id in ["one", "two"] {
      let datastore = try a.openDatastore(id)
      #expect(try datastore.ids() == ["of-" + id])
      try datastore.close()
    }
  }

  @Test func `one that is completed by the next use is told to those who watch the list`()
    async throws
  {
    let bench = try await Self.killed(when: "/a/MIGRATION")
    let a = bench.manager("a")
    let told = Told<[String]>()
    let observation = a.observeDatastores(on: { $0() }) { told.add($0.map(\.id)) }
    #expect(told.all == [[]])
    #expect(try a.ids() == ["one", "two"])
    #expect(told.all.last == ["one", "two"])
    withExtendedLifetime(observation) {}
  }

  @Test func `also if that is another move, which comes to nothing`() async throws {
    let opened = Told<Datastore>()
    let bench = try await Self.killed(when: "/a/MIGRATION") { bench in
      opened.add(try bench.manager("a").openOrCreateDatastore("own"))
    }
    let own = try #require(opened.all.last)
    let told = Told<[String]>()
    let observation = own.manager.observeDatastores(on: { $0() }) { told.add($0.map(\.id)) }
    #expect(told.all == [["own"]])
    #expect(code { try bench.local("l").migrate(to: own.manager) } == .alreadyOpen)
    #expect(told.all.last == ["one", "own", "two"])
    withExtendedLifetime(observation) {}
  }

  /// As that of an account that was unlinked: nobody completes the move.
  @Test(arguments: ["/l/MIGRATION", "/a/MIGRATION"])
  func `one into a root that is gone is taken back`(path: String) async throws {
    let bench = try await Self.killed(when: path)
    try bench.disk.removeTree("/a")
    let local = bench.local("l")
    #expect(try local.ids() == ["one", "two"])
    #expect(bench.disk.bytes("/l/MIGRATION") == nil)
    for id in ["one", "two"] {
      let datastore = try local.openDatastore(id)
      #expect(try datastore.ids() == ["of-" + id])
      try datastore.close()
    }
  }
}
