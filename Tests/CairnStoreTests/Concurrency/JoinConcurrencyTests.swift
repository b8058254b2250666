import CairnDisk
import CairnMerge
import CairnStore
import Synchronization
import TestSupport
import Testing

/// Joins beside everything else; run under the thread sanitizer, too.
struct JoinConcurrencyTests {
  @Test func `writers and readers go on while snapshots are joined`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    for index in 0..<100 {
      try a.store.insert("a\(index)", ["n": 1])
      try b.store.insert("b\(index)", ["n": 1])
    }
    try a.store.sync()
    try b.store.sync()
    let store = a.store
    let failure = Lock<String?>(nil)
    let threads = (0..<3).map { thread in
      BackgroundThread {
        do {
          for index in 0..<40 {
            let id = RecordName("w\(thread)-\(index)")
            try store.insert(table: "t", id: id, [("n", .int(Int64(index)))])
            if index % 3 != 0 { try store.sync() }
            _ = try store.count(table: "t")
            _ = try store.fields(table: "t", id: RecordName("b\(index)"))
          }
        } catch { failure.withLock { $0 = "\(error)" } }
      }
    }
    for round in 0..<6 {
      try b.store.insert("late\(round)")
      try b.store.sync()
      _ = try b.store.compact()
      let path = store.temporarySnapshotPath()
      try a.disk.setBytes(path, try #require(b.snapshotBytes()))
      let outcome = try store.join(snapshot: path)
      #expect(outcome?.appliedCount == (round == 0 ? 2 : 1))
    }
    for thread in threads { thread?.join() }
    #expect(failure.withLock { $0 } == nil)
    try store.sync()
    let content = try StoreContent(store)
    #expect(content.recordCount == 100 + 100 + 120 + 6)
    #expect(store.totals == (content.size, content.recordCount, 0))
    try a.reopen()
    #expect(try StoreContent(a.store) == content)
    // The other one gets the same from deltas.
    _ = try b.store.sync(packs: [try a.store.pack()])
    #expect(try StoreContent(b.store) == content)
    _ = try a.store.compact()
    _ = try b.store.compact()
    #expect(a.snapshotBytes() == b.snapshotBytes())
  }
}
