import Cairn
import TestSupport
import Testing

/// What comes in the middle of a round, and functions of the app's that throw.
@Suite struct OutboxInterruptionTests {
  typealias Note = MappingBench.Note

  /// A mapping that does something first, each time it is asked.
  private struct Hooks {
    let mapping = Shared<(@Sendable (Note) throws(CairnError) -> Void)?>(nil)
    let updating = Shared<(@Sendable (Note) throws(CairnError) -> Void)?>(nil)

    var notes: ObjectMapping { notes(nil) }

    func notes(_ merge: ObjectMapping.MergeHandler?) -> ObjectMapping {
      let (mapping, updating) = (mapping, updating)
      return ObjectMapping(
        Note.self, as: Note.self,
        map: { note, _ throws(CairnError) in
          try mapping.withLock { $0 }?(note)
          return MappedRecord(note)
        },
        update: { note, shared, _ throws(CairnError) in
          try updating.withLock { $0 }?(shared)
          note = shared
        }, merge: merge)
    }
  }

  /// A device that has two notes in the folder.
  private func device(
    _ bench: MappingBench, _ mappings: [ObjectMapping]? = nil,
    onFailure: ObjectStore.FailureHandler? = nil
  ) async throws -> MappingDevice {
    let device = try await bench.open("a", mappings, onFailure: onFailure)
    for id: RecordID in ["m", "n"] { try await device.insert(Note(text: "old"), id) }
    _ = try await device.exchange()
    return device
  }

  // MARK: suspended in the middle

  @Test func `suspended while it looks at the folder, a round lets nothing leave`() async throws {
    let bench = MappingBench()
    let device = try await device(bench)
    try await device.update("n") { $0.text = "new" }
    try await device.update("m") { $0.text = "new" }
    let before = bench.folder("main").fingerprint()
    let store = device.store
    bench.hook.set { request, _ throws(CairnError) in
      if request == .list, !store.outbox.isSuspended { store.suspend() }
    }
    _ = try await device.exchange()
    bench.hook.set(nil)
    var status = OutboxStatus()
    (status.queued, status.suspendCount) = (2, 1)
    #expect(store.outbox == status)
    #expect(bench.folder("main").fingerprint() == before)
    #expect(try device.record("n")?["text"] == "old")
    store.resume()
    #expect(try await device.exchange().arrived.count == 2)
  }

  @Test func `suspended while a set is on its way, it arrives and the next one waits`()
    async throws
  {
    let bench = MappingBench()
    let hooks = Hooks()
    let device = try await device(bench, [hooks.notes])
    try await device.update("n") { $0.text = "first" }
    try await device.update("m") { $0.text = "second" }
    let sets = try await device.store.pendingChangeSets().map(\.id)
    let store = device.store
    hooks.mapping.withLock {
      $0 = { note throws(CairnError) in
        if note.text == "first", !store.outbox.isSuspended { store.suspend() }
      }
    }
    let report = try await device.exchange()
    #expect(report.arrived == [try #require(sets.first)])
    var status = OutboxStatus()
    (status.queued, status.suspendCount) = (1, 1)
    #expect(store.outbox == status)
    #expect(try device.record("n")?["text"] == "first")
    #expect(try device.record("m")?["text"] == "old")
    // And what is recorded meanwhile is queued behind it.
    hooks.mapping.withLock { $0 = nil }
    try await device.update("n") { $0.stars = 1 }
    #expect(try await device.queue() == [["m.text"], ["n.stars"]])
    store.resume()
    #expect(try await device.exchange().arrived.count == 2)
  }

  @Test func `suspended while the folder is written, what is in flight arrives`() async throws {
    let bench = MappingBench()
    let device = try await device(bench)
    try await device.update("n") { $0.text = "new" }
    let store = device.store
    bench.hook.set { request, _ throws(CairnError) in if request == .write { store.suspend() } }
    #expect(try await device.exchange().arrived.count == 1)
    bench.hook.set(nil)
    #expect(store.outbox.isSuspended && store.outbox.pending == 0)
    try await device.update("n") { $0.text = "newer" }
    #expect(try await device.exchange().arrived.isEmpty)
    while store.resume() > 0 {}
    #expect(try await device.exchange().arrived.count == 1)
  }

