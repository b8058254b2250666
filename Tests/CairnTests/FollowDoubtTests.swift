import CairnDisk
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// Between two choices of tables, and what of them is remembered.
@Suite struct FollowDoubtTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
  }

  private func policy(_ tables: FollowPolicy.Tables) -> FollowPolicy {
    FollowPolicy(tables: tables)
  }

  private func open() throws -> DatastoreFollower {
    try DatastoreFollower(
      root: bench.root("follower"), folder: .directory(bench.folder), options: bench.options)
  }

  private func member() async throws -> Datastore {
    let a = try bench.open("a")
    for name in ["t", "u"] { try a.add("first", to: name) }
    try await a.exchange()
    return a
  }

  @Test(arguments: [
    (FollowPolicy.Tables.all, FollowPolicy.Tables.only(["t"])), (.only(["t"]), .all),
    (.only(["t"]), .except(["t"])),
  ])
  func `what was fetched for one choice is not applied for another`(
    _ old: FollowPolicy.Tables, _ new: FollowPolicy.Tables
  ) async throws {
    let a = try await member()
    let first = try await bench.follow("follower", policy(old))
    try await first.pull()
    let before = try content(first.datastore)
    for name in ["t", "u"] { try a.add("second", to: name) }
    try await a.exchange()
    #expect(try await first.datastore.exchange().fetchedFiles == 1)
    try first.close()

    let hook = HookedFolder.Switch()
    hook.fail([.list, .read], .noConnection)
    let second = try await bench.follow("follower", policy(new), hook)
    #expect(await second.pullError()?.code == .noConnection)
    try second.datastore.sync()
    #expect(try content(second.datastore) == before, "the copy of the old choice is as it was")
    try second.close()

    let back = try await bench.follow("follower", policy(old))
    #expect(try content(back.datastore) == before)
    try await back.pull()
    #expect(try content(back.datastore) == chosen(try content(a), old.choice.keeps))
    try back.close()
    let again = try await bench.follow("follower", policy(new))
    try await again.pull()
    #expect(try content(again.datastore) == chosen(try content(a), new.choice.keeps))
  }

  @Test func `a choice is remembered at once`() async throws {
    let a = try await member()
    let first = try await bench.follow()
    try await first.pull()
    try first.close()
    let hook = HookedFolder.Switch()
    hook.fail([.list, .read], .noConnection)
    let second = try await bench.follow("follower", policy(.except(["u"])), hook)
    #expect(await second.pullError()?.code == .noConnection)
    try second.close()
    try a.add("second", to: "u")
    try a.add("second")
    try await a.exchange()
    for _ in 0..<2 {
      let follower = try open()
      #expect(follower.policy.tables == .except(["u"]))
      try await follower.pull()
      #expect(try content(follower.datastore) == chosen(try content(a)) { $0 == "t" })
      #expect(try await follower.pull().isIdle, "it is put together once")
      try follower.close()
    }
    // Nothing is here of which it could be in doubt.
    let empty = try await bench.follow("empty")
    try empty.close()
    let other = try await bench.follow("empty", policy(.only(["u"])))
    let report = try await other.pull()
    #expect(!report.isRejoining && other.datastore.recordCount == 2)
  }

  @Test func `a crash after the switch leaves no copy under another's note`() async throws {
    let a = try await member()
    let old = FollowPolicy.Tables.only(["t"])
    let new = FollowPolicy.Tables.only(["u"])
    for last in [nil, old, new] {
      let root = "follower"
      let first = try await bench.follow(root, policy(old))
      try await first.pull()
      try first.close()
      let isFull = Shared(false)
      let disk = noteDisk(isFull: isFull)
      let path = bench.folder
      func subscribe(_ tables: FollowPolicy.Tables) async throws -> DatastoreFollower {
        try await DatastoreFollower.subscribe(
          to: "notes", in: .directory(path), root: bench.root(root), policy: policy(tables),
          options: bench.options, opener: { DirectoryFolder(path) },
          machine: Machine(
            disk: disk, clock: Machine.real.clock, random: Machine.real.random))
      }
      // What can't be remembered is not begun.
      isFull.withLock { $0 = true }
      let refused = await #expect(throws: CairnError.self) { try await subscribe(new) }
      #expect(refused?.code == .diskSpace)
      isFull.withLock { $0 = false }
      let untouched = try open()
      #expect(untouched.policy.tables == old)
      try untouched.close()

      let second = try await subscribe(new)
      isFull.withLock { $0 = true }
      try await second.pull()
      #expect(try content(second.datastore) == chosen(try content(a)) { $0 == "u" })
      #expect(try await second.pull().isIdle, "this process knows that it is through")
      try second.close()

      let third = try await last.asyncMap { try await bench.follow(root, policy($0)) } ?? open()
      #expect(third.policy.tables == last ?? new)
      try await third.pull()
      #expect(
        try content(third.datastore) == chosen(try content(a), (last ?? new).choice.keeps))
      try third.unsubscribe()
    }
  }

  @Test func `a rebuild takes deletes however many they are`() async throws {
    let a = try bench.open("a")
    for n in 0..<120 { try a.table("t").insert(fields: ["n": 1], id: RecordID("r\(n)")) }
    try a.sync()
    try await a.exchange()
    try a.compact()
    for name in try bench.segments(a) { try bench.remove(bench.shared + "/" + name) }
    try await a.repairFolder()
    for n in 0..<100 { try a.table("t")[RecordID("r\(n)")].delete() }
    try a.sync()
    try await a.exchange()
    let first = try await bench.follow()
    try await first.pull()
    #expect(try content(first.datastore) == content(a))
    try first.close()
    let second = try await bench.follow("follower", policy(.except(["u"])))
    #expect(second.datastore.exchanger?.following?.mustRebuild == true)
    #expect(try await !second.pull().isRejoining)
    #expect(second.datastore.exchanger?.following?.mustRebuild == false)
    #expect(try content(second.datastore) == content(a) && second.datastore.recordCount == 20)
  }

  @Test func `nothing is noted after the end`() async throws {
    _ = try await member()
    let follower = try await bench.follow()
    try await follower.pull()
    let source = try #require(follower.datastore.exchanger?.following)
    try follower.unsubscribe()
    // A round that is still on its way out.
    source.noteFolder(1)
    source.noteRebuilt()
    #expect(try bench.names(bench.root("follower")) == [])
  }
}

extension Optional {
  fileprivate func asyncMap<R>(_ body: (Wrapped) async throws -> R) async throws -> R? {
    if let self { try await body(self) } else { nil }
  }
}

/// A disk that takes everything but FOLLOWING, while it is full.
private func noteDisk(isFull: Shared<Bool>) -> RenamingDisk {
  RenamingDisk { base, from, to throws(DiskError) in
    if isFull.withLock({ $0 }), to.hasSuffix("/FOLLOWING") {
      throw DiskError(reason: .noSpace, operation: "rename", path: to)
    }
    try base.rename(from, to: to)
  }
}
