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
}
