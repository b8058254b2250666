import Cairn
import CairnCDB
import CairnDisk
import Synchronization
import TestSupport
import Testing

/// An object that does something when it ends.
private final class Asking: Sendable {
  private let onEnd: @Sendable () -> Void

  init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

  deinit { onEnd() }
}

@Suite struct CDBObjectEndTests {
  /// One that is let go while the store is locked would wait for ever.
  @Test func `an object that ends may ask the store, however it was let go`() throws {
    let asked = Lock(0)
    let known = Lock<CDBStore<String, Asking>?>(nil)
    let ask: @Sendable () -> Void = {
      let store = known.withLock { $0 }
      if store?.isOpen != nil { asked.withLock { $0 += 1 } }
    }
    let coding = CDBValueCoding<Asking>(
      encode: { _ throws(CairnError) in try CDBTaggedBytes(tag: 40, bytes: []) },
      decode: { _ throws(CairnError) in Asking(ask) })
    let store = CDBStore<String, Asking>(
      "/s", keys: .text, values: coding, machine: CDBSample.machine(MemoryDisk()),
      delay: ManualDelay().delay)
    try store.open()
    known.withLock { $0 = store }
    func ends(_ body: () throws -> Void) rethrows -> Int {
      let before = asked.withLock { $0 }
      try body()
      return asked.withLock { $0 } - before
    }
    try store.set(Asking(ask), for: "a")
    #expect(try ends { try store.set(Asking(ask), for: "a") } == 1)
    #expect(try ends { try store.remove("a") } == 1)
    try store.set(Asking(ask), for: "a")
    try store.set(Asking(ask), for: "b")
    try store.save()
    #expect(ends { store.emptyCache() } == 2)
    _ = try store.value(for: "a")
    #expect(try ends { try store.remove("a") } == 1)
    _ = try store.value(for: "b")
    #expect(try ends { try store.reload() } == 1)
    _ = try store.value(for: "b")
    #expect(try ends { try store.close(discardingChanges: true) } == 1)
    known.withLock { $0 = nil }
  }
}
