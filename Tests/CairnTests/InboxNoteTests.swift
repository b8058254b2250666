import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Synchronization
import Testing

@testable import Cairn

/// What is known of files that wait, and of snapshots that were held back, goes with them.
@Suite struct InboxNoteTests {
  private let disk = MemoryDisk()
  private var machine: Machine {
    Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1))
  }

  private func inbox() throws -> Inbox { try Inbox(directory: "/i", machine: machine) }

  private func item(_ sequence: UInt64) -> Inbox.Item {
    let name: String = FileName.published(
      FileName.Published(device: 7, first: sequence, last: sequence, hash: 3))
    return Inbox.Item(
      name: name, device: DeviceID(rawValue: 7), first: sequence, last: sequence)
  }

  private var cut: Cut {
    Cut(
      dot: Dot(device: DeviceID(rawValue: 9), sequence: 1), context: VersionVector(), members: [],
      line: [])
  }

  @Test func `what was found out of a file is forgotten with it, and of no other one`() throws {
    var inbox = try inbox()
    let items = [item(1), item(2)]
    for item in items {
      try inbox.add(item, [1])
      inbox.note(item.name, beside: cut, refusal: "it can't be what it says")
    }
    inbox.remove(items[0])
    #expect(inbox.items == [items[1]])
    #expect(Array(inbox.refused.keys) == [items[1].name])
    #expect(Array(inbox.besideCuts.keys) == [items[1].name])
    // Here anew, nothing is known of it.
    try inbox.add(items[0], [1])
    #expect(inbox.refused[items[0].name] == nil && inbox.besideCuts[items[0].name] == nil)
  }

  @Test func `of a file that is not here nothing is noted`() throws {
    var inbox = try inbox()
    inbox.note(item(1).name, beside: cut, refusal: "no")
    #expect(inbox.refused.isEmpty && inbox.besideCuts.isEmpty)
  }

  /// Otherwise the next process would fetch all deltas instead of a snapshot that nothing is said
  /// against any more.
  @Test func `with a held snapshot goes what keeps it from being fetched, at home, too`() throws {
    var inbox = try inbox()
    inbox.holdBack(5)
    inbox.heldSnapshot = Inbox.HeldSnapshot(
      snapshot: Inbox.Snapshot(path: "/s", vector: VersionVector(), content: 5),
      massDelete: MassDelete(devices: [], records: 9, recordsHere: 10))
    #expect(try self.inbox().heldBefore == [5])
    inbox.forgetHeldSnapshot()
    #expect(inbox.heldSnapshot == nil && inbox.heldContents.isEmpty)
    #expect(try self.inbox().heldBefore.isEmpty)
    #expect(disk.paths().isEmpty, "nothing is left of it")
  }

  /// What an earlier process has held is known by its contents only.
  @Test func `what an earlier process has held goes likewise`() throws {
    var first = try inbox()
    first.holdBack(5)
    var next = try inbox()
    #expect(next.heldContents.isEmpty && next.heldBefore == [5])
    next.holdBack(6)
    next.forgetHeldSnapshot()
    #expect(next.heldBefore.isEmpty && next.heldContents.isEmpty)
    #expect(try inbox().heldBefore.isEmpty)
  }

  private func mayHaveCuts(_ device: Datastore) throws -> [Bool] {
    try #require(device.exchanger).inbox.withLock { $0.items.map(\.mayHaveCuts) }
  }

  /// A sync reads them twice only where a cut may be among them.
  @Test func `of a file without cuts that is known until the datastore is opened again`()
    async throws
  {
    let bench = IdentityBench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.add("r")
    try await a.exchange()
    try await b.exchange()
    #expect(try mayHaveCuts(b) == [false])
    try a.askToForget()
    try a.sync()
    try await a.exchange()
    try await b.exchange()
    #expect(try mayHaveCuts(b) == [false, true])
    try b.close()
    let again = try bench.open("b")
    #expect(try mayHaveCuts(again) == [true, true])
    try again.sync()
    #expect(try mayHaveCuts(again) == [] && again.ids() == ["r"])
    #expect(again.store.cuts.cuts.map(\.isSealed) == [true])
  }
}
