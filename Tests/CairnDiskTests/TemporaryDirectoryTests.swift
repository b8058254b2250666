import CairnDisk
import TestSupport
import Testing

struct TemporaryDirectoryTests {
  @Test func `it is empty, its own, and goes with its last reference`() throws {
    let disk = PosixDisk()
    var first: TemporaryDirectory? = try TemporaryDirectory()
    let second = try TemporaryDirectory()
    let path = try #require(first?.path)
    #expect(path != second.path)
    #expect(try disk.list(path).isEmpty)
    try disk.createDirectory(path + "/a/b")
    try disk.put(path + "/a/b/c", "abc")
    first = nil
    #expect(try disk.info(path) == nil)
    #expect(try disk.info(second.path)?.kind == .directory)
  }
}
