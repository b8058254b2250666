import Cairn
import CairnMerge
import CairnStore

/// Everything that a datastore shows, as plain dictionaries: rules and title among it.
struct SimulatedContent: Equatable, Sendable {
  /// By table, record and field. A record without fields has an empty dictionary.
  var tables: [String: [String: [String: FieldValue]]] = [:]

  static let rules = ":rules"
  static let info = ":info"

  init() {}

  init(_ store: Store) throws {
    for (table, _) in try store.tables() { try read(store, table) }
    try read(store, Self.rules)
    try read(store, Self.info)
  }

  private mutating func read(_ store: Store, _ table: String) throws {
    for id in try store.query(table: table, []) { try read(store, table, id) }
  }

  /// Reads one record anew.
  mutating func read(_ store: Store, _ table: String, _ id: RecordName) throws {
    self[table, id.text] = try Self.fields(store, table, id)
  }

  static func fields(
    _ store: Store, _ table: String, _ id: RecordName
  ) throws -> [String: FieldValue]? {
    guard let found = try store.fields(table: table, id: id) else { return nil }
    return Dictionary(found, uniquingKeysWith: { $1 })
  }

  subscript(table: String, id: String) -> [String: FieldValue]? {
    get { tables[table]?[id] }
    set {
      if let newValue {
        tables[table, default: [:]][id] = newValue
      } else {
        tables[table]?[id] = nil
        if tables[table]?.isEmpty == true { tables[table] = nil }
      }
    }
  }

  /// Rules cost nothing.
  private var counted: [[String: [String: FieldValue]]] {
    tables.filter { $0.key != Self.rules }.map(\.value)
  }

  var recordCount: Int { counted.reduce(0) { $0 + $1.count } }

  var size: Int {
    counted.reduce(1000) { $0 + $1.values.reduce(0) { $0 + Self.size($1) } }
  }

  static func size(_ fields: [String: FieldValue]) -> Int {
    fields.values.reduce(100) { $0 + 100 + $1.size }
  }

  /// Where two contents differ, in words.
  func differences(from other: SimulatedContent) -> String {
    let (mine, theirs) = (lines, other.lines)
    let all =
      mine.subtracting(theirs).map { "+ " + $0 }.sorted()
      + theirs.subtracting(mine).map { "- " + $0 }.sorted()
    return all.prefix(12).joined(separator: "; ") + (all.count > 12 ? "; …" : "")
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

  /// The same number for the same content, in every process.
  var digest: UInt64 {
    var digest = SimulationDigest()
    for (table, records) in tables.sorted(by: { $0.key < $1.key }) {
      for (id, fields) in records.sorted(by: { $0.key < $1.key }) {
        digest.add(table)
        digest.add(id)
        for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
          digest.add(field)
          digest.add(value)
        }
      }
    }
    return digest.value
  }
}

/// A hash of a history that is the same in every process.
struct SimulationDigest: Sendable {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 29
  }

  mutating func add(_ number: Int) { add(UInt64(bitPattern: Int64(number))) }

  mutating func add(_ text: String) {
    for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    add(text.utf8.count)
  }

  mutating func add(_ node: NodeID?) {
    guard let node else { return add(0) }
    add(node.dot.device.rawValue)
    add(node.dot.sequence)
    add(Int(node.index))
  }

  /// Different kinds of values differ, also where they look the same.
  mutating func add(_ field: FieldValue?) {
    switch field {
    case nil: add(1)
    case .bool(let value): add(value ? 2 : 3)
    case .int(let value):
      add(4)
      add(UInt64(bitPattern: value))
    case .double(let value):
      add(5)
      add(value.bitPattern)
    case .string(let value):
      add(6)
      add(value)
    case .bytes(let value):
      add(7)
      for byte in value { add(UInt64(byte)) }
      add(value.count)
    case .date(let value):
      add(8)
      add(UInt64(bitPattern: value))
    case .list(let items):
      add(9)
      for item in items { add(item) }
      add(items.count)
    }
  }
}

extension FieldValue {
  /// As an app says it.
  var asValue: Value {
    switch self {
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .bytes(let value): .bytes(value)
    case .date(let value): .date(Timestamp(millisecondsSince1970: value))
    case .list(let items): .list(items.map(\.asValue))
    }
  }
}
