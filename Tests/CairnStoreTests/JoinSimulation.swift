import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// A few stores with histories that meet in every way: values, sums, lists, deletes, rules. Each
/// delta is kept as a pack of its own, so that a twin can be given exactly what a snapshot has.
final class JoinSimulation {
  static let records = ["r", "s", "AAAAAAAAAAAAAAAAAAAAAQ", "zz"]
  static let fields = ["a", "n", "l"]

  let random: SeededRandom
  private(set) var devices: [StoreDevice] = []
  private(set) var deltas: [(dot: Dot, pack: [UInt8])] = []
  private(set) var joins = 0
  /// Joins that changed something on both sides: neither state was part of the other.
  private(set) var realJoins = 0

  init(seed: UInt64) throws {
    random = SeededRandom(seed)
    for number in 0..<(2 + random.below(2)) {
      devices.append(
        try StoreDevice(seed &* 17 + UInt64(number), time: 1000 + Int64(random.below(3))) {
          $0.segmentBytes = self.random.coin() ? 600 : 8 << 20
          $0.cacheBytes = self.random.coin() ? 0 : 1 << 20
        })
    }
  }

  func run(steps: Int) throws {
    for _ in 0..<steps {
      let number = random.below(devices.count)
      let device = devices[number]
      device.clock.advance(by: Int64(random.below(3)))
      switch random.below(16) {
      case 0...6: try change(device)
      case 7...8: try commit(device)
      case 9...11: try receive(device)
      case 12: _ = try device.store.compact()
      case 13:
        try commit(device)
        try device.reopen()
      default:
        let other = devices[random.below(devices.count)]
        if other !== device { try join(other, into: device) }
      }
    }
  }

  // MARK: changes

  func change(_ device: StoreDevice) throws {
    let store = device.store
    let table = random.below(4) == 0 ? "u" : "t"
    let id = RecordName(Self.records[random.below(Self.records.count)])
    if random.below(12) == 0 {
      let rule = Rule.allCases[random.below(Rule.allCases.count)]
      if random.below(3) == 0 {
        try store.setDefaultRule(rule)
      } else {
        try store.setRule(rule, table: "t", field: Self.fields[random.below(3)])
      }
      return
    }
    guard try store.exists(table: table, id: id) else {
      return try store.insert(
        table: table, id: id, random.coin() ? [("a", value()), ("n", number())] : [])
    }
    switch random.below(8) {
    case 0: try store.delete(table: table, id: id)
    case 1: try store.update(table: table, id: id, [("n", number())])
    case 2: try store.update(table: table, id: id, [("a", random.coin() ? value() : nil)])
    case 3: try store.update(table: table, id: id, [("l", .list([number(), number()]))])
    default: try edit(store, table, id)
    }
  }

  private func number() -> FieldValue { .int(Int64(random.below(5))) }

  private func value() -> FieldValue {
    [.int(1), .string("é"), .double(0.5), .bytes([7]), .string(String(repeating: "x", count: 40))][
      random.below(5)]
  }

  private func edit(_ store: Store, _ table: String, _ id: RecordName) throws {
    let value = try store.fields(table: table, id: id)?.first { $0.0 == "l" }?.1
    var count = 0
    if case .list(let items) = value { count = items.count } else if value != nil { return }
    for _ in 0...random.below(3) {
      switch random.below(count < 2 ? 2 : 6) {
      case 0, 1:
        let index = random.below(count + 1)
        try store.edit(table: table, id: id, field: "l", .insert(number(), at: index))
        count += 1
      case 2:
        try store.edit(table: table, id: id, field: "l", .remove(at: random.below(count)))
        count -= 1
      case 3:
        try store.edit(
          table: table, id: id, field: "l", .replace(at: random.below(count), number()))
      default:
        let (from, to) = (random.below(count), random.below(count))
        try store.edit(table: table, id: id, field: "l", .move(from: from, to: to))
      }
    }
  }

  // MARK: deltas

  func commit(_ device: StoreDevice) throws {
    guard let dot = try device.store.sync().committed else { return }
    try keep(dot, device.store)
  }

  private func keep(_ dot: Dot, _ store: Store) throws {
    try store.flush()
    let (after, last) = (dot.sequence - 1, dot.sequence)
    guard let pack = try store.ownPack(after: after, through: last, limit: 1 << 20) else {
      throw Difference(description: "no pack of \(dot)")
    }
    deltas.append((dot, pack.pack))
  }

