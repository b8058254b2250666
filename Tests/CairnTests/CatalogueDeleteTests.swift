import Cairn
import CairnDisk
import TestSupport
import Testing

/// Deletes travel; nothing that was not deleted goes, and nothing that was comes back.
@Suite struct CatalogueDeleteTests {
  private let bench = CatalogueBench()

  /// Two managers that have published `n` with a record each.
  private func pair() async throws -> (DatastoreManager, DatastoreManager) {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.add("a") }
    try await b.with("n") { try $0.add("b") }
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    return (a, b)
  }

  @Test func `a delete removes the copies and files of all devices`() async throws {
    let (a, b) = try await pair()
    try a.deleteDatastore("n")
    #expect(try a.ids() == [] && b.ids() == ["n"])
    #expect(code { _ = try a.openDatastore("n") } == .notFound)
    #expect(code { try a.deleteDatastore("n") } == .notFound)
    #expect(bench.files("/folder/p-n").count == 4, "each device removes its own files")
    try await a.refresh()
    #expect(bench.files("/folder/p-n").count == 2)
    #expect(try await b.refresh().deleted == ["n"])
    #expect(try b.ids() == [] && code { _ = try b.openDatastore("n") } == .notFound)
    for manager in [a, b] { for _ in 0..<2 { try await manager.refresh() } }
    #expect(bench.files("/folder/p-n") == [])
    #expect(bench.files("/a/p-n") == [] && bench.files("/b/p-n") == [])
    // What another device deleted is in the trash for a while.
    #expect(bench.files("/b/trash").contains { $0.hasSuffix("p-n/CURRENT") })
    bench.clock.advance(by: 31 * 24 * 3600 * 1000)
    try await b.refresh()
    #expect(bench.files("/b/trash") == [])
    for manager in [a, b] { #expect(try await manager.refresh().requests == 1) }
  }

  @Test func `a trash that was emptied stays so after a power cut`() async throws {
    let (a, b) = try await pair()
    try a.deleteDatastore("n")
    try await a.refresh()
    #expect(try await b.refresh().deleted == ["n"])
    #expect(try b.trashedDatastores().map(\.id) == ["n"])
    try b.emptyTrash()
    bench.crash(.nothingUnsynced)
    #expect(bench.files("/b/trash") == [])
    #expect(try bench.manager("b").trashedDatastores() == [])
  }

  /// The clock stands still.
  @Test func `datastores that go in the same moment lie in the trash side by side`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    let ids = ["m", "n"]
    for id in ids {
      try await a.with(id) { try $0.add("a-" + id) }
      try await b.with(id) { try $0.add("b-" + id) }
    }
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    for id in ids { try a.deleteDatastore(id) }
    try await a.refresh()
    #expect(try await b.refresh().deleted == ids)
    let kept = try b.trashedDatastores()
    try #require(Set(kept.map(\.id)) == Set(ids) && kept.count == 2)
    let (first, second) = (kept[0], kept[1])
    try b.emptyTrash(of: first)
    #expect(try b.trashedDatastores() == [second])
    #expect(code { try b.restore(first) } == .notFound)
    try b.restore(second)
    let wanted: Set<String> = ["a-" + second.id, "b-" + second.id]
    #expect(try await b.content(second.id) == wanted)
    #expect(try b.ids() == [second.id])
    try b.emptyTrash(of: second)
    #expect(try b.trashedDatastores() == [] && bench.files("/b/trash") == [])
    #expect(try await b.content(second.id) == wanted)
  }

  @Test func `a datastore that is not on the device can be deleted`() async throws {
    let (_, b) = try await pair()
    let c = bench.manager("c")
    #expect(code { try c.deleteDatastore("n") } == .notFound)
    try await c.refresh()
    try c.deleteDatastore("n")
    try await c.refresh()
    try await b.refresh()
    #expect(try b.ids() == [] && c.ids() == [])
  }

  @Test func `an open datastore that was deleted elsewhere says so, and goes when it is closed`()
    async throws
  {
    let (a, b) = try await pair()
    let datastore = try b.openDatastore("n")
    let table = try datastore.table("t")
    let record = try #require(try table.record("a"))
    try a.deleteDatastore("n")
    try await a.refresh()
    try await b.refresh()
    #expect(datastore.isOpen)
    let calls: [() throws -> Void] = [
      { try datastore.sync() }, { _ = try datastore.table("t") }, { _ = try datastore.title },
      { try datastore.setTitle("x") }, { _ = try table.count }, { try table.insert([:], id: "x") },
      { _ = try record.fields }, { try record.set("x", 1) }, { try datastore.rollback() },
      { try datastore.startExchanging() }, { try datastore.compact() },
      { _ = try table.records() },
    ]
    for call in calls { #expect(code(call) == .deleted) }
    #expect(await datastore.exchangeError()?.code == .deleted)
    #expect(try b.ids() == [])
    #expect(code { _ = try b.openOrCreateDatastore("n") } == .alreadyOpen)
    #expect(!bench.files("/b/p-n").isEmpty)
    try datastore.close()
    #expect(!datastore.isOpen && bench.files("/b/p-n").isEmpty)
    for call in calls { #expect(code(call) == .deleted) }
    try await b.refresh()
    let again = try b.openOrCreateDatastore("n")
    #expect(try again.ids() == [])
    try again.add("new")
    #expect(code { try datastore.sync() } == .deleted, "the old object stays what it was")
  }

  @Test func `created again it is another datastore`() async throws {
    let (a, b) = try await pair()
    try a.deleteDatastore("n")
    try await a.with("n") { try $0.add("new") }
    try await a.refresh()
    #expect(bench.files("/folder/g1-p-n").count == 2)
    // B has not heard of it yet, and writes into what is deleted.
    try await b.with("n") { try $0.add("late") }
    try await b.refresh()
    #expect(try b.ids() == ["n"])
    let datastore = try b.openDatastore("n")
    try await datastore.pull()
    #expect(try datastore.ids() == ["new"])
    try datastore.close()
    #expect(try await a.content("n") == ["new"])
  }

  @Test func `two that delete and create again at once have one datastore`() async throws {
    let (a, b) = try await pair()
    for (name, manager) in [("a2", a), ("b2", b)] {
      try manager.deleteDatastore("n")
      try await manager.with("n") { try $0.add(name) }
    }
    for _ in 0..<2 {
      for manager in [a, b] {
        try await manager.refresh()
        try await manager.with("n")
      }
    }
    for manager in [a, b] {
      #expect(try await manager.content("n") == ["a2", "b2"])
      #expect(try manager.ids() == ["n"])
    }
  }

  @Test func `an empty or other folder deletes nothing`() async throws {
    let (a, b) = try await pair()
    try a.deleteDatastore("n")
    try await a.refresh()
    let other = bench.manager("x", folder: "/other")
    try await other.with("n")
    try other.deleteDatastore("n")
    try await other.refresh()
    // It says so, too.
    try await bench.manager("y", folder: "/other").refresh()
    for (folder, expected) in [("/empty", CairnError.Code.notFound), ("/other", .disallowed)] {
      let wrong = bench.manager("b", folder: folder)
      #expect(await wrong.refreshError()?.code == expected)
      #expect(try wrong.ids() == ["n"])
    }
    // Not even when files of the other folder get into this one.
    let strangers = bench.files("/other/catalogue")
    #expect(strangers.count == 2)
    for name in strangers {
      let bytes = try #require(bench.disk.bytes("/other/catalogue/" + name))
      try bench.disk.setBytes("/folder/catalogue/" + name, bytes)
    }
    for name in bench.catalogues where bench.disk.bytes("/other/catalogue/" + name) == nil {
      try bench.disk.remove("/folder/catalogue/" + name)
    }
    let report = try await b.refresh()
    #expect(report.problems.map(\.name).sorted() == strangers && report.deleted == [])
    #expect(try b.ids() == ["n"])
  }

  @Test func `a root that never had a list does not obey another folder's`() async throws {
    let other = bench.manager("x", folder: "/other")
    try await other.with("default")
    try other.deleteDatastore("default")
    try await other.refresh()
    try await bench.manager("c").with("default") { try $0.add("mine") }
    for (folder, expected) in [("/other", CairnError.Code.disallowed), ("/empty", .notFound)] {
      let wrong = bench.manager("c", folder: folder)
      #expect(await wrong.refreshError()?.code == expected)
      #expect(try wrong.ids() == ["default"] && bench.files("/c/trash") == [])
    }
    let right = bench.manager("c")
    #expect(try await right.refresh().deleted == [])
    #expect(try await right.content("default") == ["mine"])
  }

  @Test func `what a new device wrote before it heard of the delete is kept`() async throws {
    let (a, _) = try await pair()
    try a.deleteDatastore("n")
    try await a.refresh()
    let c = bench.manager("c")
    let datastore = try c.openOrCreateDatastore("n")
    try datastore.setTitle("mine")
    try datastore.add("offline")
    try datastore.close()
    #expect(try await c.refresh().deleted == ["n"])
    #expect(try c.listDatastores().map(\.title) == ["mine"])
    #expect(try await c.content("n") == ["offline"])
    try await c.refresh()
    try await a.refresh()
    #expect(try await a.content("n") == ["offline"])
  }

  @Test func `and is told to those who watch the list, if it was open then`() async throws {
    let (a, _) = try await pair()
    try a.deleteDatastore("n")
    try await a.refresh()
    let c = bench.manager("c")
    let told = Told<[String]>()
    let observation = c.observeDatastores(on: { $0() }) { told.add($0.map(\.id)) }
    let datastore = try c.openOrCreateDatastore("n")
    try datastore.add("offline")
    try await c.refresh()
    #expect(told.all.last == [])
    try datastore.close()
    #expect(try c.ids() == ["n"])
    #expect(told.all.last == ["n"])
    withExtendedLifetime(observation) {}
  }

  /// More than the limit on deletes at once.
  @Test func `also if it wrote into many, and nobody is asked for that`() async throws {
    let (a, c) = (bench.manager("a"), bench.manager("c"))
    let ids = (0..<6).map { "d\($0)" }
    for id in ids { try await a.with(id) { try $0.add("a") } }
    try await a.refresh()
    for id in ids { try a.deleteDatastore(id) }
    try await a.refresh()
    for id in ids {
      let datastore = try c.openOrCreateDatastore(id)
      try datastore.add("of-" + id)
      try datastore.close()
    }
    let report = try await c.refresh()
    #expect(report.heldDeletes == [] && report.deleted == ids)
    for id in ids { #expect(try await c.content(id) == ["of-" + id]) }
  }

  /// The journal may be there although its writing has failed in the end: then it counts.
  @Test func `nor is it lost by a disk that fails at any step`() async throws {
    var failures = 0
    for step in 1...1000 {
      let bench = CatalogueBench()
      let a = bench.manager("a")
      try await a.with("n") { try $0.add("a") }
      try await a.refresh()
      try a.deleteDatastore("n")
      try await a.refresh()
      let datastore = try bench.manager("c").openOrCreateDatastore("n")
      try datastore.add("offline")
      try datastore.close()
      bench.disk.failAt(operation: bench.disk.operations + step, reason: .io(errno: 5))
      _ = await bench.manager("c").refreshError()
      bench.disk.heal()
      if bench.disk.strikeCount == 0 { break }
      failures += 1
      for _ in 0..<2 { try await bench.manager("c").refresh() }
      let content = try await bench.manager("c").content("n")
      #expect(content == ["offline"], "step \(step): \(bench.disk.strikes)")
    }
    #expect(failures > 20)
  }

  @Test func `nor does a restore end with an error that it has got over`() async throws {
    let (a, b) = try await pair()
    try a.deleteDatastore("n")
    try await a.refresh()
    #expect(try await b.refresh().deleted == ["n"])
    let copy = try #require(try b.trashedDatastores().first)
    // The journal has its name, and the sync of that fails.
    let disk = bench.disk
    disk.intercept { step in
      if step.target == "/b/MIGRATION", disk.strikeCount == 0 {
        disk.failAt(operation: step.number + 1, reason: .io(errno: 5))
      }
      return nil
    }
    try b.restore(copy)
    disk.heal()
    #expect(disk.strikes.map(\.verb) == ["sync"] && disk.strikes.map(\.path) == ["/b"])
    #expect(!bench.files("/b").contains("MIGRATION"))
    #expect(try await b.content("n") == ["a", "b"])
  }

  @Test func `nor is a copy merged twice by who repeats a restore that has failed`() async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    func fill(_ datastore: Datastore, _ number: Value, _ item: Value) throws {
      let table = try datastore.table("t")
      try table.setRule(.sum, field: "n")
      try table.insert(["n": number], id: "r")
      try table["r"].list("l").append(item)
    }
    try await a.with("n") { try fill($0, 1, "old") }
    try await b.with("n")
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    try a.deleteDatastore("n")
    try await a.with("n") { try fill($0, 10, "new") }
    try await a.refresh()
    #expect(try await b.refresh().deleted == ["n"])
    try await b.with("n")
    let copy = try #require(try b.trashedDatastores().first)
    // Everything is decided, and there is no room for the trash that the present copy goes to.
    bench.disk.intercept { step in
      step.verb == "make the directory" && step.path.hasPrefix("/b/trash/") ? .noSpace : nil
    }
    #expect(code { try b.restore(copy) } == .diskSpace)
    bench.disk.heal()
    let error = failure { try b.restore(copy) }
    #expect(error?.code == .exists)
    #expect(error?.message.contains("was completed just now") == true)
    #expect(!bench.files("/b").contains("MIGRATION"))
    #expect(try b.trashedDatastores().map(\.directory).contains(copy.directory))
    let datastore = try b.openDatastore("n")
    let fields: [String: Value] = ["n": 11, "l": ["new", "old"]]
    #expect(try datastore.table("t")["r"].fields == fields)
    try datastore.close()
  }

  @Test func `what can't be kept just now waits for its time`() async throws {
    let (a, _) = try await pair()
    try a.deleteDatastore("n")
    try await a.refresh()
    let c = bench.manager("c")
    let old = try c.openOrCreateDatastore("n")
    try old.add("offline")
    // Other processes with the same root hear of the delete first, and create it anew.
    let (second, third) = (bench.manager("c"), bench.manager("c"))
    try await second.refresh()
    try old.close()
    let new = try second.openOrCreateDatastore("n")
    for manager in [second, third] { #expect(try await manager.refresh().deleted == []) }
    #expect(!bench.files("/c/p-n").isEmpty)
    try new.close()
    #expect(try await third.refresh().deleted == ["n"])
    #expect(try await third.content("n") == ["offline"])
  }

  @Test func `a copy of which the content was kept goes to the trash`() async throws {
    let (a, _) = try await pair()
    try a.deleteDatastore("n")
    try await a.refresh()
    let c = bench.manager("c")
    let datastore = try c.openOrCreateDatastore("n")
    try datastore.add("offline")
    try datastore.close()
    #expect(try await c.refresh().deleted == ["n"])
    #expect(bench.files("/c/p-n") == [])
    #expect(bench.files("/c/trash").contains { $0.hasSuffix("/p-n/CURRENT") })
    #expect(try await c.content("n") == ["offline"])
  }

  @Test func `a delete that was interrupted brings nothing back`() async throws {
    let a = bench.manager("a")
    let datastore = try a.openOrCreateDatastore("n")
    try datastore.add("unpublished")
    try datastore.close()
    bench.disk.intercept { $0.verb == "rename" && $0.path == "/a/p-n" ? .io(errno: 5) : nil }
    #expect(code { try a.deleteDatastore("n") } == .fileIO)
    bench.disk.heal()
    #expect(!bench.files("/a/p-n").isEmpty)
    try await a.refresh()
    #expect(try a.ids() == [] && bench.files("/a/p-n") == [])
    #expect(try await a.content("n") == [])
  }

  @Test func `uncached is not deleted, and the device is another one after that`() async throws {
    let (a, b) = try await pair()
    let device = try a.openDatastore("n")
    let name = device.device
    #expect(code { try a.uncacheDatastore("n") } == .alreadyOpen)
    try device.add("not-published")
    try device.close()
    try a.uncacheDatastore("n")
    #expect(bench.files("/a/p-n") == [])
    for _ in 0..<2 { for manager in [a, b] { try await manager.refresh() } }
    #expect(try a.listDatastores().map(\.isOnDevice) == [false] && b.ids() == ["n"])
    #expect(code { try a.uncacheDatastore("n") } == .notFound)
    let again = try a.openDatastore("n")
    #expect(again.device != name)
    try await again.pull()
    #expect(try again.ids() == ["a", "b"])
    try again.close()
    // The files of both devices go with a delete.
    try b.deleteDatastore("n")
    for _ in 0..<3 { for manager in [b, a] { try await manager.refresh() } }
    #expect(bench.files("/folder/p-n") == [])
  }

  @Test func `a cloned root takes a name of its own`() async throws {
    let (a, b) = try await pair()
    let before = Set(bench.catalogues)
    for name in bench.files("/a") where !name.contains("p-n") {
      try bench.disk.setBytes("/clone/" + name, try #require(bench.disk.bytes("/a/" + name)))
    }
    let clone = bench.manager("clone")
    try await clone.with("only-here")
    try await clone.refresh()
    try await a.with("another")
    try await a.refresh()
    try await clone.refresh()
    for _ in 0..<2 { for manager in [a, b, clone] { try await manager.refresh() } }
    #expect(Set(bench.catalogues).isSuperset(of: before) && bench.catalogues.count > before.count)
    for manager in [a, b, clone] {
      #expect(try manager.ids() == ["another", "n", "only-here"])
      #expect(try await manager.refresh().isIdle)
    }
  }

  /// What its own name says by then is another's.
  @Test func `a cloned root asks before the many go that its original deleted`() async throws {
    let a = bench.manager("a")
    let ids = (0..<8).map { "d\($0)" }
    for id in ids { try await a.with(id) { try $0.add("of-" + id) } }
    for _ in 0..<2 { try await a.refresh() }
    for name in bench.files("/a") {
      try bench.disk.setBytes("/clone/" + name, try #require(bench.disk.bytes("/a/" + name)))
    }
    let original = bench.catalogues
    let gone = Array(ids.prefix(6))
    for id in gone { try a.deleteDatastore(id) }
    try await a.refresh()
    #expect(bench.catalogues == original)
    let clone = bench.manager("clone")
    for manager in [clone, clone, bench.manager("clone")] {
      let report = try await manager.refresh()
      #expect(report.heldDeletes == gone && report.deleted == [])
      #expect(try manager.ids() == ids && manager.trashedDatastores() == [])
    }
    #expect(bench.catalogues.count == 2 && Set(bench.catalogues).isSuperset(of: original))
    let report = try await clone.refresh(allowingMassDelete: true)
    #expect(report.heldDeletes == [] && report.deleted == gone)
    #expect(try clone.ids() == ["d6", "d7"])
    #expect(try await clone.refresh().heldDeletes == [])
  }

  @Test func `a deleted copy that can't be moved keeps nothing else from being heard or told`()
    async throws
  {
    let b = bench.manager("b")
    for id in ["x", "y"] { try await bench.manager("a").with(id) }
    for manager in [bench.manager("a"), b] { try await manager.refresh() }
    for id in ["x", "y"] { try b.deleteDatastore(id) }
    try await b.refresh()
    let isWell = Flag()
    let disk = DeafDisk(base: bench.disk) { path in
      path == "/a/p-x/CURRENT" && !isWell.isUp ? .io(errno: 5) : nil
    }
    let a = bench.manager("a", on: disk)
    let open = try a.openDatastore("y")
    try await a.with("z")
    #expect(await a.refreshError()?.code == .fileIO)
    #expect(code { try open.sync() } == .deleted)
    try await b.refresh()
    #expect(try b.ids() == ["z"])
    isWell.raise()
    try open.close()
    #expect(bench.files("/a/p-x") == [] && bench.files("/a/p-y") == [])
  }
}
