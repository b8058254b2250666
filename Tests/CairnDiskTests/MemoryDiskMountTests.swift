import CairnDisk
import TestSupport
import Testing

/// What some file systems refuse, on the simulated disk.
@Suite struct MemoryDiskMountTests {
  private let disk = MemoryDisk()

  init() throws { try disk.setBytes("/a/b/file", [1]) }

  private func reason(_ body: () throws(DiskError) -> Void) -> DiskError.Reason? {
    do throws(DiskError) {
      try body()
      return nil
    } catch { return error.reason }
  }

  @Test func `a directory that is bound has no other name, and what is in it may`() throws {
    disk.bindDirectories()
    for disk in [disk, disk.snapshot(), disk.crash(keep: .nothingUnsynced)] {
      #expect(reason { () throws(DiskError) in try disk.rename("/a", to: "/c") } == .io(errno: 18))
      try disk.rename("/a/b/file", to: "/a/other")
      try disk.createDirectory("/d/e")
      try disk.rename("/d/e", to: "/e")
      try disk.removeTree("/a")
      #expect(disk.paths() == [])
    }
  }

  @Test func `a file that is removed while it is open keeps its directory until it is closed`()
    throws
  {
    disk.keepOpenFiles()
    let lock = try disk.lock("/a/b/LOCK")
    let file = try disk.open("/a/b/file", .read)
    #expect(
      reason { () throws(DiskError) in try disk.removeTree("/a") } == .io(errno: notEmpty))
    #expect(disk.paths().count == 2)
    #expect(disk.paths().allSatisfy { $0.hasPrefix("/a/b/.fuse_hidden000") })
    try disk.rename("/a", to: "/c")
    #expect(try file.read(at: 0, count: 9) == [1])
    file.close()
    #expect(disk.paths().count == 1)
    lock.unlock()
    #expect(disk.paths() == [] && disk.openFiles == 0)
    try disk.removeTree("/c")
    #expect(try disk.list("/").isEmpty)
  }

  private var notEmpty: Int32 {
    #if canImport(Darwin)
      66
    #else
      39
    #endif
  }
}
