import Cairn
import TestSupport
import Testing

/// What the queue lets go of is durable in its datastore, however seldom that one syncs the disk.
@Suite struct OutboxDurabilityTests {
  typealias Note = MappingBench.Note

  /// The objects are as durable as can be, their records are not: as an app may choose it, since
  /// records can be fetched again.
  private func open(_ bench: MappingBench) async throws -> MappingDevice {
    bench.options.durability = .periodic(seconds: 1e6)
    let remotes = ["main": try bench.remote("a")]
    bench.options.durability = .full
    let store = try await ObjectStore.open(
      in: bench.local("a"), remotes: remotes, mappings: [MappingBench.note, MappingBench.draft],
      version: MappingVersion("1"))
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
}
