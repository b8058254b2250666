import Cairn
import TestSupport
import Testing

/// The queue between objects and datastores: what is in it, and what stops it.
@Suite struct OutboxTests {
  typealias Note = MappingBench.Note

  /// A device whose notes are in the folder, and whose queue is suspended.
  private func suspended(
    _ bench: MappingBench, _ ids: [RecordID] = ["n"]
  ) async throws -> MappingDevice {
    let device = try await bench.open("a")
    for id in ids { try await device.insert(Note(text: "old"), id) }
    _ = try await device.exchange()
    #expect(device.store.outbox == OutboxStatus())
    device.store.suspend()
    return device
  }

  @Test func `what is pending has what was before beside it`() async throws {
    let device = try await suspended(MappingBench())
    try await device.update("n") { $0.text = "new" }
    try await device.update("n") { $0.text = "newer" }
    try await device.update("n") { $0.best = 3 }
    let sets = try await device.store.pendingChangeSets()
    #expect(sets.map(\.changes.count) == [1, 1])
    let text = try #require(sets.first?.changes.first)
    #expect(text.kind == .update && text.fields == ["text": "newer"])
    #expect(text.originals == ["text": "old"], "from before the first change")
    let best = try #require(sets.last?.changes.first)
    #expect(best.fields == ["best": 3] && best.originals.isEmpty)
  }

  @Test func `a later change takes a field over, and earlier sets lose it`() async throws {
    let device = try await suspended(MappingBench(), ["n", "m"])
    try await device.store.write { objects throws(CairnError) in
      try objects.update(Note.self, "n") { ($0.text, $0.stars) = ("1", 1) }
      try objects.update(Note.self, "m") { $0.text = "1" }
    }
    try await device.update("n") { $0.text = "2" }
    #expect(try await device.queue() == [["n.stars", "m.text"].sorted(), ["n.text"]])
    try await device.update("m") { $0.text = "2" }
    try await device.update("n") { $0.stars = 2 }
    #expect(try await device.queue() == [["n.text"], ["m.text"], ["n.stars"]])
    #expect(device.store.outbox.queued == 3, "a set of which nothing is left goes")
  }

  @Test func `a delete takes earlier changes out, of an insert nothing is left`() async throws {
    let device = try await suspended(MappingBench())
    try await device.update("n") { $0.text = "new" }
    try await device.insert(Note(text: "x"), "x")
    #expect(try await device.queue() == [["n.text"], ["+x"]])
    try await device.delete("n")
    try await device.delete("x")
    #expect(try await device.queue() == [["-n"]])
    let change = try #require(try await device.store.pendingChangeSets().first?.changes.first)
    #expect(change.originals == ["text": "old", "stars": 0])
    // There again: it has only changed.
    try await device.insert(Note(text: "again"), "n")
    #expect(try await device.queue() == [["n.text"]])
    device.store.resume()
    _ = try await device.exchange()
    #expect(try device.record("n")?["text"] == "again")
  }

  @Test func `after a relaunch the values come from the objects, the originals from the queue`()
    async throws
  {
    let bench = MappingBench()
    let device = try await suspended(bench)
    try await device.update("n") { $0.text = "a text that is in one place only" }
    try await device.close()
    let text = Array("a text that is in one place only".utf8)
    var places = 0
    for path in bench.disk("a").paths() {
      let bytes = try #require(bench.disk("a").bytes(path))
      places += bytes.indices.count { bytes[$0...].starts(with: text) }
    }
    #expect(places == 1, "the queue has no second copy")
    let again = try await bench.open("a", suspendCount: 2)
    let change = try #require(try await again.store.pendingChangeSets().first?.changes.first)
    #expect(change.fields == ["text": "a text that is in one place only"])
    #expect(change.originals == ["text": "old"])
    again.store.suspend(count: 0)
    again.store.resume()
    again.store.resume()
    _ = try await again.exchange()
    #expect(try again.record("n")?["text"] == "a text that is in one place only")
    #expect(again.store.outbox == OutboxStatus())
  }

  // MARK: suspension

  @Test func `suspensions are counted`() async throws {
    let device = try await MappingBench().open("a", suspendCount: 3)
    #expect(device.store.outbox.isSuspended)
    #expect(device.store.suspend(count: 0) == 3)
    #expect(device.store.suspend() == 4)
    #expect(device.store.resume() == 3)
    #expect([device.store.resume(), device.store.resume(), device.store.resume()] == [2, 1, 0])
    #expect(device.store.resume() == 0, "at 0 there is nothing to take back")
    #expect(device.store.suspend(count: .max) == .max)
    #expect(device.store.suspend() == .max, "the count ends there")
    #expect(device.store.suspend(count: -5) == .max)
  }

