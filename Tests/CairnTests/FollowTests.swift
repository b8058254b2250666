import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Somebody else's datastore, brought here one way.
@Suite struct FollowTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  @Test func `what members publish is here after a pull, and equal`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.setTitle("Notes")
    try a.add("a1", to: "t", ["n": 1, "list": .list([1, 2])])
    try a.add("a2", to: "u", ["text": "ü"])
    try await a.exchange()
    try await b.pull()
    try b.add("b1", to: "t")
    try b.table("t")["a1"].list("list").append(3)
    try b.sync()
    try await b.exchange()

    let follower = try await bench.follow()
    #expect(try content(follower.datastore).isEmpty && follower.id == "notes")
    let report = try await follower.pull()
    #expect(report.fetchedDeltas == 4 && report.complaints == [] && report.devices == 2)
    try await a.pull()
    #expect(try content(follower.datastore) == content(a))
    #expect(try follower.datastore.title == "Notes")
    #expect(follower.datastore.recordCount == a.recordCount && follower.datastore.size == a.size)

    try a.table("t")["b1"].delete()
    try a.sync()
    try await a.exchange()
    #expect(try await follower.pull().fetchedDeltas == 1)
    #expect(try content(follower.datastore) == content(a))
    let idle = try await follower.pull()
    #expect(idle.isIdle && idle.requests == 2, "the directory, and the list of datastores")
    try follower.close()
    #expect(!follower.isOpen)
  }

  @Test func `offline everything is there: queries, indexes, and after opening again`()
    async throws
  {
    let a = try bench.open("a")
    for n in 0..<50 { try a.add("r\(n)", to: "t", ["n": .int(Int64(n))]) }
    try await a.exchange()
    let first = try await bench.follow()
    try await first.pull()
    try first.close()
    try bench.move(bench.folder, to: bench.folder + ".gone")

    let follower = try DatastoreFollower(
      root: bench.root("follower"), folder: .directory(bench.folder), options: bench.options)
    let copy = follower.datastore
    #expect(copy.isFollowed && follower.id == "notes" && !a.isFollowed)
    try copy.addIndex(table: "t", field: "n")
    let found = try copy.table("t").query(Query().where("n", .greater(44)))
    #expect(found.count == 5)
    #expect(try content(copy) == content(a))
    let error = await follower.pullError()
    #expect(error?.code == .notFound)
    #expect(try content(copy) == content(a))
    try copy.compact()
    #expect(try content(copy) == content(a))
    try follower.close()
    // Subscribing once more to the same asks the folder nothing either.
    let again = try await bench.follow()
    #expect(try content(again.datastore) == content(a))
  }

  @Test func `observers hear what a pull brings`() async throws {
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    var changes = follower.datastore.changes.makeAsyncIterator()
    try await follower.pull()
    let change = try #require(await changes.next())
    #expect(change.records["t"] == ["a"] || change.wholeTables.contains("t"))
    try a.close()
  }

  @Test func `every edit is refused as read-only`() async throws {
    let a = try bench.open("a")
    try a.add("r", to: "t", ["n": 1, "list": .list([1])])
    try await a.exchange()
    let follower = try await bench.follow()
    try await follower.pull()
    let copy = follower.datastore
    let table = try copy.table("t")
    let record = try #require(try table.record("r"))
    let refused: [(String, () throws -> Void)] = [
      ("insert", { _ = try table.insert(["n": 1]) }),
      ("set", { try record.set("n", 2) }),
      ("update", { try record.update(["n": 2]) }),
      ("delete", { try record.delete() }),
      ("append", { try record.list("list").append(2) }),
      ("title", { try copy.setTitle("mine") }),
      ("rule", { try table.setRule(.sum, field: "n") }),
      ("default rule", { try copy.setDefaultRule(.local) }),
      ("attach", { _ = try copy.attach([1, 2, 3]) }),
      ("attach piece by piece", { _ = try AttachmentDraft(copy) }),
      ("open", { _ = try copy.manager.openOrCreateDatastore("other") }),
      ("create", { _ = try copy.manager.createDatastore() }),
      ("delete it", { try copy.manager.deleteDatastore("notes") }),
      ("uncache", { try copy.manager.uncacheDatastore("notes") }),
      ("the list", { try copy.manager.startExchanging() }),
    ]
    for (what, body) in refused {
      let error = failure(body)
      #expect(error?.code == .readOnly, "\(what): \(String(describing: error))")
    }
    #expect(!copy.isWritable && copy.effectiveRole == .viewer && copy.unsyncedChangesSize == 0)
    #expect(try copy.sync().committed == false)
    #expect(try content(copy) == content(a))
    let repair = await #expect(throws: CairnError.self) { try await copy.repairFolder() }
    let list = await #expect(throws: CairnError.self) { try await copy.manager.refresh() }
    #expect(repair?.code == .readOnly && list?.code == .readOnly)
    try copy.compact()
    try follower.close()
    let again = try await bench.follow()
    #expect(failure { _ = try again.datastore.table("t").insert([:]) }?.code == .readOnly)
    let local = failure {
      _ = try DatastoreManager(root: bench.root("follower")).openDefaultDatastore()
    }
    #expect(local?.code == .readOnly, "a root belongs to one of the two")
  }

  @Test func `nothing is moved into a follower's root, nor out of it`() async throws {
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.pull()
    try follower.close()
    let local = DatastoreManager(
      root: bench.root("local"), account: nil, folder: nil, options: bench.options, machine: .real)
    let own = try local.openOrCreateDatastore("own")
    try own.add("r")
    try own.close()
    let before = try bench.tree(bench.root("follower"))
    #expect(failure { try local.migrate(to: bench.manager("follower")) }?.code == .readOnly)
    let there = DatastoreManager(
      root: bench.root("follower"), account: nil, folder: nil, options: bench.options,
      machine: .real)
    #expect(failure { try there.migrate(to: bench.manager("b")) }?.code == .readOnly)
    #expect(try bench.tree(bench.root("follower")) == before)
    #expect(try local.openOrCreateDatastore("own").ids() == ["r"])
    let again = try await bench.follow()
    #expect(try content(again.datastore) == content(a))
  }

  // MARK: the folder

  @Test func `nothing is ever written to the folder`() async throws {
    let a = try bench.open("a")
    _ = try await a.manager.refresh()
    try a.addPhoto("photo", sample(1))
    try await a.exchange()
    // What somebody's crash has left, long ago: who looks at a folder removes it otherwise.
    let leftover = bench.shared + "/0123456789abcdef.tmp"
    try bench.write(leftover, [1])
    try bench.age(leftover, days: 30)
    let before = try bench.tree(bench.folder)
    let requests = Told<String>()
    let hook = HookedFolder.Switch()
    hook.set { request, path throws(CairnError) in
      guard request == .write || request == .remove else { return }
      requests.add("\(request) \(path)")
      throw CairnError(.readOnly, "not here")
    }
    let follower = try await bench.follow("follower", FollowPolicy(), hook)
    for _ in 0..<3 { try await follower.pull() }
    #expect(try follower.datastore.content(of: "photo") == sample(1))
    try follower.datastore.compact()
    _ = try await follower.datastore.collectAttachments(graceSeconds: 0)
    _ = try await follower.datastore.devices()
    try await follower.datastore.exchange()
    try follower.unsubscribe()
    #expect(requests.all == [] && before[leftover] != nil)
    #expect(try bench.tree(bench.folder) == before)
    let plain = try await bench.follow("plain")
    try await plain.pull()
    try plain.close()
    #expect(try bench.tree(bench.folder) == before, "no file, and no directory touched")
    #expect(try await a.devices().count == 1, "its devices do not know of it")
  }

  @Test func `a folder on a medium that is read-only is followed like any other`() async throws {
    let a = try await bench.publisher("a")
    let machine = Machine(
      disk: ReadOnlyDisk(), clock: Machine.real.clock, random: Machine.real.random)
    let path = bench.folder
    let follower = try await DatastoreFollower.subscribe(
      to: "notes", in: .directory(path), root: bench.root("follower"), policy: FollowPolicy(),
      options: bench.options, opener: { DirectoryFolder(path, machine: machine) },
      machine: .real)
    #expect(try await follower.pull().complaints == [])
    #expect(try content(follower.datastore) == content(a))
  }

  @Test func `a follower keeps nothing of its members' from being tidied`() async throws {
    bench.options.graceSeconds = 0
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    let follower = try await bench.follow()
    try await follower.pull()
    let first = try bench.segments(a)
    for n in 1...12 {
      try a.add("a\(n)")
      try await a.exchange()
    }
    try await a.exchange()
    #expect(try Set(bench.segments(a)).isDisjoint(with: first), "they were merged away")
    let report = try await follower.pull()
    #expect(report.complaints == [] && report.fetchedDeltas == 12)
    #expect(try content(follower.datastore) == content(a))
  }

  @Test func `deltas that are gone come in a snapshot`() async throws {
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    let behind = try await bench.follow("behind")
    try await behind.pull()
    for n in 1...6 {
      try a.add("a\(n)")
      try a.add("u\(n)", to: "u")
      try await a.exchange()
    }
    try a.table("t")["a0"].delete()
    try a.sync()
    try await a.exchange()
    try a.compact()
    for name in try bench.segments(a) { try bench.remove(bench.shared + "/" + name) }
    let repair = try await a.repairFolder()
    #expect(!repair.onlyInSnapshot.isEmpty)
    let choice = FollowPolicy(tables: .only(["u"]))
    for follower in [
      behind, try await bench.follow("new"), try await bench.follow("chosen", choice),
    ] {
      #expect(try await follower.pull().fetchedSnapshot)
      let wanted = try content(a)
      let isChosen = follower.policy.tables != .all
      #expect(
        try content(follower.datastore) == (isChosen ? chosen(wanted) { $0 == "u" } : wanted))
      let added = try await follower.pull()
      #expect(added.complaints == [])
      try follower.close()
    }
  }

  // MARK: beginning and end

  @Test func `what is not there can't be subscribed to`() async throws {
    #expect(await bench.followError()?.code == .notFound, "there is no folder")
    let a = try await bench.publisher("a")
    _ = try await a.manager.refresh()
    let missing = await bench.followError(id: "others")
    #expect(missing?.code == .notFound && missing?.message.contains("it has notes") == true)
    #expect(await bench.followError(id: "Not an id")?.code == .illegalArgument)
    #expect(await bench.followError("folder/inside")?.code == .parent)
    #expect(await bench.followError("a")?.code == .exists, "a member's root")
    let wrong = FollowPolicy(tables: .only(["no such id!"]))
    let refused = await #expect(throws: CairnError.self) { try await bench.follow("x", wrong) }
    #expect(refused?.code == .illegalArgument)
    #expect(try bench.names(bench.place.path).sorted() == ["a", "folder"], "nothing is left")
    let follower = try await bench.follow()
    #expect(await bench.followError()?.code == .alreadyOpen)
    #expect(await bench.followError(id: "others")?.code == .exists)
    try follower.close()
    let none = failure {
      _ = try DatastoreFollower(root: bench.root("b"), folder: .directory(bench.folder))
    }
    #expect(none?.code == .notFound)
  }

  @Test func `unsubscribing forgets what is here and leaves the folder`() async throws {
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.pull()
    let before = try bench.tree(bench.folder)
    #expect(
      failure { try DatastoreFollower.unsubscribe(root: bench.root("follower")) }?.code
        == .alreadyOpen)
    try follower.unsubscribe()
    #expect(try bench.names(bench.root("follower")) == [])
    #expect(try bench.tree(bench.folder) == before)
    let ended = failure { _ = try follower.datastore.table("t") }
    #expect(ended?.code == .closed && ended?.message.contains("DatastoreFollower(root:") == true)
    #expect(await follower.pullError()?.code == .closed)
    #expect(
      failure { try DatastoreFollower.unsubscribe(root: bench.root("follower")) }?.code
        == .notFound)
    // Interrupted between its two steps: what is left does not count.
    let again = try await bench.follow()
    try await again.pull()
    try again.close()
    try bench.remove(bench.root("follower") + "/FOLLOWING")
    let new = try await bench.follow()
    #expect(try content(new.datastore).isEmpty)
    try await new.pull()
    #expect(try content(new.datastore) == content(a))
    try new.close()
    // Whatever state its files are in.
    try bench.write(bench.root("follower") + "/FOLLOWING", [1, 2, 3])
    #expect(await bench.followError()?.code == .corrupt)
    try DatastoreFollower.unsubscribe(root: bench.root("follower"))
    #expect(await bench.followError() == nil)
  }

  @Test func `two subscriptions, and a member on the same device`() async throws {
    let a = try await bench.publisher("a")
    let other = try a.manager.openOrCreateDatastore("other")
    try other.add("o")
    try await other.exchange()
    _ = try await a.manager.refresh()
    let first = try await bench.follow("one")
    let second = try await DatastoreFollower.subscribe(
      to: "other", in: .directory(bench.folder), root: bench.root("two"), options: bench.options)
    let third = try await bench.follow("three", FollowPolicy(tables: .except(["t"])))
    for follower in [first, second, third] { try await follower.pull() }
    #expect(try first.datastore.ids() == ["a"] && second.datastore.ids() == ["o"])
    #expect(try third.datastore.ids() == [])
    let b = try bench.open("b")
    try await b.pull()
    try b.add("b")
    try await b.exchange()
    try await first.pull()
    #expect(try first.datastore.ids() == ["a", "b"])
    try first.unsubscribe()
    try await second.pull()
    #expect(try second.datastore.ids() == ["o"])
  }

  @Test func `roles do not matter, neither do limits on deletes`() async throws {
    let a = try bench.manager("a").createDatastore()
    try a.setRole(.viewer, for: .publicAccess)
    for n in 0..<200 { try a.table("t").insert(["n": 1], id: RecordID("r\(n)")) }
    try a.sync()
    try await a.exchange()
    let follower = try await DatastoreFollower.subscribe(
      to: a.id, in: .directory(bench.folder), root: bench.root("follower"),
      options: bench.options)
    try await follower.pull()
    #expect(follower.datastore.isShareable && follower.datastore.effectiveRole == .viewer)
    #expect(try follower.datastore.listRoles() == a.listRoles())
    #expect(try content(follower.datastore) == content(a))
    #expect(
      failure { try follower.datastore.setRole(.editor, for: .publicAccess) }?.code == .readOnly)
    for record in try a.table("t").query() { try record.delete() }
    try a.setRole(.editor, for: .publicAccess)
    try a.sync()
    try await a.exchange()
    try await follower.pull()
    #expect(try follower.datastore.table("t").count == 0)
    #expect(try follower.datastore.trash.list().isEmpty)
    #expect(failure { _ = try follower.datastore.table("t").insert([:]) }?.code == .readOnly)
  }
}
