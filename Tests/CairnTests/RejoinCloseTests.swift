import CairnDisk
import CairnLog
import Dispatch
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

  /// A copy of a device, by the name of "old", that lacks what was published since.
  private func makeOld() async throws {
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    bench.clone("a", as: "old")
    try a.add("a1")
    try await a.exchange()
    try a.close()
  }

  @Test func `a round that outlives a datastore says that it is closed, and the next one goes on`()
    async throws
  {
    try await makeOld()
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

  /// A close that begins in the midst of a round, and folds the log until that round puts the
  /// datastore together anew.
  private final class Closing: Sendable {
    let (hasBegun, hasFolded, hasStaged, hasEnded) = (Flag(), Flag(), Flag(), Flag())
    let failure = Shared<String?>(nil)
    private let folding = DispatchSemaphore(value: 0)
    private let staging = DispatchSemaphore(value: 0)
    private let ending = DispatchSemaphore(value: 0)

    /// In the round, before it has found anything out.
    func begin(_ device: Datastore) {
      guard hasBegun.raise() else { return }
      let thread = BackgroundThread { [self] in
        do { try device.close() } catch { failure.withLock { $0 = "\(error)" } }
        end()
      }
      if thread == nil { end() }
      folding.wait()
    }

    /// In the close.
    func fold() {
      guard hasFolded.raise() else { return }
      folding.signal()
      staging.wait()
    }

    /// In the round, once there is another store.
    func stage() {
      guard hasStaged.raise() else { return }
      staging.signal()
      ending.wait()
    }

    /// Nobody waits for what did not come to pass.
    func letGo() { staging.signal() }

    private func end() {
      hasEnded.raise()
      for semaphore in [folding, ending] { semaphore.signal() }
    }
  }

  @Test func `what a round begins to put together while a log is folded at the end is closed, too`()
    async throws
  {
    try await makeOld()
    let (closing, script) = (Closing(), ScriptedFolder.Script())
    let (home, disk) = ("/root/p-notes/", bench.disk("old"))
    bench.scripts["old"] = script
    bench.options.compactsAutomatically = true
    bench.options.tuning.replayBytes = 1
    let device = try bench.open("old")
    try device.add("mine")
    disk.intercept { operation in
      let isFolding = operation.path.hasPrefix(home + FileName.snapshots + "/")
      if operation.verb == "create", isFolding { closing.fold() }
      return nil
    }
    script.list { _, entries in
      closing.begin(device)
      return entries
    }
    script.read { _, bytes in
      let lock = home + FileName.rejoining + "/" + FileName.lock
      if disk.bytes(lock) != nil { closing.stage() }
      return bytes
    }
    let error = await device.exchangeError()
    closing.letGo()
    while !closing.hasEnded.isUp { await Task.yield() }
    #expect(closing.hasFolded.isUp && closing.hasStaged.isUp)
    #expect(error?.code == .closed && closing.failure.withLock { $0 } == nil)
    #expect(disk.heldLocks == 0 && disk.openFiles == 0)
    disk.intercept(nil)
    script.list(nil)
    script.read(nil)
    let again = try bench.open("old")
    try await again.exchange()
    #expect(try again.sync().newDevice != nil)
    #expect(try again.ids() == ["a0", "a1", "mine"])
  }
}
