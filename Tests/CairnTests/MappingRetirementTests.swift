import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Objects whose records are in a datastore of which a device was retired.
@Suite struct MappingRetirementTests {
  typealias Note = MappingBench.Note

  private static let joining: ObjectMapping = .synced(Note.self, merge: ObjectMergeTests.joinTexts)

  private func published(_ device: MappingDevice) async -> Int {
    await device.store.book.outbox.list("main") { $0.isPublished }.count
  }

  @Test func `sets that have arrived do not wait for a device that was left out`() async throws {
    let bench = MappingBench()
    let a = try await bench.open("a", [Self.joining])
    let b = try await bench.open("b", [Self.joining])
    let c = try await bench.open("c", [Self.joining])
    try await a.insert(Note(text: "w"), "n")
    #expect(try await bench.settle([a, b, c]))
    try await c.update("n") { $0.text = "c" }
    #expect(try await bench.settle([c, a, b]))
    #expect(try await bench.settle([c, a, b]))
    let lost = try c.main.device
    try await c.close()
    try await a.update("n") { $0.text = "a" }
    #expect(try await bench.settle([a, b]))
    #expect(await published(a) == 1)
    try a.main.retireDevice(lost)
    for _ in 0..<3 { #expect(try await bench.settle([a, b])) }
    #expect(try a.main.store.cuts.cuts.map(\.isSealed) == [true])
    #expect(await published(a) == 0)
    #expect(try b.note("n")?.text == "a")
  }

  @Test func `objects of a retired device that returns are there with its changes, once`()
    async throws
  {
    let bench = MappingBench()
    let a = try await bench.open("a")
    let b = try await bench.open("b")
    let c = try await bench.open("c")
    for id: RecordID in ["n", "m"] { try await a.insert(Note(text: "w", stars: 1), id) }
    #expect(try await bench.settle([a, b, c]))
    try await c.update("n") { ($0.text, $0.stars) = ("of c", 4) }
    try await c.insert(Note(text: "new"), "o")
    try await c.delete("m")
    // These are committed and not published, that one is only in the queue.
    bench.hook.fail([.write], .noConnection)
    _ = try? await c.exchange()
    bench.hook.set(nil)
    c.store.resume()
    try await c.update("o") { $0.stars = 2 }
    let old = try c.main.device
    try a.main.retireDevice(old)
    try await a.update("n") { $0.stars = 3 }
    for _ in 0..<3 { #expect(try await bench.settle([a, b])) }
    for _ in 0..<3 { try await bench.settle([c, a, b]) }
    #expect(try await bench.settle([c, a, b]))
    for device in [a, b, c] {
      #expect(try device.note("n") == Note(text: "of c", stars: 6))
      #expect(try device.note("o") == Note(text: "new", stars: 2))
      #expect(try device.note("m") == nil)
      #expect(try device.main.store.vector == a.main.store.vector)
      #expect(device.store.outbox.pending == 0)
    }
  }
}
