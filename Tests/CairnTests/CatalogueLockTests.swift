import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Several processes may work on one root, and each changes what CATALOGUE says now.
@Suite struct CatalogueLockTests {
  @Test func `CATALOGUE is replaced only while its lock is held, and the lock is given back`()
    async throws
  {
    let bench = CatalogueBench()
    let disk = bench.disk
    let lock = "/a/" + FileName.installationLock
    // Whether somebody else could have had the lock, for each time that the file was replaced.
    let free = Told<Bool>()
    disk.intercept { operation in
      guard operation.verb == "rename", operation.target == "/a/" + FileName.installation else {
        return nil
      }
      do throws(DiskError) {
        try disk.lock(lock).unlock()
        free.add(true)
      } catch { free.add(error.reason != .locked) }
      return nil
    }
    let a = bench.manager("a")
    try await a.with("n")
    try await a.refresh()
    try a.deleteDatastore("n")
    disk.intercept(nil)
    #expect(free.all.count >= 2 && !free.all.contains(true))
    try disk.lock(lock).unlock()
    try a.shutDown()
  }
}