  /// Some deltas, or all.
  private func receive(_ device: StoreDevice) throws {
    try commit(device)
    let isAll = random.below(5) == 0
    let chosen = deltas.filter { _ in isAll || random.below(3) == 0 }.map(\.pack)
    _ = try device.store.sync(packs: chosen)
  }

  func receiveAll() throws {
    for device in devices { try commit(device) }
    for device in devices { _ = try device.store.sync(packs: deltas.map(\.pack)) }
  }

  // MARK: joins

  /// Joins the state of one device into another one's, and compares with a twin that is given the
  /// deltas instead.
  func join(_ source: StoreDevice, into target: StoreDevice) throws {
    try commit(source)
    try commit(target)
    _ = try source.store.compact()
    guard let bytes = source.snapshotBytes() else { return }
    let twin = try StoreDevice.open(
      target.disk.snapshot(), target.clock, random, true, target.options)
    let seen = source.store.vector
    let (before, isAhead) = (try StoreContent(twin), !seen.covers(target.store.vector))
    let told = try twin.sync(packs: deltas.filter { seen.contains($0.dot) }.map(\.pack))
    let path = target.store.temporarySnapshotPath()
    try target.disk.setBytes(path, bytes)
    let outcome = try target.store.join(snapshot: path)
    guard let outcome else { throw Difference(description: "it was refused") }
    joins += 1
    if isAhead, outcome.appliedCount > 0 { realJoins += 1 }
    try Difference.demand(
      target.store.vector == twin.vector, "\(target.store.vector) instead of \(twin.vector)")
    try Difference.demand(
      outcome.appliedCount == told.appliedCount, "\(outcome.appliedCount) deltas were applied")
    let after = try StoreContent(target.store)
    let wanted = try StoreContent(twin)
    try Difference.demand(after == wanted, "\(after.differences(from: wanted))")
    try Difference.demand(target.store.totals == twin.totals, "it counts \(target.store.totals)")
    try checkReport(outcome, told, before, after)
    try Difference.demand(
      try bytesOf(target.store, target.disk) == bytesOf(twin, nil), "the snapshots differ")
    if random.below(3) == 0 { try target.reopen() }
    try Difference.demand(try StoreContent(target.store) == wanted, "opening shows something else")
  }

  private func bytesOf(_ store: Store, _ disk: MemoryDisk?) throws -> [UInt8]? {
    _ = try store.compact()
    return try store.snapshotBytes()
  }

  private func checkReport(
    _ outcome: SyncOutcome, _ told: SyncOutcome, _ before: StoreContent, _ after: StoreContent
  ) throws {
    let changed = Set(outcome.changed.map { "\($0.table)/\($0.id.text)" })
    try Difference.demand(changed.count == outcome.changed.count, "a record is reported twice")
    for change in outcome.changed {
      let exists = after.tables[change.table]?[change.id.text] != nil
      try Difference.demand(change.isDeleted != exists, "\(change) is reported")
    }
    for table in Set(before.tables.keys).union(after.tables.keys) {
      let (old, new) = (before.tables[table] ?? [:], after.tables[table] ?? [:])
      for id in Set(old.keys).union(new.keys) where old[id] != new[id] {
        try Difference.demand(changed.contains("\(table)/\(id)"), "\(table)/\(id) is not reported")
      }
    }
    // Deltas touch records that they leave as they are; rules decide some that no delta touches.
    guard before.tables[":rules"] == after.tables[":rules"] else { return }
    func names(_ outcome: SyncOutcome) -> Set<String> {
      Set(
        outcome.conflicts.map { "\($0.table)/\($0.id.text).\($0.conflict.field)" }
          .filter { changed.contains(String($0.prefix { $0 != "." })) })
    }
    try Difference.demand(names(outcome) == names(told), "conflicts differ")
  }
}

extension Store {
  /// The bytes of the snapshot that it stands on, from whatever disk it is on.
  func snapshotBytes() throws -> [UInt8]? {
    guard let path = snapshotFile()?.path else { return nil }
    return try DurableFile.read(path, limit: 1 << 30, disk: disk)
  }
}
