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

  @Test func `one that can't be removed keeps no other`() throws {
    let disk = MemoryDisk()
    let names = (1...3).map { FileName.temporary($0) }.sorted()
    for name in names { try disk.setBytes("/d/" + name, [1]) }
    disk.intercept { $0.verb == "remove" && $0.path == "/d/" + names[0] ? .denied : nil }
    disk.sweepTemporaries("/d")
    #expect(disk.paths() == ["/d/" + names[0]])
  }
}
