import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// A device with a disk, a clock and a store of its own.
final class StoreDevice {
  private(set) var disk: MemoryDisk
  let clock: ManualClock
  let random: SeededRandom
  let isLinked: Bool
  var options = StoreOptions()
  private(set) var store: Store

  static let directory = "/store"
  static let datastore: UInt128 = 0xCA17

  init(
    _ seed: UInt64, isLinked: Bool = true, time: Int64 = 1_700_000_000_000,
    configure: (inout StoreOptions) -> Void = { _ in }
  ) throws {
    clock = ManualClock(time)
    disk = MemoryDisk(clock: clock)
    random = SeededRandom(seed)
    self.isLinked = isLinked
    options.compactsAutomatically = false
    configure(&options)
    store = try StoreDevice.open(disk, clock, random, isLinked, options)
  }

  static func open(
    _ disk: MemoryDisk, _ clock: ManualClock, _ random: SeededRandom, _ isLinked: Bool,
    _ options: StoreOptions
  ) throws -> Store {
    try Store.open(
      directory, datastore: datastore, isLinked: isLinked, options: options,
      machine: Machine(disk: disk, clock: clock, random: random))
  }

  var id: DeviceID { store.device }
  var machine: Machine { Machine(disk: disk, clock: clock, random: random) }

  func open() throws { store = try StoreDevice.open(disk, clock, random, isLinked, options) }

  func reopen() throws {
    try store.close()
    try open()
  }

  /// The power goes, and what the model leaves is opened again.
  func crash(_ model: CrashModel) throws {
    disk = disk.crash(keep: model)
    try open()
  }

  /// The process is no more, and the next one will find this.
  func leave(_ disk: MemoryDisk) {
    try? store.close()
    self.disk = disk
  }

  /// The bytes of the snapshot that the store stands on.
  func snapshotBytes() -> [UInt8]? {
    store.snapshotFile().flatMap { disk.bytes($0.path) }
  }
}

/// What a store shows of all its records.
struct StoreContent: Equatable {
  /// By table, record and field. A record without fields has an empty dictionary.
  var tables: [String: [String: [String: FieldValue]]] = [:]

  init() {}

  init(_ store: Store) throws {
    for (table, _) in try store.tables() {
      for id in try store.query(table: table, []) { try add(store, table, id) }
    }
    for table in [":rules", ":info"] {
      for id in try store.query(table: table, []) { try add(store, table, id) }
    }
  }

  private mutating func add(_ store: Store, _ table: String, _ id: RecordName) throws {
    var fields: [String: FieldValue] = [:]
    for (field, value) in try store.fields(table: table, id: id) ?? [] { fields[field] = value }
    tables[table, default: [:]][id.text] = fields
  }

  /// Where two contents differ, in words.
  func differences(from other: StoreContent) -> [String] {
    let (mine, theirs) = (lines, other.lines)
    return mine.subtracting(theirs).map { "+ " + $0 }.sorted()
      + theirs.subtracting(mine).map { "- " + $0 }.sorted()
  }

  private var lines: Set<String> {
    var lines: Set<String> = []
    for (table, records) in tables {
      for (id, fields) in records {
        lines.insert("\(table)/\(id)")
        for (field, value) in fields { lines.insert("\(table)/\(id).\(field) = \(value)") }
      }
    }
    return lines
  }

  /// Rules cost nothing.
  var counted: [String: [String: [String: FieldValue]]] { tables.filter { $0.key != ":rules" } }

  var recordCount: Int { counted.values.reduce(0) { $0 + $1.count } }

  var size: Int {
    counted.values.flatMap(\.values).reduce(1000) { $0 + StoreContent.size($1) }
  }

  static func size(_ fields: [String: FieldValue]) -> Int {
    fields.values.reduce(100) { $0 + 100 + $1.size }
  }
}

extension StoreDevice {
  /// What this device can become that has published a first pack, and whose name others have gone
  /// on without: all that these packs have.
  func rejoining(
    published: [UInt8], others: [UInt8], isOnTop: Bool = true
  ) throws -> Rejoining {
    var common = CommonBranch(id)
    try common.add(pack: published, through: 1)
    let staged = try Store.open(
      StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
      options: options, machine: machine)
    try staged.sync(packs: [published, others])
    var plan = Rejoining(staged: staged, device: staged.device, common: common)
    plan.isOnTop = isOnTop
    return plan
  }
}
