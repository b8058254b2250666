import Cairn
import CairnDisk
import TestSupport
import Testing

/// An opening that fails leaves nothing open.
@Suite struct OpenFaultTests {
  @Test func `a read that fails while opening does not keep the datastore open`() throws {
    let bench = CatalogueBench()
    let first = bench.manager("a")
    try first.openOrCreateDatastore("notes").add("r")
    try first.shutDown()
    let kept = bench.disk.snapshot()
    var failures = 0
    for number in 1... {
      bench.use(kept.snapshot())
      let manager = bench.manager("a")
      bench.disk.failAt(read: bench.disk.reads + number, reason: .io(errno: 5))
      do {
        try manager.openOrCreateDatastore("notes").close()
        // Nothing is read any more that could fail.
        break
      } catch {
        failures += 1
        #expect(bench.disk.heldLocks == 0, "read \(number) leaves a lock: \(error)")
      }
      bench.disk.heal()
      let datastore = try manager.openOrCreateDatastore("notes")
      #expect(try datastore.ids() == ["r"], "read \(number)")
      try datastore.close()
      #expect(bench.disk.heldLocks == 0 && bench.disk.openFiles == 0, "read \(number)")
    }
    #expect(failures > 5)
  }
}
