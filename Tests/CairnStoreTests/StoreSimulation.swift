import CairnBytes
import CairnMerge
import CairnStore
import TestSupport

/// A few real stores that write into few records, so that conflicts abound, and that hear of each
/// other late, in any order, and more than once. Beside them grows the history that the naive
/// reference answers from.
final class StoreSimulation {
  static let tables = ["t", "u"]
  static let records = ["r", "s", "AAAAAAAAAAAAAAAAAAAAAQ", "zz"]
  static let fields = ["a", "b", "n"]

  let random: SeededRandom
  var devices: [StoreDevice]
  /// Every own delta, as the reference wants it.
  private(set) var history: [ReferenceDelta] = []
  /// Everything that was ever packed, by device number.
  private var packs: [(device: Int, bytes: [UInt8])] = []
  private var packedLast: [UInt64]
  /// What has happened, for whoever has to find out what went wrong.
  private(set) var trace: [String] = []

  init(seed: UInt64) throws {
    let random = SeededRandom(seed)
    self.random = random
    let count = 2 + random.below(3)
    packedLast = Array(repeating: 0, count: count)
    devices = try (0..<count).map { number in
      try StoreDevice(seed &* 31 + UInt64(number), time: 1_000_000 + Int64(random.below(4)) * 5) {
        $0.segmentBytes = random.coin() ? 600 : 8 << 20
        $0.cacheBytes = random.coin() ? 0 : 64 << 20
      }
    }
  }

  func run(steps: Int) throws {
    for step in 0..<steps {
      let number = random.below(devices.count)
      try act(number, step)
      if random.below(6) == 0 { try check(number) }
    }
  }

  private func note(_ text: String) {
    var line = text
    // The module's name says nothing here.
    for noise in ["CairnMerge.FieldValue.", "Optional(", "field: ", "value: "] {
      line = line.split(separator: noise, omittingEmptySubsequences: false).joined()
    }
    trace.append(line)
  }

  private func act(_ number: Int, _ step: Int) throws {
    let device = devices[number]
    device.clock.advance(by: Int64(random.below(3)))
    switch random.below(25) {
    case 0...9: try change(number)
    case 10...14: try commit(number)
    case 15...18: try receive(number, count: 1 + random.below(4))
    case 19: try compact(number)
    case 20:
      note("\(number) closes")
      try device.reopen()
    case 21:
      note("\(number) crashes")
      try device.crash(random.coin() ? .nothingUnsynced : .torn(random.next()))
    case 22:
      note("\(number) rolls back")
      try device.store.rollBack()
    case 23: if random.coin() { try join() } else { try joinStates() }
    default: try changeRule(number)
    }
  }

  private func compact(_ number: Int) throws {
    note("\(number) compacts")
    let store = devices[number].store
    if random.coin() { store.confirmPublished(through: packedLast[number]) }
    _ = try store.compact()
  }

  // MARK: local changes

  private func change(_ number: Int) throws {
    let store = devices[number].store
    let table = random.below(4) == 0 ? Self.tables[1] : Self.tables[0]
    let id = RecordName(Self.records[random.below(Self.records.count)])
    for _ in 0...random.below(2) {
      if try !store.exists(table: table, id: id) {
        let fields = changes(atLeast: 0).filter { $0.value != nil }
        note("\(number) inserts \(table)/\(id.text) \(fields)")
        try store.insert(table: table, id: id, fields)
      } else if random.below(5) == 0 {
        note("\(number) deletes \(table)/\(id.text)")
        try store.delete(table: table, id: id)
      } else {
        let fields = changes(atLeast: 1)
        note("\(number) updates \(table)/\(id.text) \(fields)")
        try store.update(table: table, id: id, fields)
      }
    }
  }

  private func changes(atLeast least: Int) -> [(field: String, value: FieldValue?)] {
    var random = random
    let count = least + random.below(Self.fields.count + 1 - least)
    return Self.fields.shuffled(using: &random).prefix(count).map { ($0, value(of: $0)) }
  }

  private func value(of field: String) -> FieldValue? {
    if field == "n", random.below(5) > 0 {
      return random.below(3) == 0
        ? .double(Double(random.below(40)) / 4) : .int(Int64(random.below(9)) - 4)
    }
    switch random.below(12) {
    case 0, 1: return nil
    case 2: return .bool(random.coin())
    case 3: return .double([.nan, -0.0, 0.0, .infinity, 1, 0.1][random.below(6)])
    case 4:
      return .string(["", "x", "naïve", String(repeating: "long", count: 60)][random.below(4)])
    case 5: return .bytes(random.bytes(random.below(4)))
    case 6: return .date(Int64(random.below(3)))
    case 7: return .list(Array([.int(1), .string("é"), .bytes([0])].prefix(random.below(4))))
    case 8: return .int([Int64.max, .min, 1][random.below(3)])
    default: return .int(Int64(random.below(4)))
    }
  }

  private func changeRule(_ number: Int) throws {
    let rule = Rule.allCases[random.below(Rule.allCases.count)]
    let store = devices[number].store
    if random.below(4) == 0 {
      note("\(number) sets the default rule \(rule)")
      try store.setDefaultRule(rule)
    } else {
      let field = Self.fields[random.below(Self.fields.count)]
      note("\(number) sets the rule \(rule) for \(field)")
      try store.setRule(rule, table: Self.tables[0], field: field)
    }
  }

