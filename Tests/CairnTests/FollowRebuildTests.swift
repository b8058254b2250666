import CairnBytes
import CairnDisk
import CairnLog
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// A copy that is put together anew, for another choice of tables.
@Suite struct FollowRebuildTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
  }

  private func policy(_ tables: FollowPolicy.Tables) -> FollowPolicy {
    FollowPolicy(tables: tables)
  }

  /// A member with five files in the folder, and a copy of one of its tables.
  private func begun() async throws -> Datastore {
    let a = try bench.open("a")
    for n in 0..<5 {
      try a.add("t\(n)")
      try a.add("u\(n)", to: "u")
      try await a.exchange()
    }
    let first = try await bench.follow("follower", policy(.only(["t"])))
    try await first.pull()
    try first.close()
    return a
  }

  /// Reads of files of deltas, of which the last one that is given fails, and all that is asked for
  /// after it.
  private func note(_ reads: Told<String>, _ hook: HookedFolder.Switch, failsAt last: Int? = nil) {
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(".seg") { reads.add(path) }
      guard let last, reads.all.count >= last else { return }
      throw CairnError(.noConnection, "the connection broke")
    }
  }

  @Test func `it goes on behind what has come, after closing and after a kill`() async throws {
    let a = try await begun()
    let hook = HookedFolder.Switch()
    let second = try await bench.follow("follower", policy(.all), hook)
    let first = Told<String>()
    note(first, hook, failsAt: 4)
    #expect(await second.pullError()?.code == .noConnection)
    try bench.copyTree(bench.root("follower"), to: bench.root("killed"))
    try second.close()
    for root in ["killed", "follower"] {
      let again = try await bench.follow(root, policy(.all), hook)
      let rest = Told<String>()
      note(rest, hook)
      try await again.pull()
      #expect(try content(again.datastore) == content(a), "\(root)")
      #expect(rest.all.count == 2 && rest.all.first == first.all.last, "\(root)")
      #expect(try await again.pull().isIdle)
      try again.close()
    }
  }

  @Test func `nothing of one choice is gone on with for another`() async throws {
    let a = try await begun()
    let hook = HookedFolder.Switch()
    let second = try await bench.follow("follower", policy(.only(["u"])), hook)
    note(Told<String>(), hook, failsAt: 4)
    let broken = await second.pullError()
    #expect(broken?.code == .noConnection)
    try second.close()
    let third = try await bench.follow("follower", policy(.all), hook)
    let reads = Told<String>()
    note(reads, hook)
    try await third.pull()
    #expect(try content(third.datastore) == content(a))
    #expect(reads.all.count == 5, "from the first file")
  }

  @Test func `what was put together and is damaged at home since is begun anew`() async throws {
    let a = try await begun()
    let path = bench.shared + "/" + (try #require(try bench.segments(a).max()))
    let last = try bench.read(path)
    try bench.remove(path)
    let second = try await bench.follow("follower", policy(.all))
    #expect(try await second.pull().isRejoining)
    // So that there is a file of which opening reads a part only.
    _ = try #require(second.datastore.exchanger?.staged).store.compact()
    try second.close()
    let directory = bench.root("follower") + "/followed/rejoin/snap"
    let name = try #require(try bench.names(directory).min())
    let good = try bench.read(directory + "/" + name)
    try bench.write(directory + "/" + name, good.flipped(at: min(200, good.count / 2)))
    try bench.write(path, last)
    for n in 0..<5 { try a.table("t")[RecordID("t\(n)")].set("n", 2) }
    try a.sync()
    try await a.exchange()
    let third = try await bench.follow("follower", policy(.all))
    // It may be found by opening it already: then nobody has to be told.
    let error = await third.pullError()
    #expect(error == nil || error?.code == .corrupt || error?.code == .syncFailed)
    try await third.pull()
    #expect(try content(third.datastore) == content(a))
  }

  @Test func `progress shows what comes for it`() async throws {
    let a = try await begun()
    let hook = HookedFolder.Switch()
    let second = try await bench.follow("follower", policy(.all), hook)
    let seen = Told<TransferProgress.Amount>()
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(".seg") { seen.add(second.progress.fetched) }
    }
    try await second.pull()
    #expect(seen.all.map(\.files) == [0, 1, 2, 3, 4])
    #expect(seen.all.map(\.totalFiles) == [5, 5, 5, 5, 5])
    #expect(second.progress.isIdle)
    #expect(try content(second.datastore) == content(a))
  }

  @Test func `a snapshot does for a file that was lost`() async throws {
    bench.options.tuning.smallFileBytes = 1
    let a = try await begun()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let lost = try #require(try bench.segments(a).min())
    try bench.remove(bench.shared + "/" + lost)
    let second = try await bench.follow("follower", policy(.all))
    let report = try await second.pull()
    #expect(report.fetchedSnapshot && !report.isRejoining)
    #expect(try content(second.datastore) == content(a))
  }

  @Test func `what waits for it says that the copy stays as it is`() async throws {
    let a = try await begun()
    let lost = try #require(try bench.segments(a).min())
    try bench.remove(bench.shared + "/" + lost)
    let second = try await bench.follow("follower", policy(.all))
    let report = try await second.pull()
    let reasons = report.waiting.map(\.reason)
    #expect(report.isRejoining)
    #expect(reasons.contains { $0.hasSuffix("until they are, the copy stays as it is") })
    #expect(!reasons.contains { $0.contains("published") })
    #expect(try content(second.datastore) == chosen(try content(a)) { $0 == "t" })
  }

  @Test func `contents that only the old choice needed go`() async throws {
    let a = try bench.open("a")
    try a.addPhoto("p", sample(1))
    try a.table("u").insert(["photo": a.attach(sample(2)).value], id: "u")
    try a.sync()
    try await a.exchange()
    let first = try await bench.follow()
    try await first.pull()
    let blobs = bench.root("follower") + "/followed/blobs"
    #expect(try bench.names(blobs, ".blob").count == 2)
    try first.close()
    let second = try await bench.follow("follower", policy(.only(["u"])))
    try await second.pull()
    let left = try bench.names(blobs, ".blob")
    #expect(left.count == 1)
    let wanted = try #require(try second.datastore.attachments().first)
    #expect(left.first?.hasPrefix(wanted.id.reference.hash.hex) == true)
    #expect(try second.datastore.attachments().count == 1)
  }

  @Test func `nothing is written meanwhile, nor to a folder with damaged files`() async throws {
    let a = try await begun()
    let path = bench.shared + "/" + (try bench.segment(a))
    let good = try bench.read(path)
    try bench.write(path, good.flipped(at: good.count / 2))
    let before = try bench.tree(bench.folder)
    let requests = Told<String>()
    let hook = HookedFolder.Switch()
    hook.set { request, path throws(CairnError) in
      if request == .write || request == .remove { requests.add("\(request) \(path)") }
    }
    let second = try await bench.follow("follower", policy(.all), hook)
    let report = try await second.pull()
    #expect(report.isRejoining && report.problems.count == 1)
    #expect(requests.all == [])
    #expect(try bench.tree(bench.folder) == before)
    try bench.write(path, good)
    let mended = try bench.tree(bench.folder)
    for _ in 0..<3 { try await second.pull() }
    #expect(try content(second.datastore) == content(a))
    #expect(try requests.all == [] && bench.tree(bench.folder) == mended)
  }
}
