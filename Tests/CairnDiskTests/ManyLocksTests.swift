import CairnDisk
import TestSupport
import Testing

/// Files that one process has locked, several of them at once.
struct ManyLocksTests {
  @Test func `giving one back leaves the others with this process, whichever it is`() throws {
    let directory = try TemporaryDirectory()
    let disk = PosixDisk()
    let paths = (0..<4).map { directory.path("LOCK\($0)") }
    for first in paths.indices {
      let locks = try paths.map { try disk.lock($0) }
      locks[first].unlock()
      for (number, path) in paths.enumerated() {
        let holder = try disk.lockHolder(path)
        #expect(holder == (number == first ? nil : "by this very process"))
        if number == first { continue }
        let error = #expect(throws: DiskError.self) { try disk.lock(path) }
        #expect(error?.reason == .locked && error?.detail == "by this very process")
      }
      for lock in locks { lock.unlock() }
      for path in paths { #expect(try disk.lockHolder(path) == nil) }
    }
  }
}
