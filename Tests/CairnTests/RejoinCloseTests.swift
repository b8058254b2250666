import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Datastores that are closed while a round finds out that they need another name.
@Suite struct RejoinCloseTests {
  private let bench = IdentityBench()

  /// Closes a datastore at one of the requests to its folder, counted from 1.
  private func close(_ device: Datastore, at last: Int, of script: ScriptedFolder.Script) {
    let counter = Shared(0)
    let next: @Sendable () -> Void = {
      let number = counter.withLock { count in
        count += 1
        return count
      }
      if number != last { return }
      do { try device.close() } catch { Issue.record("\(error)") }
    }
    script.list { _, entries in
      next()
      return entries
    }
    script.read { _, bytes in
      next()
      return bytes
    }
  }

  @Test func `a round that outlives a datastore says that it is closed, and the next one goes on`()
    async throws
  {
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    bench.clone("a", as: "old")
    try a.add("a1")
    try await a.exchange()
    try a.close()
    let files = bench.folder.paths()
    var request = 0
    while true {
      request += 1
      let (copy, script) = ("copy\(request)", ScriptedFolder.Script())
      let comment: Comment = "request \(request)"
      bench.clone("old", as: copy)
      bench.scripts[copy] = script
      let device = try bench.open(copy)
      try device.add("mine")
      close(device, at: request, of: script)
      let error = await device.exchangeError()
      script.list(nil)
      script.read(nil)
      if device.isOpen {
        // A round has no more requests than that.
        #expect(error == nil, comment)
        break
      }
      #expect(error?.code == .closed, comment)
      #expect(bench.disk(copy).heldLocks == 0 && bench.disk(copy).openFiles == 0, comment)
      let again = try bench.open(copy)
      let report = try await again.exchange()
      #expect(report.isRejoining && report.problems == [], comment)
      #expect(try again.sync().newDevice != nil, comment)
      #expect(try again.ids() == ["a0", "a1", "mine"], comment)
      try again.close()
    }
    #expect(request > 5)
    #expect(bench.folder.paths() == files, "nothing was published")
  }
}
