import CairnDisk
import CairnLog
import TestSupport
import Testing

/// What crashes leave half written.
struct TemporaryFileTests {
  @Test func `a sweep takes temporary files and nothing else`() throws {
    let disk = MemoryDisk()
    let temporary = FileName.temporary(7)
    try disk.createDirectory("/d")
    try disk.createDirectory("/d/" + FileName.temporary(8))
    for name in [temporary, "0000000000000001.snap", "tmp", "a.tmp.log"] {
      try disk.open("/d/" + name, .create).close()
    }
    disk.sweepTemporaries("/d")
    let left = try disk.list("/d").map(\.name).sorted()
    #expect(
      left == ["0000000000000001.snap", FileName.temporary(8), "a.tmp.log", "tmp"].sorted())
    // Where there is no such directory there is nothing to be done, and none is made.
    disk.sweepTemporaries("/nowhere")
    #expect(try disk.info("/nowhere") == nil)
  }
}
