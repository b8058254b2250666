import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// A log that has lost its end, and what is on the disk before there is any new commit.
@Suite struct DisownedLogTests {
  /// What was known of the deltas that are gone must never count for those that get their numbers:
  /// a crash between the two leaves PUBLISHED as it was, and the next opening does both again.
  @Test func `what is known of them is forgotten first, and all of it durably`() async throws {
    let bench = IdentityBench()
    bench.options.tuning.segmentBytes = 300
    let a = try bench.open("a")
    for index in 0..<6 { try a.add("a\(index)") }
    try await a.exchange()
    try a.close()
    let disk = bench.disk("a")
    let log = disk.paths().filter { $0.contains("/log/") }
    try #require(log.count > 1)
    try disk.remove(log[log.count - 1])
    let replaced = Told<String>()
    disk.intercept { operation in
      if operation.verb == "rename", let target = operation.target { replaced.add(target) }
      return nil
    }
    let again = try bench.open("a")
    disk.intercept(nil)
    let home = "/root/p-notes/"
    let (chains, published) = (home + FileName.chains, home + FileName.publication)
    #expect(replaced.all.filter { $0 == chains || $0 == published } == [chains, published])
    let left = disk.crash(keep: .nothingUnsynced)
    let (device, last) = (again.store.device, again.store.vector[again.store.device])
    #expect(last > 0 && last < 6)
    let histories = try Histories(try #require(left.bytes(chains)), path: chains)
    #expect(histories.last(device, after: 0, through: last)?.sequence == last)
    #expect(histories.last(device, after: last, through: .max) == nil)
    let publication = try PublicationFile(try #require(left.bytes(published)), path: published)
    #expect(publication.confirmedNonce == 0 && publication.pendingNonce == 0)
    #expect(publication.folder != 0, "it is still tied to its folder")
  }

  // MARK: what is known of histories

  /// And of the older ones every 256th: 256 and 512, later 768, too.
  @Test func `of a long history the last 256 deltas are known, and what replaces some of them`()
    throws
  {
    let device = DeviceID(rawValue: 7)
    var histories = Histories()
    histories.note(device, first: 1, (1...1000).map { UInt128($0) })
    #expect(histories.marks[device]?.count == 258)
    #expect(histories.chain(device, at: 745) == 745 && histories.chain(device, at: 744) == nil)
    for number in 1001...1100 as ClosedRange<UInt64> {
      histories.note(device, first: number, [UInt128(number)])
    }
    #expect(histories.marks[device]?.count == 259)
    #expect(histories.chain(device, at: 845) == 845 && histories.chain(device, at: 844) == nil)
    // Another history goes on from delta 1049.
    histories.note(device, first: 1050, [5, 6])
    #expect(histories.chain(device, at: 1049) == 1049 && histories.chain(device, at: 1050) == 5)
    #expect(histories.chain(device, at: 1051) == 6 && histories.chain(device, at: 1052) == nil)
    #expect(try Histories(histories.encoded(), path: "CHAINS") == histories)
    histories.cut(device, after: 1050)
    #expect(histories.chain(device, at: 1050) == 5 && histories.chain(device, at: 1051) == nil)
    #expect(histories.chain(device, at: 0) == 0, "before the first delta")
  }
}