  // MARK: what has arrived is told once

  @Test(arguments: [false, true])
  func `a set that is found to have arrived at an opening is in the first report`(
    syncs: Bool
  ) async throws {
    let bench = MappingBench()
    let device = try await device(bench)
    try await device.update("n") { $0.text = "new" }
    let set = try #require(try await device.store.pendingChangeSets().first?.id)
    bench.hook.fail([.write], .noConnection)
    await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    bench.hook.set(nil)
    // It gets into the folder, and the objects are closed before they hear of it.
    _ = try await device.main.exchange()
    #expect(device.store.outbox.inFlight == 1)
    try await device.store.close()
    let again = try await ObjectStore.open(
      in: bench.local("a"), remotes: device.remotes,
      mappings: [MappingBench.note, MappingBench.draft], version: MappingVersion("1"))
    #expect(again.outbox == OutboxStatus())
    let report = try await syncs ? again.sync() : again.exchange()
    #expect(report.arrived == [set])
    #expect(try await again.sync().arrived == [])
    #expect(try await again.exchange().arrived == [])
  }

  @Test func `what arrived before an upload failed is in the next report if no handler was told`()
    async throws
  {
    let hooks = Hooks()
    let device = try await device(MappingBench(), [hooks.notes])
    try await device.update("m") { $0.text = "good" }
    try await device.update("n") { $0.text = "bad" }
    let sets = try await device.store.pendingChangeSets().map(\.id)
    #expect(sets.count == 2)
    hooks.mapping.withLock { $0 = Self.refuse("bad") }
    await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    #expect(device.store.outbox.pending == 1)
    hooks.mapping.withLock { $0 = nil }
    device.store.resume()
    #expect(try await device.exchange().arrived == sets)
    #expect(try await device.exchange().arrived == [])
  }

  @Test func `what arrived on one route is in the next report after another route failed`()
    async throws
  {
    let bench = MappingBench()
    let told = Told<UploadFailure>()
    let device = try await bench.open("a", [MappingTests.routed], routes: ["main", "work"]) {
      told.add($0)
    }
    try await device.insert(Note(text: "home"), "h")
    try await device.insert(Note(text: "office", place: "work"), "w")
    let sets = try await device.store.pendingChangeSets().map(\.id)
    #expect(sets.count == 2)
    // As long as the folder of the first one is written the other's set is queued.
    let store = device.store
    bench.hook.set { request, path throws(CairnError) in
      if request == .write, store.outbox.queued == 0 {
        throw CairnError(.noConnection, "no write of \(path)", file: path)
      }
    }
    await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    bench.hook.set(nil)
    #expect(told.all.map(\.route) == ["work"] && told.all.map(\.arrived) == [[]])
    #expect(store.outbox.inFlight == 1 && store.outbox.pending == 1)
    store.resume()
    #expect(try await device.exchange().arrived == sets)
    #expect(try await device.exchange().arrived == [])
  }

  // MARK: others in the middle

