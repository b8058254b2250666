import Cairn
import TestSupport
import Testing

/// Limits refuse what the app makes larger, and nothing that comes from other devices.
@Suite struct MappingLimitTests {
  typealias Note = MappingBench.Note

  private func text(_ character: Character, _ count: Int) -> String {
    String(repeating: character, count: count)
  }

  /// A device with limits of its own for its objects and for the datastore "main".
  private func open(
    _ bench: MappingBench, _ name: String, objects: Int, records: Int
  ) async throws -> MappingDevice {
    let before = bench.options
    bench.options.limits.datastoreBytes = records
    let remote = try bench.remote(name)
    bench.options.limits.datastoreBytes = objects
    let local = bench.local(name)
    bench.options = before
    let store = try await ObjectStore.open(
      in: local, remotes: ["main": remote], mappings: [MappingBench.note],
      version: MappingVersion("1"))
    return MappingDevice(bench: bench, name: name, store: store, remotes: ["main": remote])
  }

  /// Three notes of 2000 bytes that another device has published: "n0", "n1", "n2".
  private func publisher(_ bench: MappingBench) async throws -> MappingDevice {
    let device = try await bench.open("a")
    for id: RecordID in ["n0", "n1", "n2"] {
      try await device.insert(Note(text: text("x", 2000)), id)
    }
    _ = try await device.exchange()
    return device
  }

  @Test func `two edits that make a record too large are merged, and the store opens again`()
    async throws
  {
    let bench = MappingBench()
    bench.options.limits.recordBytes = 3000
    let told = Told<UploadFailure>()
    let a = try await bench.open("a")
    let b = try await bench.open("b") { told.add($0) }
    try await a.insert(Note(text: "old"), "n")
    #expect(try await bench.settle([a, b]))
    let (long, far) = (text("x", 2000), text("y", 2000))
    try await b.update("n") { $0.place = far }
    let set = try #require(try await b.store.pendingChangeSets().first?.id)
    try await a.update("n") { $0.text = long }
    try await a.insert(Note(text: "another"), "m")
    _ = try await a.exchange()
    // What the datastore refuses is the upload, and that only.
    let error = await #expect(throws: CairnError.self) { _ = try await b.exchange() }
    #expect(error?.code == .sizeLimit)
    #expect(told.all.map(\.changeSet) == [set])
    let merged: [RecordID: Note] = [
      "n": Note(text: long, place: far), "m": Note(text: "another"),
    ]
    #expect(try b.notes() == merged)
    try await b.close()

    let again = try await bench.open("b")
    #expect(try again.notes() == merged)
    #expect(try await again.queue() == [["n.place"]])
    try await a.update("m") { $0.stars = 5 }
    _ = try await a.exchange()
    again.store.suspend()
    _ = try await again.exchange()
    again.store.resume()
    #expect(try again.note("m")?.stars == 5)
    // The app decides, and all of it goes on.
    try await again.update("n") { $0.place = "near" }
    #expect(try await bench.settle([a, again]))
    #expect(try a.note("n") == Note(text: long, place: "near"))
    #expect(try a.notes() == again.notes())
  }

  @Test func `a record that is larger than this device's limit is an object, and can be deleted`()
    async throws
  {
    let bench = MappingBench()
    bench.options.limits.recordBytes = 10_000
    let a = try await bench.open("a")
    bench.options.limits.recordBytes = 3000
    let b = try await bench.open("b")
    try await a.insert(Note(text: text("x", 5000)), "n")
    _ = try await a.exchange()
    #expect(try await b.exchange().changes.map(\.id) == ["n"])
    try await b.close()
    let again = try await bench.open("b", version: MappingVersion("2"))
    #expect(try again.notes() == ["n": Note(text: text("x", 5000))])
    #expect(try await again.queue() == [])
    let error = await #expect(throws: CairnError.self) {
      try await again.update("n") { $0.text += "y" }
    }
    #expect(error?.code == .sizeLimit)
    try await again.delete("n")
    #expect(try await again.exchange().arrived.count == 1)
    #expect(try await bench.settle([a, again]))
    #expect(try a.notes().isEmpty)
    #expect(try again.notes().isEmpty)
  }

  @Test func `from a datastore that merging has made too large objects can be deleted`()
    async throws
  {
    let bench = MappingBench()
    let a = try await publisher(bench)
    let b = try await open(bench, "b", objects: 10 << 20, records: 4000)
    #expect(try await b.exchange().changes.map(\.id) == ["n0", "n1", "n2"])
    #expect(try b.main.size > 6000)
    try await b.delete("n0")
    #expect(try await b.exchange().arrived.count == 1)
    #expect(try b.main.size > 4000, "it is too large as before")
    #expect(b.store.outbox == OutboxStatus())
    try await b.delete("n1")
    #expect(try await b.exchange().arrived.count == 1)
    _ = try await a.exchange()
    #expect(try a.notes().keys.map { $0 } == ["n2"])
  }

  @Test func `objects that others have made too many can be deleted, and none inserted`()
    async throws
  {
    let bench = MappingBench()
    let a = try await publisher(bench)
    let first = try await open(bench, "b", objects: 4000, records: 10 << 20)
    #expect(try await first.exchange().changes.map(\.id) == ["n0", "n1", "n2"])
    #expect(first.store.size > 6000)
    try await first.close()
    let b = try await open(bench, "b", objects: 4000, records: 10 << 20)
    let error = await #expect(throws: CairnError.self) {
      try await b.insert(Note(text: "more"), "m")
    }
    #expect(error?.code == .sizeLimit)
    try await b.delete("n0")
    #expect(try await b.queue() == [["-n0"]])
    #expect(try await b.exchange().arrived.count == 1)
    #expect(b.store.size > 4000)
    _ = try await a.exchange()
    #expect(Set(try a.notes().keys) == ["n1", "n2"])
    #expect(try a.notes() == b.notes())
  }
}
