import CairnDisk
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// What the queue and the notes beside it keep, for how long, and what an upload that ends halfway
/// leaves.
@Suite struct OutboxUpkeepTests {
  typealias Note = MappingBench.Note

  private func kept(_ device: MappingDevice) async -> Int {
    await device.store.book.outbox.list("main") { $0.isPublished }.count
  }

  /// A handler may be asked about what others have published at the same moment; without one
  /// nobody wants to know.
  @Test func `a set that has arrived is kept for a handler, and for nobody else`() async throws {
    for (mapping, isKept) in [(MappingBench.note, false), (ObjectMergeTests.joining, true)] {
      let bench = MappingBench()
      let a = try await bench.open("a", [mapping])
      let b = try await bench.open("b", [mapping])
      try await a.insert(Note(text: "w"), "n")
      #expect(try await bench.settle([a, b]))
      try await a.update("n") { $0.text = "a" }
      // The other one has not heard of it.
      #expect(try await a.exchange().arrived.count == 1)
      let count = await kept(a)
      #expect((count > 0) == isKept)
    }
  }

  /// A commit costs what it changes.
  @Test func `what is stored is not written again with each later commit`() async throws {
    let a = try await MappingBench().open("a")
    try await a.insert(Note(text: "x"), "n")
    let book = await a.store.book
    #expect(book.outbox.queuedCount == 1)
    #expect(book.outbox.changedBatches.isEmpty && book.outbox.changedEntries.isEmpty)
    #expect(book.changedLinks.isEmpty && book.changedRoutes.isEmpty)
    #expect(book.homes.isEmpty && !book.hasChangedState)
  }

  @Test func `a store that is closed asks no folder for anything`() async throws {
    let bench = MappingBench()
    let a = try await bench.open("a")
    try await a.insert(Note(text: "x"), "n")
    _ = try await a.exchange()
    let requests = Told<String>()
    bench.hook.set { _, path in requests.add(path) }
    let store = a.store
    try await store.close()
    let error = await #expect(throws: CairnError.self) { _ = try await store.exchange() }
    #expect(error?.code == .closed)
    let second = await #expect(throws: CairnError.self) { try await store.startExchanging() }
    #expect(second?.code == .closed)
    #expect(requests.all == [])
    #expect(try a.main.isOpen, "others may go on with it")
  }

  /// Notes that are mapped as they are, by a mapping that throws when it is asked for the `left`th
  /// time.
  private func throwing(_ left: Shared<Int>) -> ObjectMapping {
    ObjectMapping(
      Note.self, as: Note.self,
      map: { note, _ throws(CairnError) in
        let isNow = left.withLock { left in
          left -= 1
          return left == 0
        }
        if isNow { throw CairnError(.cancelled, "not now") }
        return MappedRecord(note)
      }, update: { note, shared, _ in note = shared })
  }

  @Test func `a mapping that throws at any step of an upload leaves no half set`() async throws {
    var failures = 0
    for step in 1...100 {
      let left = Shared(Int.max)
      let device = try await MappingBench().open("a", [throwing(left)])
      let ids: [RecordID] = ["m", "n"]
      for id in ids { try await device.insert(Note(text: "old"), id) }
      _ = try await device.exchange()
      try await device.store.write { objects throws(CairnError) in
        try objects.update(Note.self, "m") { $0.text = "new" }
        try objects.update(Note.self, "n") { $0.text = "new" }
      }
      _ = left.exchange(step)
      var code: CairnError.Code?
      do { _ = try await device.exchange() } catch { code = (error as? CairnError)?.code }
      if left.exchange(.max) > 0 { break }
      failures += 1
      #expect(code == .cancelled, "step \(step)")
      #expect(try device.main.unsyncedChangesSize == 0, "step \(step)")
      let texts = try ids.map { try device.record($0)?["text"] }
      #expect(texts[0] == texts[1], "step \(step)")
      while device.store.outbox.isSuspended { device.store.resume() }
      _ = try await device.exchange()
      #expect(try device.record("m")?["text"] == "new")
      #expect(try device.record("n")?["text"] == "new")
      #expect(device.store.outbox == OutboxStatus())
    }
    #expect(failures > 2)
  }

  @Test func `a delete of a record is found after an earlier one of it has arrived`() throws {
    var outbox = OutboxBook()
    let target = OutboxBook.Target(
      object: RowKey(table: "notes", id: "n"), route: "main", table: "notes", record: "n",
      base: ["stars": .int(1)])
    let first = outbox.begin("main", id: "first")
    outbox.delete(target, in: first)
    let sent = try #require(outbox.batches[first])
    outbox.noteCommitted(sent, device: "d", sequence: 1)
    // Somebody has made it anew meanwhile.
    let second = outbox.begin("main", id: "second")
    outbox.delete(target, in: second)
    let arrived = try #require(outbox.batches[first])
    outbox.remove(arrived)
    #expect(outbox.delete(of: target.place)?.batch == second)
    let last = try #require(outbox.batches[second])
    outbox.remove(last)
    #expect(outbox.delete(of: target.place) == nil)
  }
}