  @Test func `a direct write that comes while a set is merged is merged, too`() async throws {
    let hooks = Hooks()
    let device = try await device(MappingBench(), [hooks.notes])
    try await device.update("n") { $0.stars += 5 }
    let table = try device.main.table("notes")
    let isDone = Shared(false)
    hooks.mapping.withLock {
      $0 = { note throws(CairnError) in
        guard note.stars == 5, !isDone.withLock({ $0 }) else { return }
        isDone.withLock { $0 = true }
        try table["n"].update(["stars": 2, "color": "red"])
      }
    }
    _ = try await device.exchange()
    #expect(isDone.withLock { $0 })
    #expect(try device.record("n")?["stars"] == 7, "of sums both count")
    #expect(try device.record("n")?["color"] == "red")
    #expect(try device.note("n")?.stars == 7)
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test(arguments: [false, true])
  func `a direct write between any two steps of an upload is never overwritten`(
    deletes: Bool
  ) async throws {
    var writes = 0
    for step in 1...100 {
      let hooks = Hooks()
      let merge: ObjectMapping.MergeHandler = { merge in merge.isDeleted = false }
      let device = try await device(MappingBench(), [hooks.notes(deletes ? merge : nil)])
      try await device.store.write { objects throws(CairnError) in
        try objects.update(Note.self, "m") { $0.text = "new" }
        if deletes {
          try objects.delete(Note.self, "n")
        } else {
          try objects.update(Note.self, "n") { $0.stars += 5 }
        }
      }
      let table = try device.main.table("notes")
      let (asked, written) = (Shared(0), Shared(false))
      hooks.mapping.withLock {
        $0 = { _ throws(CairnError) in
          let isNow = asked.withLock { asked in
            asked += 1
            return asked == step
          }
          guard isNow, let record = try table.record("n") else { return }
          try record.update(["stars": 2, "color": "red"])
          try table.datastore.sync()
          written.withLock { $0 = true }
        }
      }
      do { _ = try await device.exchange() } catch {
        #expect((error as? CairnError)?.code == .retryLater, "step \(step)")
      }
      hooks.mapping.withLock { $0 = nil }
      if asked.withLock({ $0 }) < step { break }
      while device.store.outbox.isSuspended { device.store.resume() }
      _ = try await device.exchange()
      #expect(try device.record("m")?["text"] == "new")
      #expect(device.store.outbox == OutboxStatus())
      guard written.withLock({ $0 }) else { continue }
      writes += 1
      let record = try device.record("n")
      // Of sums both count; and who deletes is asked whether that was meant, too.
      #expect(record?["stars"] == (deletes ? 2 : 7), "step \(step)")
      #expect(record?["color"] == "red", "step \(step)")
      #expect(try device.note("n")?.stars == (deletes ? 2 : 7), "step \(step)")
    }
    #expect(writes > 2)
  }

  @Test(arguments: [false, true])
  func `a record that goes between any two steps of an upload can be merged by the next one`(
    keeps: Bool
  ) async throws {
    var strikes = 0
    for step in 1...100 {
      let hooks = Hooks()
      let merge: ObjectMapping.MergeHandler = { merge in merge.isDeleted = false }
      let device = try await device(MappingBench(), [hooks.notes(keeps ? merge : nil)])
      try await device.update("n") { $0.text = "new" }
      let table = try device.main.table("notes")
      let asked = Shared(0)
      hooks.mapping.withLock {
        $0 = { _ throws(CairnError) in
          let isNow = asked.withLock { asked in
            asked += 1
            return asked == step
          }
          guard isNow, let record = try table.record("n") else { return }
          try record.delete()
          try table.datastore.sync()
        }
      }
      var code: CairnError.Code?
      do { _ = try await device.exchange() } catch { code = (error as? CairnError)?.code }
      #expect(code == nil || code == .retryLater, "step \(step)")
      hooks.mapping.withLock { $0 = nil }
      if asked.withLock({ $0 }) < step { break }
      if code != nil {
        strikes += 1
        #expect(device.store.outbox.queued == 1 && device.store.outbox.suspendCount == 1)
        device.store.resume()
      }
      _ = try await device.exchange()
      #expect(device.store.outbox == OutboxStatus())
      #expect(try device.note("m")?.text == "old")
      // The handler is asked only of what is still pending.
      if keeps, code == nil { continue }
      let text: String? = keeps ? "new" : nil
      #expect(try device.record("n")?["text"] == text.map(Value.string), "step \(step)")
      #expect(try device.note("n")?.text == text, "step \(step)")
    }
    #expect(strikes > 0)
  }

  // MARK: functions that throw

  private static func refuse(_ text: String) -> @Sendable (Note) throws(CairnError) -> Void {
    { note throws(CairnError) in
      if note.text == text { throw CairnError(.cancelled, "not this one") }
    }
  }

  @Test func `a mapping that throws takes the write back`() async throws {
    let hooks = Hooks()
    let device = try await device(MappingBench(), [hooks.notes])
    hooks.mapping.withLock { $0 = Self.refuse("bad") }
    let error = await #expect(throws: CairnError.self) {
      try await device.store.write { objects throws(CairnError) in
        try objects.update(Note.self, "m") { $0.text = "good" }
        try objects.update(Note.self, "n") { $0.text = "bad" }
      }
    }
    #expect(error?.code == .cancelled)
    #expect(try device.notes().values.map(\.text) == ["old", "old"])
    #expect(device.store.outbox == OutboxStatus())
  }

