import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

/// Devices of one datastore that hand each other packs and words, as a folder would.
final class FenceGroup {
  var devices: [StoreDevice] = []
  /// What each device has published: everything up to some delta, and what it had applied then.
  private var packs: [[UInt8]] = []
  private var words: [VersionVector] = []

  init(_ count: Int, seed: UInt64 = 1, isAutomatic: Bool = true) throws {
    for number in 0..<count { try add(seed &* 100 + UInt64(number), isAutomatic: isAutomatic) }
  }

  @discardableResult
  func add(_ seed: UInt64, isAutomatic: Bool = true) throws -> Int {
    devices.append(
      try StoreDevice(seed) {
        $0.cutFrom = 1
        $0.cutsAutomatically = isAutomatic
      })
    packs.append([])
    words.append(VersionVector())
    return devices.count - 1
  }

  subscript(number: Int) -> Store { devices[number].store }

  func publish(_ number: Int) throws {
    packs[number] = try self[number].pack()
    words[number] = self[number].vector
  }

  /// What `reader` makes of what `others` have published.
  @discardableResult
  func read(_ reader: Int, from others: [Int]) throws -> SyncOutcome {
    let from = others.filter { $0 != reader && !words[$0].isEmpty }
    var known: CutBook.Words = [:]
    for other in from { known[devices[other].id] = words[other] }
    self[reader].learn(known)
    return try self[reader].sync(packs: from.map { packs[$0] }.filter { !$0.isEmpty })
  }

  /// Everybody commits, publishes and reads, until nothing moves any more.
  func settle(_ numbers: [Int]? = nil) throws {
    let numbers = numbers ?? Array(devices.indices)
    for _ in 0..<12 {
      let before = numbers.map { self[$0].vector }
      for number in numbers {
        try self[number].sync()
        try publish(number)
        try read(number, from: numbers)
        try publish(number)
      }
      if numbers.map({ self[$0].vector }) == before { return }
    }
  }

  /// The table's rows, and whether they remember anything but values.
  func rows(_ number: Int, table: String = "t") throws -> (count: Int, areSettled: Bool) {
    _ = try self[number].compact()
    return try self[number].state.withLock { guarded in
      guard var base = guarded.store.ground.base,
        let found = base.description.tables.first(where: { $0.name == table })
      else { return (0, true) }
      var areSettled = true
      for blockNumber in found.firstBlock..<(found.firstBlock + found.blockCount) {
        let block = try base.readUnkept(blockNumber)
        for row in 0..<block.rowCount {
          if block.complexState(row) != nil || !block.presence(row).isSettled {
            areSettled = false
          }
          for column in block.columns
          where !column.cell(row, block.bytes).isNone && !block.stamp(row, column).isSettled {
            areSettled = false
          }
        }
      }
      return (found.rowCount, areSettled)
    }
  }

  /// Folds, and says how many bytes the snapshot's blocks have unpacked: rows, with all that is
  /// remembered of them. Pages are of a fixed size, at least two of 4 KiB; they are not counted.
  func contentBytes(_ number: Int) throws -> Int {
    let bytes = try snapshot(number)
    let header = try SnapshotHeader(bytes, fileLength: UInt64(bytes.count), path: "snapshot")
    var (offset, total) = (SnapshotHeader.size, 0)
    for _ in 0..<header.blockCount {
      total += Int(bytes.u32(at: offset))
      offset += SnapshotHeader.blockHeaderSize + Int(bytes.u32(at: offset + 4))
    }
    #expect(UInt64(offset) == header.directoryOffset)
    return total
  }

  /// Folds, and gives the snapshot's bytes.
  func snapshot(_ number: Int) throws -> [UInt8] {
    _ = try self[number].compact()
    return try #require(devices[number].snapshotBytes())
  }
}