  @Test func `while it is suspended changes are recorded and merged, and nothing leaves`()
    async throws
  {
    let bench = MappingBench()
    let a = try await suspended(bench)
    let b = try await bench.open("b")
    try await bench.settle([b])
    try await a.update("n") { ($0.text, $0.best) = ("of a", 1) }
    try await b.update("n") { ($0.text, $0.tags) = ("of b", ["b"]) }
    _ = try await b.exchange()
    let before = bench.folder("main").fingerprint()
    let report = try await a.exchange()
    #expect(bench.folder("main").fingerprint() == before, "a dry run")
    #expect(report.merges == 1)
    #expect(try a.note("n") == Note(text: "of b", best: 1, tags: ["b"]))
    // Of the text nothing is to be uploaded any more: whoever was there first has won.
    #expect(try await a.queue() == [["n.best"]])
    a.store.resume()
    _ = try await a.exchange()
    #expect(try a.record("n")?["best"] == 1)
  }

  @Test func `a set of which others have left nothing goes`() async throws {
    let bench = MappingBench()
    let a = try await suspended(bench)
    let b = try await bench.open("b")
    try await bench.settle([b])
    try await a.update("n") { $0.text = "of a" }
    try await b.update("n") { $0.text = "of b" }
    _ = try await b.exchange()
    #expect(try await a.queue() == [["n.text"]])
    #expect(try await a.exchange().merges == 1)
    #expect(try a.note("n")?.text == "of b")
    #expect(try await a.queue() == [])
    #expect(a.store.outbox.queued == 0)
  }

  // MARK: looking

  @Test func `sets in flight and queued are counted and told`() async throws {
    let bench = MappingBench()
    let device = try await suspended(bench)
    var news = device.store.outboxChanges.makeAsyncIterator()
    #expect(await news.next()?.isSuspended == true)
    try await device.update("n") { $0.text = "1" }
    try await device.update("n") { $0.stars = 1 }
    #expect(await news.next()?.queued == 2)
    let next = try #require(try await device.store.currentChangeSet())
    #expect(!next.isInFlight && next.savedCount == 1 && next.deletedCount == 0)
    bench.hook.fail([.write], .noConnection)
    device.store.resume()
    await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    var status = OutboxStatus()
    (status.inFlight, status.suspendCount) = (2, 1)
    #expect(device.store.outbox == status)
    #expect(status.pending == 2)
    #expect(await news.next() == status)
    let current = try #require(try await device.store.currentChangeSet())
    #expect(current.id == next.id && current.isInFlight, "the same set, on its way")
    bench.hook.set(nil)
    device.store.resume()
    let report = try await device.exchange()
    #expect(report.arrived.first == next.id && report.arrived.count == 2)
    #expect(device.store.outbox == OutboxStatus())
    try await device.close()
    while await news.next() != nil {}
  }

  // MARK: failures

