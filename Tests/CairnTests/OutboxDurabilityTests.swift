import Cairn
import CairnDisk
import TestSupport
import Testing

/// What the queue lets go of is durable in its datastore, however seldom that one syncs the disk.
@Suite struct OutboxDurabilityTests {
  typealias Note = MappingBench.Note

  /// The objects are as durable as can be, their records are not: as an app may choose it, since
  /// records can be fetched again.
  private func open(
    _ bench: MappingBench, _ durability: Options.Durability = .periodic(seconds: 1e6),
    onFailure: ObjectStore.FailureHandler? = nil
  ) async throws -> MappingDevice {
    bench.options.durability = durability
    let remotes = ["main": try bench.remote("a")]
    bench.options.durability = .full
    let store = try await ObjectStore.open(
      in: bench.local("a"), remotes: remotes, mappings: [MappingBench.note, MappingBench.draft],
      version: MappingVersion("1"), onFailure: onFailure)
    return MappingDevice(bench: bench, name: "a", store: store, remotes: remotes)
  }

  @Test func `what is in flight survives a power cut in a datastore that syncs seldom`()
    async throws
  {
    let bench = MappingBench()
    let a = try await open(bench)
    try await a.insert(Note(text: "early"), "n")
    _ = try await a.exchange()
    #expect(a.store.outbox.pending == 0)
    try await a.update("n") { $0.text = "late" }
    try await a.insert(Note(text: "new"), "m")
    // The folder goes when both sets are committed in their datastore, and before anything else
    // makes that one durable.
    let store = a.store
    bench.hook.set { _, path throws(CairnError) in
      if store.outbox.inFlight == 2 { throw CairnError(.network, "no", file: path) }
    }
    let error = await #expect(throws: CairnError.self) { _ = try await store.exchange() }
    #expect(error?.code == .network)
    #expect(store.outbox.inFlight == 2 && store.outbox.queued == 0)
    bench.use(bench.disk("a").crash(keep: .nothingUnsynced), for: "a")
    bench.hook.set(nil)

    let again = try await bench.open("a")
    #expect(try again.notes().mapValues(\.text) == ["n": "late", "m": "new"])
    _ = try await again.exchange()
    #expect(again.store.outbox.pending == 0)
    #expect(try again.record("n")?["text"] == "late")
    #expect(try again.record("m")?["text"] == "new")
    let b = try await bench.open("b")
    #expect(try await bench.settle([again, b]))
    #expect(try b.notes() == again.notes())
    #expect(try b.notes().mapValues(\.text) == ["n": "late", "m": "new"])
  }

  @Test func `a set whose datastore is closed while it becomes durable there has not arrived`()
    async throws
  {
    let bench = MappingBench()
    let told = Told<UploadFailure>()
    let a = try await open(bench, .none) { told.add($0) }
    try await a.insert(Note(text: "old"), "n")
    _ = try await a.exchange()
    try await a.update("n") { $0.text = "new" }
    let set = try #require(try await a.store.pendingChangeSets().first?.id)
    let (main, isClosed) = (try a.main, Shared(false))
    bench.disk("a").intercept { step in
      // Asked only before: while it closes the datastore must not be looked at from here.
      guard step.verb == "sync", step.path.hasPrefix("/main/"), step.path.hasSuffix(".seg"),
        !isClosed.withLock({ $0 }), (try? main.table("notes").record("n")?.string("text")) == "new"
      else { return nil }
      isClosed.withLock { $0 = true }
      do { try main.close() } catch { Issue.record(error) }
      return nil
    }
    let error = await #expect(throws: CairnError.self) { _ = try await a.exchange() }
    bench.disk("a").intercept(nil)
    #expect(isClosed.withLock { $0 } && !main.isOpen && error?.code == .closed)
    #expect(told.all.map(\.arrived) == [[]] && told.all.map(\.changeSet) == [set])
    #expect(a.store.outbox.queued == 1 && a.store.outbox.inFlight == 0)
    try await a.close()

    let again = try await bench.open("a")
    _ = try await again.store.sync()
    #expect(again.store.outbox.queued == 0 && again.store.outbox.inFlight == 1)
    #expect(try await again.exchange().arrived == [set])
    #expect(again.store.outbox == OutboxStatus())
    let b = try await bench.open("b")
    #expect(try await bench.settle([again, b]))
    #expect(try b.notes().mapValues(\.text) == ["n": "new"])
  }

