import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn
@testable import CairnStore

/// Devices with a disk each around one folder, which can be cloned and restored at any moment.
final class IdentityBench {
  let clock = ManualClock()
  private(set) var folder: MemoryDisk
  /// Another view of the folder, for devices that a sync engine has not brought together yet.
  private(set) var views: [String: MemoryDisk] = [:]
  private(set) var disks: [String: MemoryDisk] = [:]
  private var randoms: [String: SeededRandom] = [:]
  /// What stands between a device and its folder.
  var scripts: [String: ScriptedFolder.Script] = [:]
  var options = Options()
  private var seed: UInt64

  init(seed: UInt64 = 1) {
    self.seed = seed &* 1000
    folder = MemoryDisk(clock: clock)
    options.compactsAutomatically = false
    options.graceSeconds = 0
  }

  /// A device's files, made when they are first asked for.
  func disk(_ name: String) -> MemoryDisk {
    if let disk = disks[name] { return disk }
    let disk = MemoryDisk(clock: clock)
    disks[name] = disk
    return disk
  }

  func use(_ disk: MemoryDisk, for name: String) { disks[name] = disk }

  func random(_ name: String) -> SeededRandom {
    if let random = randoms[name] { return random }
    seed += 1
    randoms[name] = SeededRandom(seed)
    return randoms[name] ?? SeededRandom(0)
  }

  func use(_ random: SeededRandom, for name: String) { randoms[name] = random }

  func useFolder(_ disk: MemoryDisk) { folder = disk }

  func clear(_ disk: MemoryDisk) {
    for path in disk.paths() { do { try disk.remove(path) } catch {} }
  }

  func view(_ name: String, of device: String) { views[device] = disk("folder " + name) }
  func folder(of device: String) -> MemoryDisk { views[device] ?? folder }

  func open(_ name: String) throws -> Datastore {
    let machine = Machine(disk: disk(name), clock: clock, random: random(name))
    let place = Machine(disk: folder(of: name), clock: clock, random: SeededRandom(seed))
    let script = scripts[name]
    return try DatastoreManager(
      root: "/root", account: Account(user: "ann", folder: .directory("/folder")),
      folder: {
        let plain = DirectoryFolder("/folder", machine: place)
        return script.map { ScriptedFolder(base: plain, script: $0) } ?? plain
      }, options: options, machine: machine
    ).openOrCreateDatastore("notes")
  }

  /// A copy of a device as it is now, which goes on by itself.
  func clone(_ name: String, as other: String) { disks[other] = disk(name).snapshot() }

  // MARK: meeting

  /// Why the last round of `settle` was not quiet.
  private(set) var unrest: [String] = []

  /// Until nothing happens any more. Returns whether that ever was.
  ///
  /// Twice: a round that brings nothing may have told others what somebody has applied.
  @discardableResult
  func settle(_ devices: [Datastore]) async throws -> Bool {
    var quietRounds = 0
    for _ in 0..<24 {
      unrest = []
      for device in devices {
        clock.advance(by: 7)
        try device.sync()
        let report = try await device.exchange()
        let result = try device.sync()
        // What was committed just now, a seal for example, nobody else has.
        if !report.isIdle || report.isRejoining || result.incorporated > 0 || result.committed {
          unrest.append(
            "\(device.device): rejoins \(report.isRejoining), applied \(result.incorporated), "
              + "committed \(result.committed), published \(report.publishedFiles), waiting "
              + "\(report.waiting.map(\.reason)), problems \(report.problems.map(\.reason))")
        }
      }
      quietRounds = unrest.isEmpty ? quietRounds + 1 : 0
      if quietRounds == 2 { return true }
    }
    return false
  }

  /// All have the same, down to the bytes of a snapshot.
  func expectEqual(_ devices: [Datastore], _ comment: Comment? = nil) throws {
    let first = try #require(devices.first)
    let expected = try content(first)
    for device in devices.dropFirst() {
      #expect(try content(device) == expected, comment)
      #expect(device.store.vector == first.store.vector, comment)
      #expect(device.size == first.size && device.recordCount == first.recordCount, comment)
    }
    var snapshots: [[UInt8]?] = []
    for device in devices {
      try device.compact()
      let path = try #require(device.store.snapshotFile()?.path)
      snapshots.append(disks.values.lazy.compactMap { disk in
        self.isHome(disk, of: device) ? disk.bytes(path) : nil
      }.first)
    }
    #expect(snapshots.allSatisfy { $0 != nil && $0 == snapshots[0] }, comment)
  }

