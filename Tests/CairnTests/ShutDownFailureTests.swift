import Cairn
import CairnDisk
import TestSupport
import Testing

/// A manager that is shut down closes all it has, whatever becomes of one of them.
@Suite struct ShutDownFailureTests {
  private let bench = CatalogueBench()

  @Test func `one datastore that can't be closed is told, and keeps no other open`() throws {
    bench.options.durability = .periodic(seconds: 1e6)
    let manager = bench.local("l")
    let ids = ["k", "m", "n"]
    let all = try ids.map { try manager.openOrCreateDatastore($0) }
    for datastore in all {
      // The first commit is synced, the second one when it is closed.
      try datastore.add("r")
      try datastore.add("s")
    }
    bench.disk.intercept { operation in
      operation.verb == "sync" && operation.path.contains("/p-m/") ? .io(errno: 5) : nil
    }
    let error = failure { try manager.shutDown() }
    #expect(error?.code == .syncFailed)
    #expect(error?.file?.contains("/p-m/log/") == true)
    #expect(all.allSatisfy { !$0.isOpen } && manager.isShutDown)
    #expect(bench.disk.heldLocks == 0 && bench.disk.openFiles == 0)
    bench.disk.heal()
    bench.crash(.nothingUnsynced)
    let next = bench.local("l")
    for id in ids {
      let datastore = try next.openDatastore(id)
      let least: Set<String> = id == "m" ? ["r"] : ["r", "s"]
      #expect(try datastore.ids().isSuperset(of: least), "\(id)")
      try datastore.close()
    }
  }
}
