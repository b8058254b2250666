import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// Whoever brings much in little time waits for the compaction that folds it: otherwise what comes
/// meanwhile would be in memory twice. Nobody who sits in front of it waits.
@Suite(.timeLimit(.minutes(20)))
struct LoadingWaitTests {
  private func device(overlayBytes: Int = 1000) throws -> StoreDevice {
    try StoreDevice(1) {
      $0.compactsAutomatically = true
      $0.compactFrom = 1000
      $0.overlayBytes = overlayBytes
    }
  }

  private func write(_ store: Store) throws {
    try store.insert("much", ["s": .string(SeededRandom(1).text(20_000))])
  }

  /// Whether the commit that makes a compaction due comes back before that has ended. It is held up
  /// until then, so long at most.
  private func isEarly(_ device: StoreDevice, patience: Duration) throws -> Bool {
    let (isBack, wasEarly) = (Flag(), Flag())
    device.disk.intercept { operation in
      guard operation.verb == "rename", operation.path.hasPrefix(StoreDevice.directory + "/snap/")
      else { return nil }
      let end = ContinuousClock.now + patience
      while !isBack.isUp, ContinuousClock.now < end {}
      if isBack.isUp { wasEarly.raise() }
      return nil
    }
    try device.store.sync()
    isBack.raise()
    device.store.waitForCompaction()
    device.disk.intercept(nil)
    // It was made.
    try #require(device.store.snapshotFile() != nil && device.store.replayBytes == 0)
    return wasEarly.isUp
  }

  private static let moment = Duration.milliseconds(30)
  /// For who comes back at once.
  private static let long = Duration.seconds(20)

  @Test(arguments: [0, 29_999] as [Int64])
  func `who brings much within half a minute waits`(milliseconds: Int64) throws {
    let device = try device()
    device.clock.advance(by: milliseconds)
    try write(device.store)
    #expect(try !isEarly(device, patience: Self.moment))
  }

  @Test func `the time begins anew with each snapshot`() throws {
    let device = try device()
    try device.store.insert("r", ["n": 1])
    try device.store.sync()
    device.clock.advance(by: 60_000)
    _ = try device.store.compact()
    device.clock.advance(by: 29_999)
    try write(device.store)
    #expect(try !isEarly(device, patience: Self.moment))
  }

  /// Of a clock that has jumped back nobody knows how long it was.
  @Test(arguments: [30_000, -1] as [Int64])
  func `who takes longer does not wait, nor does one whose clock was set back`(
    milliseconds: Int64
  ) throws {
    let device = try device()
    device.clock.advance(by: milliseconds)
    try write(device.store)
    #expect(try isEarly(device, patience: Self.long))
  }

  @Test func `nor does one who has little in memory`() throws {
    let device = try device(overlayBytes: 1 << 20)
    try write(device.store)
    #expect(try isEarly(device, patience: Self.long))
  }

  /// An app that was killed has loaded nothing when it is started again.
  @Test func `nor for what was there when the store was opened`() throws {
    let device = try device()
    device.options.compactsAutomatically = false
    try device.reopen()
    try write(device.store)
    try device.store.sync()
    device.options.compactsAutomatically = true
    try device.reopen()
    try #require(device.store.replayBytes > 1000 && device.store.snapshotFile() == nil)
    try device.store.insert("r", ["n": 1])
    #expect(try isEarly(device, patience: Self.long))
  }
}
