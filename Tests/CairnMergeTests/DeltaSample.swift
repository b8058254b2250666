import CairnBytes
import CairnMerge
import TestSupport

/// What a delta says, freed from how it is stored: for comparing two of them.
struct DeltaContent: Equatable {
  struct Cell: Equatable {
    var row: Int
    var value: FieldValue?
    var covered: [RunningTotal]
    var addition: Delta.Addition?
  }

  struct Column: Equatable {
    var field: String
    var operation: Delta.Operation
    var cells: [Cell]
  }

  struct Record: Equatable {
    var name: RecordName
    var flags: UInt8
    var born: [Dot]
  }

  struct Section: Equatable {
    var table: String
    var records: [Record]
    var columns: [Column]
  }

  var dot: Dot
  var time: Int64
  var dependencies: [Dot]
  var sections: [Section]

  /// `names` are the records of the delta's scope, its own new ones among them.
  init(_ delta: Delta, heap: [UInt8], names: [RecordName]) {
    dot = delta.dot
    time = delta.time
    dependencies = delta.dependencies
    sections = delta.sections.map { section in
      Section(
        table: section.table,
        records: section.records.map { index in
          let entry = delta.records[index]
          return Record(
            name: names[Int(entry.reference)], flags: entry.flags, born: delta.born[index] ?? [])
        },
        columns: delta.columns[section.columns].map { column in
          Column(
            field: column.field, operation: column.operation,
            cells: column.cells.map { cell in
              Cell(
                row: Int(delta.rows[cell]) - section.records.lowerBound,
                value: CairnMerge.Cell(tag: delta.tags[cell], word: delta.words[cell]).value(heap),
                covered: delta.covered[cell] ?? [], addition: delta.totals[cell])
            })
        })
    }
  }
}

/// Makes random deltas of one device, one after another in one scope, with all that a delta can
/// say.
struct DeltaSample {
  let random: SeededRandom
  var heap: [UInt8] = []
  private(set) var names: [RecordName] = []
  private var tables: [String] = []
  private var sequence: UInt64 = 0
  private var time: Int64 = 1_700_000_000_000
  let device = DeviceID(rawValue: 0x8877_6655_4433_2211)

  private static let tableNames = ["tasks", "people", ":rules", "A/b+c=", "x"]
  private static let fieldNames = ["name", "done", "due", "price", "tags", ":r", "n"]

  init(seed: UInt64) { random = SeededRandom(seed) }

  mutating func next(records: Int = 12) -> Delta {
    var delta = Delta()
    sequence += 1
    delta.dot = Dot(device: device, sequence: sequence)
    time += Int64(random.below(100_000))
    delta.time = time
    // Each device once.
    delta.dependencies = Array(VersionVector((0..<random.below(3)).map { _ in otherDot() }).entries)
    for table in Self.tableNames.shuffled(using: &generator) where random.coin() {
      add(table, records: 1 + random.below(records), to: &delta)
    }
    if delta.sections.isEmpty { add("tasks", records: 1, to: &delta) }
    return delta
  }

  private var generator: SeededRandom {
    get { random }
    set { _ = newValue }
  }

  private func otherDot() -> Dot {
    Dot(
      device: DeviceID(rawValue: 1 + UInt64(random.below(5))),
      sequence: 1 + random.next() >> UInt64(1 + random.below(63)))
  }

  private mutating func add(_ table: String, records count: Int, to delta: inout Delta) {
    let firstRecord = delta.records.count
    var known = names.indices.filter { tables[$0] == table }.shuffled(using: &generator)
    let flags = random.coin() ? Delta.Flags.insert : nil
    let isNew = random.coin() ? random.coin() : nil
    for _ in 0..<count {
      var entry = Delta.RecordEntry(flags: flags ?? UInt8(random.below(8)), reference: 0)
      if let last = known.last, !(isNew ?? random.coin()) {
        known.removeLast()
        entry.reference = UInt32(last)
      } else {
        entry.reference = UInt32(names.count)
        let name = newName()
        names.append(name)
        tables.append(table)
        delta.newNames.append(name)
      }
      if entry.flags & Delta.Flags.born != 0, random.coin() {
        delta.born[delta.records.count] = (0..<(1 + random.below(2))).map { _ in otherDot() }
      }
      delta.records.append(entry)
    }
    let firstColumn = delta.columns.count
    for field in Self.fieldNames.shuffled(using: &generator) where random.coin() {
      addColumn(field, records: firstRecord..<delta.records.count, to: &delta)
    }
    delta.sections.append(
      Delta.Section(
        table: table, records: firstRecord..<delta.records.count,
        columns: firstColumn..<delta.columns.count))
  }

  private mutating func newName() -> RecordName {
    switch random.below(4) {
    case 0: .text("r\(names.count)")
    case 1: .text(String(("k\(names.count)/" + String(repeating: "z", count: 64)).prefix(64)))
    default: .packed(random.next(), UInt64(names.count))
    }
  }

  private mutating func addColumn(
    _ field: String, records: Range<Int>, to delta: inout Delta
  ) {
    let isEvery = random.coin()
    let rows = records.filter { _ in isEvery || random.coin() }
    if rows.isEmpty { return }
    let operation: Delta.Operation = [.put, .put, .putCovering, .add][random.below(4)]
    let kind = random.below(10)
    let start = delta.rows.count
    for row in rows {
      let cell = delta.rows.count
      delta.rows.append(UInt32(row))
      let value = operation == .add ? number().value : value(kind < 8 ? kind : random.below(8))
      let stored = Cell(value, heap: &heap)
      delta.tags.append(stored.tag)
      delta.words.append(stored.word)
      if operation == .putCovering, random.coin() {
        delta.covered[cell] = (0..<(1 + random.below(2))).map { _ in
          let dot = otherDot()
          return RunningTotal(device: dot.device, last: dot.sequence, total: number())
        }
      }
      if operation == .add {
        delta.totals[cell] = Delta.Addition(since: 1 + UInt64(random.below(9)), total: number())
      }
    }
    delta.columns.append(
      Delta.Column(field: field, operation: operation, cells: start..<delta.rows.count))
  }

  private func number() -> Number {
    let double = double()
    if random.coin(), double.isFinite { return .double(double) }
    return .int(Int64(bitPattern: random.next()))
  }

  private func double() -> Double {
    switch random.below(4) {
    case 0: Double(random.below(10_000)) / 100
    case 1: Double(random.below(1_000))
    case 2: [0.0, -0.0, 1e300, -1e-300, 9e15, 0.1, .infinity, 123_456_789.123][random.below(8)]
    default: Double(random.next() >> 11) / 7
    }
  }

  func value(_ kind: Int) -> FieldValue? {
    let texts = ["", "plain", "naïve 👩‍👩‍👧", String(repeating: "ab", count: 200)]
    return value(kind, texts)
  }

  private func value(_ kind: Int, _ texts: [String]) -> FieldValue? {
    switch kind {
    case 0: nil
    case 1: .bool(random.coin())
    case 2: .int(Int64(bitPattern: random.next() >> UInt64(random.below(64))))
    case 3: .double(random.below(20) == 0 ? .nan : double())
    case 4: .date(time + Int64(random.below(10_000)) - 5_000)
    case 5: .string(texts[random.below(4)])
    case 6: .bytes(random.bytes(random.below(30)))
    default:
      .list((0..<random.below(4)).compactMap { _ in value(1 + random.below(6)) })
    }
  }
}