  @Test func `a mapping that throws in an upload suspends the queue, and loses nothing`()
    async throws
  {
    let hooks = Hooks()
    let told = Told<UploadFailure>()
    let device = try await device(MappingBench(), [hooks.notes]) { told.add($0) }
    try await device.update("m") { $0.text = "good" }
    try await device.update("n") { $0.text = "bad" }
    try await device.update("m") { $0.stars = 4 }
    let sets = try await device.store.pendingChangeSets().map(\.id)
    hooks.mapping.withLock { $0 = Self.refuse("bad") }
    await #expect(throws: CairnError.self) { _ = try await device.exchange() }
    let failure = try #require(told.all.first)
    #expect(told.all.count == 1 && failure.error.code == .cancelled)
    #expect(failure.arrived == [sets[0]] && failure.changeSet == sets[1])
    var status = OutboxStatus()
    (status.queued, status.suspendCount) = (2, 1)
    #expect(device.store.outbox == status)
    hooks.mapping.withLock { $0 = nil }
    device.store.resume()
    #expect(try await device.exchange().arrived == Array(sets[1...]))
    #expect(try device.record("n")?["text"] == "bad")
    #expect(try device.record("m")?["stars"] == 4)
  }

  /// Nothing watches this folder, and the next look at it is an hour away.
  @Test(.timeLimit(.minutes(20)))
  func `a mapping that says that something is deleted does not end the background`() async throws {
    let bench = MappingBench()
    bench.options.pollSeconds = 3600...3600
    let hooks = Hooks()
    let device = try await device(bench, [hooks.notes])
    device.store.suspend()
    try await device.update("n") { $0.text = "new" }
    let (reports, told) = AsyncStream.makeStream(of: Int.self)
    var rounds = reports.makeAsyncIterator()
    let codes = Told<CairnError.Code>()
    try await device.store.startExchanging { result in
      if case .failure(let error) = result { codes.add(error.code) }
      told.yield((try? result.get().arrived.count) ?? -1)
    }
    let first = await rounds.next()
    #expect(first == 0)
    hooks.mapping.withLock {
      $0 = { _ throws(CairnError) in throw CairnError(.deleted, "it is gone") }
    }
    device.store.resume()
    let second = await rounds.next()
    #expect(second == -1 && codes.all == [.deleted])
    hooks.mapping.withLock { $0 = nil }
    device.store.resume()
    let third = await rounds.next()
    #expect(third == 1 && device.store.outbox == OutboxStatus())
    device.store.stopExchanging()
    try await device.close()
  }

  @Test func `an update that throws leaves the record for the next round`() async throws {
    let bench = MappingBench()
    let hooks = Hooks()
    let a = try await device(bench, [hooks.notes])
    let b = try await bench.open("b")
    try await bench.settle([a, b])
    try await b.update("m") { $0.text = "good" }
    try await b.update("n") { $0.text = "bad" }
    _ = try await b.exchange()
    hooks.updating.withLock { $0 = Self.refuse("bad") }
    let error = await #expect(throws: CairnError.self) { _ = try await a.exchange() }
    #expect(error?.code == .cancelled)
    #expect(!a.store.outbox.isSuspended, "nothing was to be uploaded")
    #expect(try a.notes().values.map(\.text) == ["old", "old"], "a part is taken back")
    hooks.updating.withLock { $0 = nil }
    let report = try await a.exchange()
    #expect(Set(report.changes.map(\.id)) == ["m", "n"])
    #expect(try a.notes() == b.notes())
  }
}
