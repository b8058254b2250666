import Cairn
import CairnDisk
import TestSupport
import Testing

/// A move was completed in the account's root, and the local one has not been told: an app that is
/// linked may never use it again.
@Suite struct MigrationUntoldTests {
  /// The account `a` has used its root since, and has a copy of `three`, as `c` has.
  private static func untold(
    _ prepare: (CatalogueBench) async throws -> Void = { _ in }
  ) async throws -> CatalogueBench {
    let bench = try await MigrationEarlierTests.killed(when: "/a/MIGRATION") { bench in
      let (a, c) = (bench.manager("a"), bench.manager("c"))
      for (name, manager) in [("of-a", a), ("of-c", c)] {
        try await manager.with("three") { try $0.add(name) }
      }
      for _ in 0..<2 { for manager in [a, c] { try await manager.refresh() } }
      try await prepare(bench)
    }
    #expect(try bench.manager("a").ids().filter { $0 != "three" } == ["one", "two"])
    #expect(bench.files("/a").contains("MIGRATION") && bench.files("/l").contains("MIGRATION"))
    return bench
  }

  /// `c` deletes `three`, and `a` hears of it.
  private static func delete(_ bench: CatalogueBench) async throws {
    let c = bench.manager("c")
    try c.deleteDatastore("three")
    try await c.refresh()
    #expect(try await bench.manager("a").refresh().deleted == ["three"])
  }

  @Test func `nothing is merged back from the trash over the note of the move`() async throws {
    let bench = try await Self.untold(Self.delete)
    let a = bench.manager("a")
    let copy = try #require(try a.trashedDatastores().first)
    let error = failure { try a.restore(copy) }
    #expect(error?.code == .retryLater && error?.file == "/a/MIGRATION")
    #expect(error?.message.contains("moved here from /l, which has not been told") == true)
    #expect(try a.ids() == ["one", "two"])
    #expect(try a.trashedDatastores() == [copy])
    // The other root is told, and takes nothing back.
    #expect(try bench.local("l").ids() == [])
    #expect(!bench.files("/a").contains("MIGRATION"))
    try a.restore(copy)
    #expect(try a.ids() == ["one", "three", "two"])
    #expect(try await a.content("three") == ["of-a"])
    #expect(try bench.local("l").migrate(to: a).datastores == [])
  }

  @Test func `a root that is gone is not waited for, and a restore that fails says so`()
    async throws
  {
    let bench = try await Self.untold(Self.delete)
    let a = bench.manager("a")
    let copy = try #require(try a.trashedDatastores().first)
    try bench.disk.removeTree("/l")
    bench.disk.intercept { step in
      step.verb == "make the directory" && step.path.hasPrefix("/a/m") ? .noSpace : nil
    }
    #expect(code { try a.restore(copy) } == .diskSpace)
    bench.disk.heal()
    #expect(try a.ids() == ["one", "two"])
    try a.restore(copy)
    #expect(try a.ids() == ["one", "three", "two"])
    #expect(try await a.content("three") == ["of-a"])
    #expect(!bench.files("/a").contains("MIGRATION"))
  }

  @Test func `deletes of others are obeyed, and the trash is emptied in its time`() async throws {
    let bench = try await Self.untold()
    try await Self.delete(bench)
    let a = bench.manager("a")
    #expect(bench.files("/a/p-three") == [])
    #expect(try a.trashedDatastores().map(\.id) == ["three"])
    bench.clock.advance(by: 31 * 24 * 3600 * 1000)
    try await a.refresh()
    #expect(try a.trashedDatastores() == [] && bench.files("/a/trash") == [])
    #expect(bench.files("/a").contains("MIGRATION"))
    #expect(try bench.local("l").ids() == [] && a.ids() == ["one", "two"])
  }

  @Test func `a repair names the other root, and is done once that is gone`() async throws {
    let bench = try await Self.untold()
    let a = bench.manager("a")
    try await a.with("one")
    try bench.disk.remove("/a/p-one/CURRENT")
    let error = await #expect(throws: CairnError.self) { try await a.repairDatastore("one") }
    #expect(error?.code == .retryLater && error?.file == "/a/MIGRATION")
    #expect(error?.message.contains("moved here from /l, which has not been told") == true)
    #expect(bench.files("/a").filter { $0.hasPrefix("m") } == [])
    try bench.disk.removeTree("/l")
    #expect(try await a.repairDatastore("one").records == 1)
    #expect(try await a.content("one") == ["of-one"])
    #expect(try a.ids() == ["one", "three", "two"])
  }

  /// What was moved was never exchanged, and the account had deleted a datastore of that id.
  @Test func `what nobody can have meant to delete waits until the other root is told or gone`()
    async throws
  {
    for isTold in [true, false] {
      let bench = try await Self.untold { bench in
        let c = bench.manager("c")
        try await c.with("one") { try $0.add("old") }
        try await c.refresh()
        try c.deleteDatastore("one")
        try await c.refresh()
      }
      let a = bench.manager("a")
      #expect(try await a.refresh().deleted == [])
      #expect(!bench.files("/a/p-one").isEmpty)
      if isTold {
        #expect(try bench.local("l").ids() == [])
      } else {
        try bench.disk.removeTree("/l")
      }
      #expect(try await a.refresh().deleted == ["one"])
      #expect(try await a.content("one") == ["of-one"])
    }
  }

  /// Everything is in its place, and there is no room to note that.
  @Test func `a disk that is full then does not shut the account's root`() async throws {
    let bench = try await MigrationEarlierTests.killed(when: "/a/MIGRATION") { bench in
      try await bench.manager("a").with("three") { try $0.add("of-a") }
    }
    bench.disk.intercept { step in
      let isOfRoot = step.path.hasPrefix("/a/") && !step.path.dropFirst(3).contains("/")
      return step.verb == "write" && isOfRoot ? .noSpace : nil
    }
    for _ in 0..<3 {
      let a = bench.manager("a")
      #expect(try a.ids() == ["one", "three", "two"])
      let three = try a.openDatastore("three")
      #expect(try three.ids() == ["of-a"])
      try three.close()
      #expect(bench.files("/a/trash") == [])
    }
    bench.disk.heal()
    // Noted now; the other root is told, and takes nothing back.
    #expect(try bench.manager("a").ids() == ["one", "three", "two"])
    #expect(try bench.local("l").ids() == [])
    #expect(!bench.files("/a").contains("MIGRATION") && !bench.files("/l").contains("MIGRATION"))
  }
}
