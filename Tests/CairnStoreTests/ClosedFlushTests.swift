import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// What somebody waits for to become durable while another one closes the store.
@Suite struct ClosedFlushTests {
  /// A store that was closed, and how far its log had come before: what a flush knows that has
  /// asked for that, and does the rest now.
  private func closed(
    _ durability: StoreOptions.Durability
  ) throws -> (store: Store, target: LogPosition) {
    let device = try StoreDevice(1) { $0.durability = durability }
    let store = device.store
    try store.insert("r")
    try store.sync()
    let target = try store.withState { guarded throws(StoreError) in
      LogPosition(
        segment: guarded.tail.segment?.header.number ?? 0, end: guarded.tail.segment?.end ?? 0)
    }
    #expect(target > .start)
    try store.close()
    return (store, target)
  }

  @Test func `a flush that a close overtakes does not say that all is durable`() throws {
    let (store, target) = try closed(.none)
    #expect(refusal { try store.makeDurable(target) } == .closed)
    #expect(refusal { try store.flush() } == .closed)
  }

  /// Closing has synced it.
  @Test(arguments: [StoreOptions.Durability.full, .periodic(milliseconds: 1_000_000)])
  func `where closing makes all durable it does`(durability: StoreOptions.Durability) throws {
    let (store, target) = try closed(durability)
    #expect(refusal { try store.makeDurable(target) } == nil)
  }
}