  private func isHome(_ disk: MemoryDisk, of device: Datastore) -> Bool {
    (device.store.machine.disk as? MemoryDisk) === disk
  }

  /// What a sync engine makes of two views of a folder that were changed apart: all files that are
  /// in one of them, and of those that are in both and differ, the winner's.
  func merge(_ views: [String], winner: String) throws {
    var files: [String: [UInt8]] = [:]
    for view in views.filter({ $0 != winner }) + [winner] {
      let disk = disk("folder " + view)
      for path in disk.paths() { files[path] = disk.bytes(path) }
    }
    for (path, bytes) in files where folder.bytes(path) != bytes {
      try folder.setBytes(path, bytes)
    }
    self.views = [:]
  }
}

/// What somebody does with a copy of a device, and what has to be there in the end because of it.
final class IdentityLife {
  struct Deeds: Equatable {
    var records: Set<String> = []
    var items: Set<String> = []
    var sum: Int64 = 0
  }

  let bench: IdentityBench
  let name: String
  var device: Datastore
  private let random: SeededRandom
  private var count = 0
  private(set) var acknowledged = Deeds()
  private var pending = Deeds()

  init(
    _ bench: IdentityBench, _ name: String, seed: UInt64, like other: IdentityLife? = nil
  ) throws {
    self.bench = bench
    self.name = name
    random = SeededRandom(seed)
    device = try bench.open(name)
    if let other { (acknowledged, pending) = (other.acknowledged, other.acknowledged) }
  }

  /// It is a copy of when this was all that had been done.
  func restart(from deeds: Deeds) { (acknowledged, pending) = (deeds, deeds) }

  /// The records that all use.
  func begin() async throws {
    let table = try device.table("t")
    try table.setRule(.sum, field: "n")
    try table.insert(["n": 0, "f": "first"], id: "shared")
    try table.insert(["l": .list(["begin"])], id: "listed")
    try commit()
    try await device.exchange()
  }

  func commit() throws {
    bench.clock.advance(by: 3)
    try device.sync()
    acknowledged = pending
  }

  func reopen() throws {
    try device.close()
    device = try bench.open(name)
    pending = acknowledged
  }

  /// Numbers, items and records that only this life makes; fields and deletes that others make too.
  func step() async throws {
    count += 1
    let label = "\(name)\(count)"
    let table = try device.table("t")
    switch random.below(13) {
    case 0, 1:
      try table.insert(["by": .string(name), "number": .int(Int64(count))], id: RecordID(label))
      pending.records.insert(label)
    case 2, 3:
      let amount = Int64(random.below(50)) - 10
      let record = try #require(try table.record("shared"))
      try record.set("n", .int((try record.int("n") ?? 0) + amount))
      pending.sum += amount
    case 4, 5:
      let list = try #require(try table.record("listed")).list("l")
      let index = random.below(try list.values.count + 1)
      try list.insert(.string(label), at: index)
      pending.items.insert(label)
    case 6: try table.record("shared")?.set("f", .string(label))
    case 7:
      let list = try #require(try table.record("listed")).list("l")
      let count = try list.values.count
      try list.move(from: random.below(count), to: random.below(count))
    case 8:
      if let record = try table.record("victim") {
        try record.delete()
      } else {
        try table.insert(["v": .string(label)], id: "victim")
      }
    case 9: try table.record("victim")?.set("v", .string(label))
    case 10: try commit()
    case 11:
      try commit()
      try await device.exchange()
    default: if random.coin() { try device.compact() } else { try reopen() }
    }
  }

  /// What there has to be when these and all others have met.
  static func expect(
    _ lives: [(life: IdentityLife, since: Deeds)], common: Deeds, in device: Datastore,
    _ comment: Comment
  ) throws {
    var records = common.records
    var items = common.items
    var sum = common.sum
    for (life, since) in lives {
      records.formUnion(life.acknowledged.records)
      items.formUnion(life.acknowledged.items)
      sum += life.acknowledged.sum - since.sum
    }
    let table = try device.table("t")
    let ids = Set(try table.query().map(\.id.description))
    #expect(ids.subtracting(["shared", "listed", "victim"]) == records, comment)
    #expect(try table.record("shared")?.int("n") == sum, comment)
    let values = try #require(try table.record("listed")).list("l").values
    #expect(Set(values) == Set(items.map { Value.string($0) } + ["begin"]), comment)
    #expect(values.count == items.count + 1, "no item is there twice")
  }
}
