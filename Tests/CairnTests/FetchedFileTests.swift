import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// Files that were fetched, and those that were put aside: each on a disk in memory.
@Suite struct FetchedFileTests {
  private let clock = ManualClock()
  private let disk: MemoryDisk

  init() { disk = MemoryDisk(clock: clock) }

  private var machine: Machine { Machine(disk: disk, clock: clock, random: SeededRandom(1)) }
  private var quarantine: Quarantine { Quarantine(directory: "/q", machine: machine) }

  private func aside(_ suffix: String) -> [String] {
    disk.paths().filter { $0.hasPrefix("/q/") && $0.hasSuffix(suffix) }
  }

  // MARK: the inbox

  /// A sync could not use it; what kept it back may have been its bytes.
  @Test func `a file that comes anew is tried again, however often it was left before`() throws {
    var inbox = try Inbox(directory: "/i", machine: machine)
    let name: String = FileName.published(
      FileName.Published(device: 7, first: 1, last: 2, hash: 3))
    let item = Inbox.Item(name: name, device: DeviceID(rawValue: 7), first: 1, last: 2)
    try inbox.add(item, [1, 2, 3])
    #expect(inbox.hasNews)
    inbox.blocked = [name]
    #expect(!inbox.hasNews)
    try inbox.add(item, [4, 5])
    #expect(inbox.hasNews && inbox.items == [item])
    #expect(disk.bytes("/i/" + name) == [4, 5])
    // The next process finds it, and leaves nothing of what was half written.
    let half = "/i/" + FileName.temporary(1)
    try disk.setBytes(half, [9])
    let next = try Inbox(directory: "/i", machine: machine)
    #expect(next.items == [item] && next.hasNews && disk.bytes(half) == nil)
    inbox.remove(item)
    #expect(inbox.isEmpty && disk.bytes("/i/" + name) == nil)
  }

  // MARK: the quarantine

  @Test(arguments: [DiskError.Reason.noSpace, .denied, .io(errno: 5)])
  func `what can't be put aside is removed, so that nobody takes it for good again`(
    reason: DiskError.Reason
  ) throws {
    try disk.setBytes("/blob", [4, 5])
    disk.intercept { $0.verb == "rename" ? reason : nil }
    quarantine.take("/blob", "0.own", reason: "bad")
    disk.intercept(nil)
    #expect(disk.bytes("/blob") == nil && aside(".bad") == [])
    try disk.setBytes("/blob", [4, 5])
    quarantine.take("/blob", "0.own", reason: "bad")
    #expect(disk.bytes("/blob") == nil)
    let kept = try #require(aside(".bad").first)
    #expect(disk.bytes(kept) == [4, 5])
    #expect(Quarantine.reason(kept, disk: disk) == "0.own: bad")
  }

  /// Who follows fewer tables from now on has nothing of the others here, whatever it lies in.
  @Test func `of what must not be kept only the reasons stay`() throws {
    quarantine.keep("1.seg", [1], reason: "bad")
    quarantine.keepOwn("2.seg", [2], reason: "own")
    quarantine.note("3.seg", [3], reason: "noted")
    try disk.setBytes("/q/0000000000000001-64.torn", [7])
    try disk.setBytes("/q/deep/file", [8])
    #expect(aside("").count == 7)
    try quarantine.keepReasonsOnly()
    #expect(aside("").count == 3 && aside(".reason").count == 3)
  }
}
