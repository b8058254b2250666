import TestSupport
import Testing

@testable import Cairn

/// Every flag of the status, and what sets and clears it, with real folders.
@Suite struct StatusTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws { bench = try FolderWorkbench() }

  // MARK: local

  @Test func `a local datastore always waits for a download, and for an upload with content`()
    throws
  {
    let manager = try DatastoreManager(root: bench.place.path + "/local")
    let datastore = try manager.openDefaultDatastore()
    func flags() -> Set<String> { datastore.status.flags }
    #expect(flags() == ["downloading"])
    let record = try datastore.table("t").insert(["a": 1], id: "r")
    #expect(flags() == ["downloading", "uploading", "outgoing"])
    try datastore.rollback()
    #expect(flags() == ["downloading"])
    try datastore.table("t").insert(["a": 1], id: "r")
    try datastore.sync()
    #expect(flags() == ["downloading", "uploading"])
    try record.delete()
    #expect(flags() == ["downloading", "uploading", "outgoing"])
    try datastore.sync()
    #expect(flags() == ["downloading", "uploading"], "a deletion is a change, too")
    try datastore.close()
    #expect(flags() == ["downloading", "uploading"])
    #expect(try manager.openDefaultDatastore().status.flags == ["downloading", "uploading"])
    #expect(datastore.status.anyError == nil)
  }

  // MARK: up and down

  @Test func `a change goes out, then up`() async throws {
    let a = try bench.open("a")
    #expect(a.status.flags == ["downloading"])
    try a.table("t").insert(["a": 1], id: "r")
    #expect(a.status.flags == ["downloading", "outgoing"])
    try a.sync()
    #expect(a.status.flags == ["downloading", "uploading"])
    try await a.exchange()
    #expect(a.status.flags == [])
    try a.table("t")["r"].set("a", 2)
    #expect(a.status.flags == ["outgoing"])
    try await a.exchange()
    #expect(a.status.flags == ["outgoing"], "only commits are uploaded")
    try a.rollback()
    #expect(a.status.flags == [])
    try a.table("t")["r"].remove("never")
    #expect(a.status.flags == [], "there was no such field")
    #expect(a.committedDeltas == 1 && a.publishedDeltas == 1)
  }

  @Test func `what is not published is still to be uploaded after reopening`() async throws {
    let a = try await bench.publisher("a")
    try a.close()
    let again = try bench.open("a")
    #expect(again.status.flags == ["downloading"])
    try again.add("more")
    try again.close()
    #expect(again.status.flags == ["downloading", "uploading"])
    #expect(try bench.open("a").status.flags == ["downloading", "uploading"])
  }

  @Test func `what was fetched is incoming until a sync`() async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b")
    try await b.exchange()
    #expect(b.status.flags == ["incoming"])
    try b.close()
    let again = try bench.open("b")
    #expect(again.status.flags == ["downloading", "incoming"], "it is kept")
    try again.sync()
    #expect(again.status.flags == ["downloading"])
    try await again.exchange()
    #expect(again.status.flags == [])
    try await a.exchange()
    #expect(a.status.flags == [], "there is nothing new in what b has seen")
  }

  @Test func `a file that is named and not there is still to be downloaded`() async throws {
    let a = try await bench.publisher("a")
    let name = try bench.segment(a)
    let away = bench.place.path + "/away"
    try bench.move(bench.shared + "/" + name, to: away)
    let b = try bench.open("b")
    for _ in 0..<2 {
      try await b.pull()
      #expect(b.status.flags == ["downloading"])
      #expect(b.status.anyError == nil, "waiting is no error")
    }
    try bench.move(away, to: bench.shared + "/" + name)
    try await b.exchange()
    #expect(b.status.flags == ["incoming"])
  }

  @Test func `while a round fetches, there is something to download`() async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b", hook)
    try await b.pull()
    try a.add("more")
    try await a.exchange()
    #expect(b.status.flags == [])
    let seen = Told<Set<String>>()
    hook.set { [weak b] request, path throws(CairnError) in
      if path.hasSuffix(".seg") { seen.add(b?.status.flags ?? []) }
    }
    try await b.exchange()
    #expect(seen.all == [["connected", "downloading"]])
    #expect(b.status.flags == ["incoming"])
  }

  // MARK: connected

  @Test func `connected is a folder that answers while it is asked`() async throws {
    let a = try bench.open("a", hook)
    let seen = Told<Bool>()
    hook.set { [weak a] _, _ throws(CairnError) in seen.add(a?.status.connected ?? true) }
    try await a.exchange()
    #expect(seen.all.first == false, "nothing is known before the first answer")
    #expect(seen.all.count > 2 && seen.all.dropFirst().allSatisfy { $0 })
    #expect(!a.status.connected, "the round is over")
    hook.fail([.list], .noConnection)
    #expect(await a.exchangeError()?.code == .noConnection)
    #expect(!a.status.connected)
  }

  /// It is asked between the requests: a refusal may be a round's last answer.
  @Test(arguments: [CairnError.Code.auth, .server, .retryLater, .fileIO, .quota])
  func `a folder that refuses one file is connected all the same`(
    code: CairnError.Code
  ) async throws {
    let b = try await bench.publisher("b")
    let file = try bench.segment(b)
    let a = try bench.open("a", hook)
    try a.add("a")
    let seen = Told<Bool>()
    hook.set { [weak a] request, path throws(CairnError) in
      seen.add(a?.status.connected ?? true)
      if request == .read, path.hasSuffix(file) { throw CairnError(code, "no", file: path) }
    }
    let report = try await a.exchange()
    #expect(report.problems.count + report.waiting.count == 1)
    #expect(seen.all.count > 3 && seen.all.dropFirst().allSatisfy { $0 })
  }

  @Test func `what a budget refuses says nothing of the folder, be it a listing`() async throws {
    bench.options.pollSeconds = 0.01...0.01
    let a = try bench.open("a", hook)
    let updates = a.statusChanges
    try a.startExchanging()
    try await until(updates) { $0.connected && !$0.downloading }
    hook.fail([.list, .read, .write], .quota)
    try await until(updates) { $0.anyError?.code == .quota }
    #expect(a.status.connected)
    a.stopExchanging()
    try await until(updates) { !$0.connected }
  }

  @Test func `in the background connected lasts, until the folder fails or it is stopped`()
    async throws
  {
    bench.options.pollSeconds = 0.01...0.01
    let a = try bench.open("a", hook)
    let updates = a.statusChanges
    try a.startExchanging()
    try await until(updates) { $0.connected && !$0.downloading }
    hook.fail([.list, .read, .write], .network)
    try await until(updates) { !$0.connected && $0.anyError?.code == .network }
    hook.set(nil)
    try await until(updates) { $0.connected && $0.anyError == nil }
    a.stopExchanging()
    try await until(updates) { !$0.connected }
    #expect(a.status.anyError == nil)
  }

  /// Nothing watches this folder, and the next look at it is an hour away: only the commit is left.
  @Test(.timeLimit(.minutes(20)))
  func `a commit wakes the exchange in the background`() async throws {
    bench.options.pollSeconds = 3600...3600
    let a = try bench.open("a", hook)
    let (reports, told) = AsyncStream.makeStream(of: Void.self)
    var rounds = reports.makeAsyncIterator()
    try a.startExchanging { _ in told.yield() }
    _ = await rounds.next()
    for number: UInt64 in 1...3 {
      #expect(a.publishedDeltas == number - 1)
      try a.add("r\(number)")
      _ = await rounds.next()
      #expect(a.committedDeltas == number && a.publishedDeltas == number)
    }
    a.stopExchanging()
  }

  /// Reads until a status is as it should be.
  private func until(
    _ updates: Updates<DatastoreStatus>, _ condition: (DatastoreStatus) -> Bool
  ) async throws {
    for await status in updates where condition(status) { return }
    Issue.record("the sequence ended")
  }

  // MARK: errors

  @Test(arguments: [CairnError.Code.network, .noConnection, .auth, .timeout, .quota])
  func `a folder that can't be listed blocks both directions`(code: CairnError.Code) async throws {
    let a = try bench.open("a", hook)
    try a.add("a")
    hook.fail([.list], code)
    #expect(await a.exchangeError()?.code == code)
    let status = a.status
    #expect(status.flags == ["downloading", "uploading"])
    #expect(status.downloadError?.code == code && status.uploadError?.code == code)
    #expect(status.anyError == status.downloadError)
    hook.set(nil)
    try await a.exchange()
    #expect(a.status.flags == [] && a.status.anyError == nil)
  }

  @Test func `a folder that takes nothing blocks uploads only`() async throws {
    _ = try await bench.publisher("b")
    let a = try bench.open("a", hook)
    try a.add("a")
    hook.fail([.write], .quota)
    #expect(await a.exchangeError()?.code == .quota)
    #expect(a.status.flags == ["uploading", "incoming"])
    #expect(a.status.uploadError?.code == .quota && a.status.downloadError == nil)
    #expect(a.status.anyError == a.status.uploadError)
    try a.sync()
    #expect(try a.ids() == ["a", "b"])
    #expect(a.status.uploadError?.code == .quota, "a sync changes nothing about it")
    hook.set(nil)
    try await a.exchange()
    #expect(a.status.flags == [] && a.status.anyError == nil)
  }

  @Test func `the last error counts, and each is cleared in its direction`() async throws {
    let a = try bench.open("a", hook)
    // The folder's cairn.json is written while it is looked at.
    try await a.exchange()
    try a.add("a")
    hook.fail([.list], .network)
    #expect(await a.exchangeError() != nil)
    hook.fail([.list], .timeout)
    #expect(await a.exchangeError() != nil)
    #expect(a.status.downloadError?.code == .timeout)
    hook.fail([.write], .readOnly)
    #expect(await a.exchangeError() != nil)
    #expect(a.status.downloadError == nil && a.status.uploadError?.code == .readOnly)
    hook.set(nil)
    try await a.exchange()
    #expect(a.status.anyError == nil)
  }

  @Test func `a folder that is empty and takes nothing blocks both`() async throws {
    let a = try bench.open("a", hook)
    hook.fail([.write], .readOnly)
    // The folder's own file is written before anything is looked at.
    #expect(await a.exchangeError()?.code == .readOnly)
    #expect(a.status.downloadError?.code == .readOnly && a.status.uploadError?.code == .readOnly)
  }

  @Test func `a request that was cancelled is no error`() async throws {
    let a = try bench.open("a", hook)
    hook.fail([.list], .cancelled)
    #expect(await a.exchangeError()?.code == .cancelled)
    #expect(a.status.anyError == nil && a.status.flags == ["downloading"])
  }

  @Test func `damaged files are problems of the report, not of the status`() async throws {
    let a = try await bench.publisher("a")
    let name = try bench.segment(a)
    let path = bench.shared + "/" + name
    // As long as its head says: another length would only be waited for.
    try bench.write(path, bench.read(path).flipped(at: 70))
    let b = try bench.open("b")
    #expect(try await b.pull().problems.map(\.name) == [name])
    #expect(b.status.anyError == nil)
  }

  // MARK: reset

  @Test func `a clone need not be given up`() async throws {
    let a = try await bench.publisher("a")
    try a.close()
    try bench.copyTree(bench.root("a"), to: bench.root("clone"))
    let clone = try bench.open("clone")
    try clone.add("of-the-clone")
    try await clone.exchange()
    #expect(!clone.status.needsReset)
    let again = try bench.open("a")
    #expect(try await again.exchange().isRejoining)
    #expect(again.status.flags == ["incoming"] && again.status.anyError == nil)
    try again.sync()
    #expect(again.status.flags == ["downloading"], "until it has looked under its new name")
    try await again.exchange()
    #expect(again.status.flags == [])
    #expect(try again.ids() == ["a", "of-the-clone"])
  }

  @Test func `the wrong folder is no reason to give up the copy`() async throws {
    let a = try await bench.publisher("a")
    try a.close()
    let other = bench.place.path + "/other"
    let c = try bench.manager("c", folder: other).openOrCreateDatastore(bench.id)
    try await c.exchange()
    let again = try bench.open("a", folder: other)
    #expect(await again.exchangeError()?.code == .disallowed)
    #expect(!again.status.needsReset && again.status.downloadError?.code == .disallowed)
  }

  @Test func `a deleted datastore refuses everything until it is closed`() async throws {
    let a = try await bench.publisher("a")
    try await a.manager.refresh()
    let other = try bench.manager("b")
    try await other.refresh()
    let table = try a.table("t")
    let record = table["a"]
    try record.set("n", 1)
    var updates = a.statusChanges.makeAsyncIterator()
    #expect(await updates.next()?.needsReset == false)
    try other.deleteDatastore(bench.id)
    try await other.refresh()
    #expect(try await a.manager.refresh().deleted == [bench.id])
    #expect(await updates.next()?.needsReset == true)
    #expect(a.status.needsReset && a.isOpen)
    let uses: [() throws -> Void] = [
      { _ = try a.table("t") }, { _ = try a.tables() }, { _ = try record.get("n") },
      { try record.set("n", 2) }, { try record.delete() }, { try table.insert([:]) },
      { _ = try table.query() }, { _ = try table.count }, { try a.sync() }, { try a.rollback() },
      { try a.setTitle("x") }, { _ = try a.title }, { try table.setRule(.max, field: "n") },
      { try a.compact() },
    ]
    for use in uses {
      let error = #expect(throws: CairnError.self) { try use() }
      #expect(error?.code == .deleted)
    }
    #expect(await a.exchangeError()?.code == .deleted)
    try a.close()
    #expect(!a.isOpen && a.status.needsReset)
    #expect(await updates.next() == nil)
    // Closing it has moved the copy to the trash: nothing is left to remove.
    let gone = #expect(throws: CairnError.self) { try a.manager.uncacheDatastore(bench.id) }
    #expect(gone?.code == .notFound)
    #expect(try a.manager.trashedDatastores().map(\.id) == [bench.id])
  }

  // MARK: the sequence

  @Test func `the sequence begins with the status now and gives each that differs`() async throws {
    let a = try bench.open("a")
    try a.table("t").insert(["a": 1], id: "r")
    var updates = a.statusChanges.makeAsyncIterator()
    #expect(await updates.next()?.flags == ["downloading", "outgoing"])
    try a.sync()
    #expect(await updates.next()?.flags == ["downloading", "uploading"])
    try await a.exchange()
    #expect(await updates.next()?.flags == [])
    try a.table("t")["r"].set("a", 2)
    #expect(await updates.next()?.flags == ["outgoing"])
    try a.rollback()
    #expect(await updates.next()?.flags == [])
    // There and back between two reads: nothing to tell.
    try a.table("t")["r"].set("a", 2)
    try a.rollback()
    try a.close()
    #expect(await updates.next() == nil)
  }

  @Test func `a handler is called with the status now and each that differs`() throws {
    let a = try bench.open("a")
    let told = Told<Set<String>>()
    let observation = a.observeStatus(on: { $0() }) { told.add($0.flags) }
    try a.table("t").insert(["a": 1], id: "r")
    try a.table("t").insert(["a": 1], id: "s")
    try a.sync()
    observation.cancel()
    try a.rollback()
    #expect(
      told.all == [["downloading"], ["downloading", "outgoing"], ["downloading", "uploading"]])
  }
}

extension DatastoreStatus {
  /// The names of the flags that are set.
  var flags: Set<String> {
    let all = [
      "connected": connected, "downloading": downloading, "uploading": uploading,
      "incoming": incoming, "outgoing": outgoing, "needsReset": needsReset,
    ]
    return Set(all.filter(\.value).keys)
  }
}
