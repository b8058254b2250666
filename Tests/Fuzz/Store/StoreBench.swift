import CairnBytes
import CairnDisk
import CairnFuzzBytes
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// A store on a disk in memory, made of files that somebody else wrote.
struct StoreBench {
  static let directory = "/store"
  static let datastore: UInt128 = 0xCA17
  static let device: UInt64 = 1

  let disk: MemoryDisk
  let clock = ManualClock()
  let random: SeededRandom

  init(seed: UInt64 = 1) {
    disk = MemoryDisk(clock: clock)
    random = SeededRandom(seed)
  }

  init(_ disk: MemoryDisk, seed: UInt64 = 2) {
    self.disk = disk
    random = SeededRandom(seed)
  }

  var machine: Machine { Machine(disk: disk, clock: clock, random: random) }

  static let options = {
    var options = StoreOptions()
    options.compactsAutomatically = false
    options.durability = .none
    return options
  }()

  func put(segment: [UInt8]) throws {
    try putCurrent(snapshot: 0)
    try disk.setBytes(Self.directory + "/log/" + FileName.segment(1), segment)
  }

  func put(snapshot: [UInt8], datastore: UInt128) throws {
    try putCurrent(snapshot: 1, datastore: datastore)
    try disk.setBytes(Self.directory + "/snap/" + FileName.snapshot(1), snapshot)
  }

  private func putCurrent(snapshot: UInt64, datastore: UInt128 = Self.datastore) throws {
    let current = CurrentFile(
      flags: CurrentFile.flagLinked, datastore: datastore, device: Self.device, snapshot: snapshot,
      firstSegment: 1, firstKept: 1)
    try disk.setBytes(Self.directory + "/" + FileName.current, current.encoded())
  }

  func open(
    datastore: UInt128 = Self.datastore, options: StoreOptions = Self.options
  ) throws(StoreError) -> Store {
    try Store.open(
      Self.directory, datastore: datastore, isLinked: true, options: options, machine: machine)
  }

  /// Opens it if it can be opened, reads everything, and lives on: a commit, a compaction, and the
  /// same content after each. Typed errors are fine at any point.
  func live(datastore: UInt128 = Self.datastore, compacts: Bool) throws {
    guard let store = try? open(datastore: datastore) else {
      try FuzzFinding.check(
        disk.openFiles == 0 && disk.heldLocks == 0, "a failed open leaves files open")
      return
    }
    guard let before = try? store.everything() else {
      try? store.close()
      return
    }
    do throws(StoreError) {
      try store.insert(table: "fuzz", id: .packed(7, 7), [("n", .int(1))])
      try store.sync()
      try store.delete(table: "fuzz", id: .packed(7, 7))
      try store.sync()
      if compacts { _ = try store.compact() }
      try same(store, before, "a commit and a compaction")
      try store.close()
      let again = try open(datastore: datastore)
      try same(again, before, "opening again")
      try again.close()
    } catch {
      try? store.close()
      if error.kind == .illegalArgument { throw FuzzFinding(error.message) }
    }
  }

  private func same(_ store: Store, _ before: [String], _ what: String) throws(StoreError) {
    let after = try store.everything()
    guard after != before else { return }
    let changed = Set(after).symmetricDifference(before).sorted().prefix(4)
    throw StoreError(.illegalArgument, "\(what) changed what is read: \(changed)")
  }
}
