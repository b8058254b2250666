import CairnDisk
import TestSupport
import Testing

/// Bytes of a file that were taken over, and who closes it.
struct FileBytesOwnerTests {
  /// - Parameter budget: With none there is no room beside the file.
  @Test(arguments: [0, 1 << 20])
  func `a file that was taken over is closed with its bytes, also if somebody has it still`(
    budget: Int
  ) throws {
    let disk = MemoryDisk()
    let file = try disk.open("/f", .create)
    try file.put("text")
    do {
      let bytes = try FileBytes(file, budget: budget)
      #expect(try bytes.copy(0, 4) == Array("text".utf8))
      #expect(disk.openFiles == 1)
      withExtendedLifetime(bytes) {}
    }
    #expect(disk.openFiles == 0)
    #expect(throws: DiskError.self) { try file.read(at: 0, count: 1) }
  }
}
