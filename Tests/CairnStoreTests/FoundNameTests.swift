import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A store may find files and directories whose names no sync has covered: another process has put
/// them there, and was killed. What it commits on top of that is there after a power cut.
struct FoundNameTests {
  private static let elsewhere = "/elsewhere"

  /// A device with nothing in it, whose directory a power cut would bring back under another name.
  private func moved() throws -> StoreDevice {
    let device = try StoreDevice(1)
    let disk = device.disk
    try device.store.close()
    try disk.rename(StoreDevice.directory, to: Self.elsewhere)
    try disk.syncDirectory("/")
    try disk.rename(Self.elsewhere, to: StoreDevice.directory)
    let lost = disk.crash(keep: .nothingUnsynced)
    #expect(try lost.info(StoreDevice.directory) == nil && lost.info(Self.elsewhere) != nil)
    try device.open()
    return device
  }

  private func check(_ device: StoreDevice) throws {
    let (content, name) = (try StoreContent(device.store), device.id)
    #expect(content.recordCount == 1)
    try device.crash(.nothingUnsynced)
    #expect(try device.disk.info(Self.elsewhere) == nil)
    #expect(try StoreContent(device.store).differences(from: content) == [])
    #expect(device.id == name && device.store.recovery.isEmpty)
  }

  @Test func `the first commit makes the name of the store's directory durable`() throws {
    let device = try moved()
    try device.store.insert("r", ["n": 1])
    try device.store.sync()
    try check(device)
  }

  @Test func `so does a snapshot that is adopted`() throws {
    let other = try StoreDevice(2)
    try other.store.insert("theirs", ["n": 2])
    try other.store.sync()
    _ = try other.store.compact()
    let device = try moved()
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, try #require(other.snapshotBytes()))
    try device.store.adopt(snapshot: path)
    try check(device)
  }

  /// As a copy of it that somebody has put back.
  @Test(arguments: [false, true])
  func `a commit makes the name of the segment durable that it goes on in`(
    isFlushed: Bool
  ) throws {
    let device = try StoreDevice(1)
    try device.store.insert("first", ["n": 1])
    try device.store.sync()
    try device.store.close()
    let (disk, log) = (device.disk, StoreDevice.directory + "/log")
    let segment = log + "/" + FileName.segment(1)
    let bytes = try #require(disk.bytes(segment))
    try disk.remove(segment)
    try disk.syncDirectory(log)
    let file = try disk.open(segment, .create)
    try file.write(bytes.span, at: 0)
    file.close()
    try device.open()
    // Nothing vouches for what is there: a single frame says nothing of itself.
    #expect(try device.store.get("first") == ["n": 1])
    #expect(!disk.isDurable(segment))
    if isFlushed {
      try device.store.flush()
    } else {
      try device.store.insert("second", ["n": 2])
      try device.store.sync()
    }
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("first") == ["n": 1])
    let second: [String: FieldValue]? = isFlushed ? nil : ["n": 2]
    #expect(try device.store.get("second") == second)
    #expect(device.store.recovery.isEmpty)
  }
}