  // MARK: commits and deltas

  /// Syncs, and tells the reference what the delta says.
  func commit(_ number: Int) throws {
    let store = devices[number].store
    let before = try StoreContent(store)
    let outcome = try store.sync()
    let after = try StoreContent(store)
    try Difference.demand(
      after == before, "\(number)'s commit changed \(after.differences(from: before))")
    guard let dot = outcome.committed else {
      note("\(number) has nothing to commit")
      return
    }
    note("\(number) commits \(dot)")
    let last = dot.sequence
    let pack = try ownPack(store, after: last - 1, through: last, limit: 1 << 20)
    history.append(try meaning(of: pack.bytes, store))
  }

  private func ownPack(
    _ store: Store, after sequence: UInt64, through last: UInt64, limit: Int
  ) throws -> (bytes: [UInt8], last: UInt64) {
    guard let pack = try store.ownPack(after: sequence, through: last, limit: limit) else {
      throw Difference(description: "no pack after \(sequence)")
    }
    try Difference.demand(pack.first == sequence + 1, "the pack after \(sequence) is another")
    return (pack.pack, pack.last)
  }

  /// Takes a pack apart the obvious way.
  private func meaning(of pack: [UInt8], _ store: Store) throws -> ReferenceDelta {
    var reader = try PackReader(pack)
    var delta = Delta()
    _ = try reader.next(into: &delta)
    var steps: [ReferenceDelta.Step] = []
    for section in delta.sections {
      for row in section.records {
        let entry = delta.records[row]
        let record = section.table + "/" + reader.records[Int(entry.reference)].text
        func step(_ intent: ReferenceIntent) {
          steps.append(ReferenceDelta.Step(record, intent))
        }
        if entry.flags & Delta.Flags.delete != 0 { step(.delete) }
        if entry.flags & Delta.Flags.insert != 0 { step(.insert) }
        for column in delta.columns[section.columns] {
          for cell in column.cells where Int(delta.rows[cell]) == row {
            let value = Cell(tag: delta.tags[cell], word: delta.words[cell]).value(reader.heap)
            let rule = store.rule(table: section.table, field: column.field)
            step(.set(field: column.field, value, rule))
          }
        }
      }
    }
    return ReferenceDelta(
      stamp: Stamp(dot: delta.dot, time: delta.time), context: store.vector, steps: steps)
  }

  /// Packs what is new, then applies some of all packs, old ones among them, in any order.
  private func receive(_ number: Int, count: Int) throws {
    for sender in devices.indices { try pack(sender) }
    let chosen = (0..<count).compactMap { _ in
      packs.isEmpty ? nil : packs[random.below(packs.count)].bytes
    }
    note("\(number) receives \(chosen.count)")
    try deliver(chosen, to: number)
  }

  private func deliver(_ chosen: [[UInt8]], to number: Int) throws {
    // A sync commits first; the reference has to hear of that on its own.
    try commit(number)
    let store = devices[number].store
    let before = try StoreContent(store)
    let outcome = try store.sync(packs: chosen)
    try Difference.demand(
      outcome.failures.isEmpty && outcome.committed == nil, "\(number): \(outcome.failures)")
    try checkReport(outcome, before: before, after: try StoreContent(store))
  }

  private func pack(_ sender: Int) throws {
    let store = devices[sender].store
    let last = store.vector[store.device]
    guard last > packedLast[sender] else { return }
    try store.flush()
    let limit = [1, 200, 1 << 20][random.below(3)]
    let pack = try ownPack(store, after: packedLast[sender], through: last, limit: limit)
    packs.append((sender, pack.bytes))
    packedLast[sender] = pack.last
  }

  /// A new device that starts from the snapshot of another one.
  private func join() throws {
    let source = devices[random.below(devices.count)]
    guard devices.count < 6, let bytes = source.snapshotBytes() else { return }
    note("\(devices.count) joins from a snapshot")
    let new = try StoreDevice(random.next(), time: source.clock.now())
    let path = new.store.temporarySnapshotPath()
    try new.disk.setBytes(path, bytes)
    try new.store.adopt(snapshot: path)
    devices.append(new)
    packedLast.append(0)
    try check(devices.count - 1)
  }

  /// A device takes in all that another one had at its last compaction, beside what it has itself.
  private func joinStates() throws {
    let (number, source) = (random.below(devices.count), devices[random.below(devices.count)])
    let device = devices[number]
    guard device !== source, let bytes = source.snapshotBytes() else { return }
    try commit(number)
    note("\(number) joins a snapshot")
    let before = try StoreContent(device.store)
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, bytes)
    guard let outcome = try device.store.join(snapshot: path) else {
      throw Difference(description: "\(number) refuses to join")
    }
    try checkReport(outcome, before: before, after: try StoreContent(device.store))
    try check(number)
  }

  /// Everybody gets everything.
  func exchangeAll() throws {
    for number in devices.indices { try commit(number) }
    for number in devices.indices {
      while packedLast[number] < devices[number].store.vector[devices[number].id] {
        try pack(number)
      }
    }
    for number in devices.indices {
      var random = random
      try deliver(packs.map(\.bytes).shuffled(using: &random), to: number)
    }
  }
}