  // MARK: committed and not noted

  /// A device whose note "n" has the text "a" and 15 stars pending, and "w" and 5 in the folder.
  private func edited(_ bench: MappingBench) async throws -> MappingDevice {
    let device = try await open(bench)
    try await device.insert(Note(text: "w", stars: 5), "n")
    _ = try await device.exchange()
    try await device.update("n") { ($0.text, $0.stars) = ("a", 15) }
    return device
  }

  /// From now on steps of the log in a directory fail, once the datastore has the text "a".
  private func fail(
    _ bench: MappingBench, _ main: Datastore, _ verb: String, in directory: String
  ) {
    bench.disk("a").intercept { step in
      guard step.verb == verb, step.path.hasPrefix(directory), step.path.hasSuffix(".seg"),
        (try? main.table("notes").record("n")?.string("text")) == "a"
      else { return nil }
      return .noSpace
    }
  }

  @Test func `an edit of what is committed and could not be noted is made on top of that`()
    async throws
  {
    let bench = MappingBench()
    let a = try await edited(bench)
    fail(bench, try a.main, "write", in: "/local/")
    let error = await #expect(throws: CairnError.self) { _ = try await a.exchange() }
    bench.disk("a").intercept(nil)
    #expect(error?.code == .diskSpace)
    var status = OutboxStatus()
    (status.queued, status.suspendCount) = (1, 1)
    #expect(a.store.outbox == status)
    #expect(try a.record("n") == ["text": "a", "stars": 15])
    try await a.update("n") { ($0.text, $0.stars) = ("b", $0.stars + 1) }
    (status.queued, status.inFlight) = (1, 1)
    #expect(a.store.outbox == status)
    let change = try await a.store.pendingChangeSets().last?.changes.first
    #expect(change?.originals == ["text": "a", "stars": 15])
    a.store.resume()
    #expect(try await a.exchange().arrived.count == 2)
    #expect(try a.note("n") == Note(text: "b", stars: 16))
    #expect(try a.record("n") == ["text": "b", "stars": 16])
    #expect(a.store.outbox == OutboxStatus())
  }

  @Test func `an edit on top of what may be committed is refused until that is known`()
    async throws
  {
    let bench = MappingBench()
    let a = try await edited(bench)
    fail(bench, try a.main, "sync", in: "/main/")
    let error = await #expect(throws: CairnError.self) { _ = try await a.exchange() }
    bench.disk("a").intercept(nil)
    #expect(error?.code == .syncFailed)
    let refusal = await #expect(throws: CairnError.self) {
      try await a.update("n") { $0.stars += 1 }
    }
    #expect(refusal?.code == .syncFailed)
    #expect(try a.note("n") == Note(text: "a", stars: 15))
    // What has nothing to do with it goes on.
    try await a.store.write { objects throws(CairnError) in
      try objects.insert(MappingBench.Draft(text: "here"), id: "d")
    }
    try await a.store.close()
    // It says once more that its disk has failed.
    for remote in a.remotes.values { try? remote.close() }

    let again = try await bench.open("a")
    #expect(again.store.outbox.queued == 0)
    try await again.update("n") { $0.stars += 1 }
    let b = try await bench.open("b")
    #expect(try await bench.settle([again, b]))
    for device in [again, b] {
      #expect(try device.note("n") == Note(text: "a", stars: 16))
      #expect(device.store.outbox == OutboxStatus())
    }
  }
}
