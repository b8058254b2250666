import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// What of somebody's datastore is kept here.
@Suite struct FollowChoiceTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
  }

  /// A member with records, lists, sums, conflicts and deletes in three tables.
  private func member() async throws -> Datastore {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for name in ["t", "u", "v"] {
      try a.table(name).setRule(.sum, field: "sum")
      try a.add("shared", to: name, ["sum": 1, "list": .list([1, 2, 3]), "n": 0])
      try a.add("gone", to: name)
    }
    try await a.exchange()
    try await b.pull()
    for device in [a, b] {
      for name in ["t", "u", "v"] {
        let shared = try #require(try device.table(name).record("shared"))
        try shared.set("sum", .int(device === a ? 5 : 7))
        try shared.list("list").append(device === a ? 4 : 5)
        try shared.set("n", .string(device.device))
        if device === b { try device.table(name)["gone"].delete() }
        try device.add("of-\(device === a ? "a" : "b")", to: name)
      }
      try device.sync()
    }
    for device in [a, b, a, b] { try await device.pull() }
    #expect(try content(a) == content(b) && content(a).count == 9)
    return a
  }

  @Test(arguments: [
    FollowPolicy.Tables.all, .only([]), .only(["t"]), .only(["u", "v", "none"]), .except(["t"]),
    .except([]),
  ])
  func `tables that are not chosen are not here and do not count`(
    _ tables: FollowPolicy.Tables
  ) async throws {
    let a = try await member()
    let wanted = chosen(try content(a), tables.choice.keeps)
    let follower = try await bench.follow("follower", FollowPolicy(tables: tables))
    try await follower.pull()
    var copy = follower.datastore
    #expect(try content(copy) == wanted)
    let names = Set(wanted.keys.map { String($0.prefix(1)) })
    #expect(try Set(copy.tables().map(\.id)) == names)
    #expect(copy.recordCount == wanted.count, "a rule is no record")
    for name in ["t", "u", "v"] {
      #expect(try copy.table(name).count == (names.contains(name) ? 3 : 0))
      #expect(copy.rules[name] == a.rules[name], "the library's own tables are always here")
    }
    try copy.compact()
    #expect(try content(copy) == wanted)
    try follower.close()
    let again = try DatastoreFollower(
      root: bench.root("follower"), folder: .directory(bench.folder), options: bench.options)
    copy = again.datastore
    #expect(again.policy.tables == tables && copy.recordCount == wanted.count)
    #expect(try content(copy) == wanted)
    for name in ["t", "u", "v"] { try a.add("later", to: name) }
    try await a.exchange()
    try await again.pull()
    #expect(try content(copy) == chosen(try content(a), tables.choice.keeps))
  }

  @Test func `nothing of them is in the files`() async throws {
    let a = try bench.open("a")
    let secret = "nobody else's business"
    try a.add("s", to: "secrets", ["text": .string(secret)])
    try a.add("p", to: "plain", ["text": "everybody's"])
    try await a.exchange()
    let choice = FollowPolicy(tables: .except(["secrets"]))
    for isSnapshot in [false, true] {
      if isSnapshot {
        try a.compact()
        for name in try bench.segments(a) { try bench.remove(bench.shared + "/" + name) }
        try await a.repairFolder()
      }
      let root = isSnapshot ? "joined" : "follower"
      let follower = try await bench.follow(root, choice)
      let report = try await follower.pull()
      #expect(report.fetchedSnapshot == isSnapshot)
      try follower.close()
      var hasPlain = false
      for path in try bench.tree(bench.root(root)).keys {
        guard try PosixDisk().info(path)?.kind == .file else { continue }
        let content = try bench.read(path)
        hasPlain = hasPlain || content.contains("everybody's")
        #expect(!content.contains(secret), "\(path)")
        #expect(!content.contains("secrets") || path.hasSuffix("/FOLLOWING"), "\(path)")
      }
      #expect(hasPlain, "what is kept would be seen")
    }
  }

  @Test func `of a damaged file that has them only the reason stays`() async throws {
    let a = try bench.open("a")
    try a.add("s", to: "staff")
    try a.add("t")
    try await a.exchange()
    let name = try bench.segment(a)
    let good = try bench.read(bench.shared + "/" + name)
    let copy = "copy of " + name
    try bench.write(bench.shared + "/" + copy, good.flipped(at: good.count / 2))
    func told(_ report: ExchangeReport) -> String? {
      report.problems.first { $0.name == copy }?.reason
    }
    let quarantine = bench.root("follower") + "/followed/quarantine"
    let first = try await bench.follow()
    let reason = told(try await first.pull())
    #expect(reason?.hasSuffix("; kept in quarantine") == true)
    #expect(try bench.names(quarantine, ".bad").count == 1)
    try first.close()
    let second = try await bench.follow("follower", FollowPolicy(tables: .except(["staff"])))
    for _ in 0..<2 {
      #expect(try bench.names(quarantine, ".bad") == [])
      #expect(try bench.names(quarantine, ".reason").count == 1)
      let reason = told(try await second.pull())
      #expect(reason?.hasSuffix("; only this reason is kept in quarantine") == true)
    }
  }

  @Test func `reports that say the same are equal`() {
    var report = ExchangeReport()
    report.contentProblems = []
    #expect(report == ExchangeReport())
    #expect(Set([report, ExchangeReport()]).count == 1)
    report.requests = 1
    #expect(report != ExchangeReport())
  }

  @Test func `another choice holds when the next pull is through`() async throws {
    let a = try await member()
    let all = try content(a)
    let first = try await bench.follow("follower", FollowPolicy(tables: .only(["t"])))
    try await first.pull()
    try first.close()
    let hook = HookedFolder.Switch()
    hook.fail([.list, .read, .write, .remove], .noConnection)
    let second = try await bench.follow("follower", FollowPolicy(tables: .only(["u", "v"])), hook)
    #expect(await second.pullError()?.code == .noConnection)
    #expect(try content(second.datastore) == chosen(all) { $0 == "t" }, "offline it is as before")
    hook.set(nil)
    let seen = Told<DatastoreChange>()
    let observation = second.datastore.observe(on: { $0() }) { seen.add($0) }
    try await second.pull()
    #expect(try content(second.datastore) == chosen(all) { $0 != "t" })
    #expect(seen.all.contains { $0.affects("t") } && seen.all.contains { $0.affects("u") })
    withExtendedLifetime(observation) {}
    #expect(try await second.pull().fetchedFiles == 0, "it is once only")
    try second.close()
    let third = try DatastoreFollower(
      root: bench.root("follower"), folder: .directory(bench.folder), options: bench.options)
    #expect(third.policy.tables == .only(["u", "v"]))
    #expect(try content(third.datastore) == chosen(all) { $0 != "t" })
    try third.close()
    // Interrupted half-way, and back again before it is through.
    let fourth = try await bench.follow("follower", FollowPolicy())
    try await fourth.datastore.exchange()
    try fourth.close()
    let fifth = try await bench.follow("follower", FollowPolicy(tables: .only(["u", "v"])))
    #expect(try content(fifth.datastore) == chosen(all) { $0 != "t" })
    try await fifth.pull()
    try fifth.close()
    let last = try await bench.follow("follower", FollowPolicy())
    try await last.pull()
    #expect(try content(last.datastore) == all)
  }

  // MARK: attachments

  @Test func `contents come by policy, priorities first`() async throws {
    let a = try bench.open("a")
    for n in 0..<4 { try a.addPhoto("p\(n)", sample(UInt64(n))) }
    try a.table("u").insert(["photo": a.attach(sample(9)).value], id: "u0")
    try a.sync()
    try await a.exchange()

    let always = try await bench.follow("always")
    let report = try await always.pull()
    #expect(report.fetchedAttachments == 5 && report.missingAttachments == 0)
    #expect(always.progress.isIdle && always.progress.fetched.files == 6)
    #expect(try always.datastore.content(of: "p3") == sample(3))

    let never = try await bench.follow("never", FollowPolicy(attachments: .never))
    #expect(try await never.pull().fetchedAttachments == 0)
    #expect(try never.datastore.photo("p0").state == .remote)
    let refused = await #expect(throws: CairnError.self) {
      try await never.datastore.photo("p0").fetch()
    }
    #expect(refused?.code == .disallowed)

    let demand = try await bench.follow("demand", FollowPolicy(attachments: .onDemand))
    try await demand.pull()
    #expect(try demand.datastore.content(of: "p1") == nil)
    try await demand.datastore.photo("p1").fetch()
    #expect(try demand.datastore.content(of: "p1") == sample(1))

    let chosen = try await bench.follow("chosen", FollowPolicy(tables: .only(["u"])))
    #expect(try await chosen.pull().fetchedAttachments == 1)
    #expect(try chosen.datastore.attachments().map(\.table) == ["u"])

    let order = Told<String>()
    let hook = HookedFolder.Switch()
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(".blob") { order.add(path) }
    }
    let policy = FollowPolicy(
      attachments: AttachmentPolicy { use in
        switch use.record {
        case "p2": .always(priority: 1)
        case "p0": .always(priority: 0)
        default: .never
        }
      })
    let some = try await bench.follow("some", policy, hook)
    #expect(try await some.pull().fetchedAttachments == 2)
    let wanted = try [2, 0].map { try a.photo("p\($0)").id.reference.hash.hex }
    #expect(order.all.count == 2)
    for (path, hash) in zip(order.all, wanted) { #expect(path.hasSuffix(hash + ".blob")) }
  }

  @Test func `a content that is missing or damaged stays stale and comes later`() async throws {
    let a = try bench.open("a")
    let photo = try a.addPhoto("p", sample(1))
    try await a.exchange()
    let path = bench.blobs + "/" + (try #require(try bench.blobs().first))
    let good = try bench.read(path)
    try bench.remove(path)
    let follower = try await bench.follow()
    let report = try await follower.pull()
    #expect(report.missingAttachments == 1 && report.fetchedDeltas == 1)
    #expect(try follower.datastore.photo("p").state != .here)
    try bench.write(path, good.flipped(at: 7))
    let damaged = try await follower.pull()
    #expect(damaged.problems.map(\.name) == [photo.id.description])
    #expect(try follower.datastore.content(of: "p") == nil)
    try bench.write(path, good)
    for _ in 0..<4 where try follower.datastore.content(of: "p") == nil {
      try await follower.pull()
    }
    #expect(try follower.datastore.content(of: "p") == sample(1))
    try a.table("t")["p"].delete()
    try a.sync()
    try await a.exchange()
    try await follower.pull()
    _ = try await follower.datastore.collectAttachments(graceSeconds: 0)
    #expect(try bench.read(path) == good, "only what is here goes")
    #expect(try bench.names(bench.root("follower") + "/followed/blobs", ".blob") == [])
  }
}

extension [UInt8] {
  /// Whether a text is somewhere in it.
  func contains(_ text: String) -> Bool {
    let wanted = Array(text.utf8)
    guard count >= wanted.count else { return false }
    return (0...(count - wanted.count)).contains {
      self[$0] == wanted[0] && self[$0..<($0 + wanted.count)].elementsEqual(wanted)
    }
  }
}
