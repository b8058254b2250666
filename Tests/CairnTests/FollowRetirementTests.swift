import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Who follows a datastore whose devices agree on what may be forgotten, and retire one another.
@Suite struct FollowRetirementTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// A pull that leaves the folder as it is.
  @discardableResult
  private func pull(_ follower: DatastoreFollower) async throws -> ExchangeReport {
    let before = try bench.tree(bench.folder)
    let report = try await follower.pull()
    #expect(try bench.tree(bench.folder) == before)
    let home = follower.root + "/" + FileName.followed
    #expect(try PosixDisk().info(home + "/" + FileName.publication) == nil)
    #expect(follower.datastore.store.vector[follower.datastore.store.device] == 0)
    return report
  }

  @Test func `a follower has what was agreed on, and forgets with the others`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    try a.add("u1", to: "u")
    try a.add("gone", to: "t")
    try await bench.meet(a, b)
    let all = try await bench.follow("all")
    let some = try await bench.follow("some", FollowPolicy(tables: .only(["u"])))
    for follower in [all, some] { try await pull(follower) }
    try b.table("t").record("gone")?.delete()
    try a.askToForget()
    try await bench.meet(a, b)
    let fresh = try await bench.follow("fresh", FollowPolicy(tables: .only(["t"])))
    for follower in [all, some, fresh] {
      let report = try await pull(follower)
      #expect(report.complaints == [] && report.held == [] && !report.isRejoining)
      #expect(follower.datastore.store.cuts == a.store.cuts)
    }
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    #expect(try content(all.datastore) == content(a))
    #expect(try content(some.datastore) == chosen(try content(a)) { $0 == "u" })
    #expect(try content(fresh.datastore) == chosen(try content(a)) { $0 == "t" })
    try all.datastore.compact()
    try a.compact()
    let (mine, theirs) = (all.datastore.store.snapshotFile(), a.store.snapshotFile())
    #expect(
      try bench.read(try #require(mine).path) == bench.read(try #require(theirs).path),
      "the same deltas and the same fence are the same snapshot")
  }

  @Test(arguments: [false, true])
  func `what a retired device had told nobody else goes, and comes back with it`(
    isPart: Bool
  ) async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let away = try await bench.publisher("c")
    try await bench.meet(a, b, away)
    try away.add("mine")
    try away.table("t").record("a")?.set("text", "edited")
    try away.sync()
    try await away.exchange()
    let follower = try await bench.follow(
      "follower", isPart ? FollowPolicy(tables: .only(["t"])) : FollowPolicy())
    try await pull(follower)
    #expect(try follower.datastore.ids() == ["a", "b", "c", "mine"])
    let name = follower.datastore.device
    try a.table("t").record("a")?.delete()
    try a.retireDevice(away.device)
    // The others have not heard of it: its file is not to be had by them.
    let hidden = try bench.segments(away).suffix(1)
    for file in hidden { try bench.move(bench.shared + "/" + file, to: bench.root(file)) }
    try await bench.meet(a, b)
    for file in hidden { try bench.move(bench.root(file), to: bench.shared + "/" + file) }
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    for _ in 0..<3 { try await pull(follower) }
    #expect(try follower.datastore.ids() == ["b", "c"])
    #expect(follower.datastore.store.vector == a.store.vector)
    #expect(follower.datastore.device == name)
    try await bench.meet(away, a, b)
    for _ in 0..<2 { try await pull(follower) }
    #expect(try a.ids() == ["b", "c", "mine"])
    #expect(try content(follower.datastore) == content(a))
    #expect(follower.datastore.store.vector == a.store.vector)
    let idle = try await pull(follower)
    #expect(idle.complaints == [] && !idle.isRejoining)
  }

  @Test func `a follower holds what its devices hold, and says so`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let away = try await bench.publisher("c")
    try await bench.meet(a, b, away)
    try a.retireDevice(away.device)
    try await bench.meet(a, b)
    let follower = try await bench.follow()
    try await pull(follower)
    try away.add("mine")
    // It publishes in the round in which it hears that it was retired.
    try await away.exchange()
    try await pull(follower)
    let report = try await pull(follower)
    #expect(report.held.count == 1 && report.complaints == [])
    #expect(try content(follower.datastore) == content(a))
  }

  @Test func `who follows asks nobody to forget, and retires nobody`() async throws {
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await pull(follower)
    let copy = follower.datastore
    #expect(failure { try copy.askToForget() }?.code == .readOnly)
    #expect(failure { try copy.retireDevice(a.device) }?.code == .readOnly)
    #expect(try await copy.devices().map(\.id) == [a.device])
  }
}
