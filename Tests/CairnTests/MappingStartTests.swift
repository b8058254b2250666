import Cairn
import TestSupport
import Testing

/// What an object store notes when it is opened holds from then on, whatever fails after it.
@Suite struct MappingStartTests {
  typealias Note = MappingBench.Note

  /// A mapping that may refuse to enumerate.
  private func notes(_ refuses: Shared<Bool>) -> ObjectMapping {
    ObjectMapping(
      Note.self, as: Note.self,
      map: { note, pass throws(CairnError) in
        if case .population = pass, refuses.withLock({ $0 }) {
          throw CairnError(.cancelled, "not now")
        }
        return MappedRecord(note)
      }, update: { note, shared, _ in note = shared })
  }

  @Test func `objects that did not get to another datastore at first get there the next time`()
    async throws
  {
    let bench = MappingBench()
    let refuses = Shared(false)
    let mapping = notes(refuses)
    let device = try await bench.open("a", [mapping])
    try await device.insert(Note(text: "x"), "n")
    _ = try await device.exchange()
    try await device.close()
    func open(_ remote: Datastore) async throws -> MappingDevice {
      let store = try await ObjectStore.open(
        in: bench.local("a"), remotes: ["main": remote], mappings: [mapping],
        version: MappingVersion("1"))
      return MappingDevice(bench: bench, name: "a", store: store, remotes: ["main": remote])
    }
    // Its records are followed, and then its objects can't be enumerated.
    _ = refuses.exchange(true)
    let first = try bench.remote("a", "elsewhere")
    let error = await #expect(throws: CairnError.self) { _ = try await open(first) }
    #expect(error?.code == .cancelled)
    try first.close()
    _ = refuses.exchange(false)
    let again = try await open(try bench.remote("a", "elsewhere"))
    #expect(try await again.queue() == [["+n"]])
    _ = try await again.exchange()
    #expect(try again.record("n")?["text"] == "x")
  }
}