  @Test func `a failed upload suspends first, lets go of what arrived, and then tells`()
    async throws
  {
    let bench = MappingBench()
    bench.options.limits.recordBytes = 3000
    let told = Told<(UploadFailure, OutboxStatus)>()
    let store = Shared<ObjectStore?>(nil)
    let device = try await bench.open("a") { failure in
      guard let store = store.withLock({ $0 }) else { return }
      told.add((failure, store.outbox))
    }
    store.withLock { $0 = device.store }
    try await device.insert(Note(text: "fits"), "n")
    try await device.insert(Note(text: "later"), "m")
    try await device.insert(Note(text: "too"), "o")
    // What the datastore refuses is found out in the upload: a record that has grown there.
    let sets = try await device.store.pendingChangeSets().map(\.id)
    let big = Value.string(String(repeating: "x", count: 2300))
    try device.main.table("notes").insert(["other": big], id: "m")
    try device.main.sync()
    try await device.update("m") { $0.text = String(repeating: "y", count: 1000) }
    await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    let (failure, status) = try #require(told.all.first)
    #expect(told.all.count == 1)
    #expect(failure.error.code == .sizeLimit && failure.route == "main")
    #expect(status.isSuspended && status.suspendCount == 1)
    #expect(failure.arrived.contains(try #require(sets.first)))
    #expect(!failure.arrived.contains(try #require(failure.changeSet)))
    #expect(try device.record("n") != nil)
    #expect(try device.record("m")?["text"] == nil, "a set goes as a whole or not at all")
    // The app decides, and resumes.
    try await device.update("m") { $0.text = "short" }
    device.store.resume()
    _ = try await device.exchange()
    #expect(try device.record("m")?["text"] == "short")
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test func `a folder that can't be read is no failure of an upload`() async throws {
    let bench = MappingBench()
    let device = try await bench.open("a")
    try await device.insert(Note(text: "x"), "n")
    bench.hook.fail([.list, .read, .write, .remove], .noConnection)
    let error = await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    #expect(error?.code == .noConnection)
    #expect(!device.store.outbox.isSuspended && device.store.outbox.queued == 1)
    bench.hook.set(nil)
    _ = try await device.exchange()
    #expect(device.store.outbox == OutboxStatus())
  }

  // MARK: many at once

  /// More than one delta of 8000 bytes can note of.
  private static let many = (10..<50).map { RecordID("n\($0)") }

  private func narrow() -> MappingBench {
    let bench = MappingBench()
    bench.options.limits.deltaBytes = 8000
    return bench
  }

  private func insertMany(_ device: MappingDevice) async throws {
    for id in Self.many { try await device.insert(Note(text: "x"), id) }
  }

  @Test func `any number of sets may arrive at once`() async throws {
    let bench = narrow()
    let device = try await bench.open("a", suspendCount: 1)
    try await insertMany(device)
    let sets = try await device.store.pendingChangeSets().map(\.id)
    #expect(sets.count == 40)
    device.store.resume()
    #expect(try await device.exchange().arrived == sets)
    #expect(device.store.outbox == OutboxStatus())
    #expect(try await device.exchange().arrived == [])
    try await device.close()
    let again = try await bench.open("a")
    #expect(again.store.outbox == OutboxStatus())
    #expect(try again.notes().count == 40)
  }

  @Test func `an opening finds any number of sets that have arrived since`() async throws {
    let bench = narrow()
    let device = try await suspended(bench)
    try await insertMany(device)
    bench.hook.fail([.write], .noConnection)
    device.store.resume()
    await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    #expect(device.store.outbox.inFlight == 40)
    bench.hook.set(nil)
    // Nobody tells the objects of this.
    _ = try await device.main.exchange()
    #expect(device.store.outbox.inFlight == 40)
    try await device.store.close()
    let again = try await ObjectStore.open(
      in: bench.local("a"), remotes: device.remotes,
      mappings: [MappingBench.note, MappingBench.draft], version: MappingVersion("1"))
    #expect(again.outbox == OutboxStatus())
    #expect(try Self.many.allSatisfy { try device.record($0)?["text"] == "x" })
  }

  @Test func `an old copy finds out of any number of sets that they were sent`() async throws {
    let bench = narrow()
    let b = try await bench.open("b")
    var a = try await bench.open("a")
    try await a.insert(Note(text: "first"), "m")
    #expect(try await bench.settle([a, b]))
    try await insertMany(a)
    try await a.close()
    let copy = bench.disk("a").snapshot()
    a = try await bench.open("a")
    #expect(try await a.exchange().arrived.count == 40)
    #expect(try await bench.settle([a, b]))
    try await a.close()
    bench.use(copy, for: "a")
    a = try await bench.open("a")
    #expect(a.store.outbox.queued == 40)
    #expect(try await bench.settle([a, b]))
    #expect(a.store.outbox == OutboxStatus())
    #expect(try a.notes().count == 41)
    #expect(try a.notes() == b.notes())
  }

  // MARK: in the background

  /// Nothing watches these folders, and the next look at them is an hour away.
  @Test(.timeLimit(.minutes(20)))
  func `what is queued, and the end of a suspension, wake the background`() async throws {
    let bench = MappingBench()
    bench.options.pollSeconds = 3600...3600
    let device = try await bench.open("a")
    let (reports, told) = AsyncStream.makeStream(of: Int.self)
    var rounds = reports.makeAsyncIterator()
    try await device.store.startExchanging { result in
      told.yield((try? result.get().arrived.count) ?? -1)
    }
    let first = await rounds.next()
    #expect(first == 0)
    try await device.insert(Note(text: "x"), "n")
    let second = await rounds.next()
    #expect(second == 1)
    device.store.suspend()
    try await device.insert(Note(text: "y"), "m")
    let third = await rounds.next()
    #expect(third == 0 && device.store.outbox.queued == 1)
    device.store.resume()
    let fourth = await rounds.next()
    #expect(fourth == 1 && device.store.outbox == OutboxStatus())
    device.store.stopExchanging()
    try await device.close()
  }
}
