import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Closing folds a long tail, so that the next opening is quick; nothing else depends on that.
struct ClosingCompactionTests {
  @Test(arguments: [DiskError.Reason.noSpace, .io(errno: 5)])
  func `one that fails keeps nobody from closing, and takes nothing`(
    reason: DiskError.Reason
  ) throws {
    let device = try StoreDevice(1, isLinked: false) {
      $0.compactsAutomatically = true
      $0.replayBytes = 100
    }
    for number in 0..<5 {
      try device.store.insert("r\(number)", ["s": "some text"])
      try device.store.sync()
    }
    let (store, content) = (device.store, try StoreContent(device.store))
    device.disk.intercept { operation in
      operation.verb == "create" && operation.path.contains("/snap/") ? reason : nil
    }
    try store.close()
    device.disk.heal()
    #expect(store.isClosed && device.disk.heldLocks == 0 && device.disk.openFiles == 0)
    guard case .disk(let disk) = store.compactionFailure?.log?.reason else {
      Issue.record("\(String(describing: store.compactionFailure))")
      return
    }
    #expect(disk.reason == reason)
    try device.crash(.nothingUnsynced)
    #expect(device.store.snapshotFile() == nil && device.store.recovery.isEmpty)
    #expect(try StoreContent(device.store) == content)
    // With room the next one does it.
    try device.reopen()
    #expect(device.store.snapshotFile() != nil)
    #expect(try StoreContent(device.store) == content)
  }

  /// Of an account's datastore: own deltas stay in the log until they are published.
  @Test func `a preview counts what stays until it is published`() throws {
    let device = try StoreDevice(1)
    let random = SeededRandom(4)
    for number in 0..<20 {
      try device.store.insert("r\(number)", ["b": .bytes(random.bytes(2000))])
      try device.store.sync()
    }
    let preview = try device.store.previewCompaction()
    let done = try device.store.compact()
    #expect(preview.bytesBefore == done.bytesBefore && preview.records == done.records)
    // But for the header and the footer of one segment.
    #expect((0...2000).contains(Int(done.bytesAfter) - Int(preview.bytesAfter)))
    #expect(preview.bytesAfter > 80_000)
    device.store.confirmPublished(through: 20)
    let last = try device.store.previewCompaction()
    #expect(try device.store.compact() == last)
    #expect(last.bytesAfter < 60_000)
  }
}
