import Cairn
import CairnBytes
import CairnMerge
import CairnStore

/// A hash of what a datastore shows; that of an empty one is 0. Parts are added up, so that no
/// order matters, and contents of several datastores can be added, too.
struct ContentHash {
  private(set) var value: UInt64 = 0

  /// Everything a store shows; counts are checked on the way.
  init(_ store: Store) throws {
    var records = 0
    for (table, count) in try store.tables() {
      let ids = try store.query(table: table, [])
      guard ids.count == count else {
        throw TortureFailure("table \(table) counts \(count) records and shows \(ids.count)")
      }
      records += count
      for id in ids { try add(store, table, id) }
    }
    for table in [":rules", ":info"] {
      for id in try store.query(table: table, []) {
        if table != ":rules" { records += 1 }
        try add(store, table, id)
      }
    }
    guard store.totals.records == records else {
      throw TortureFailure("\(store.totals.records) records are counted and \(records) shown")
    }
  }

  private mutating func add(_ store: Store, _ table: String, _ id: RecordName) throws {
    guard let fields = try store.fields(table: table, id: id) else {
      throw TortureFailure("record \(table)/\(id.text) is found and can't be read")
    }
    var sum: UInt64 = 0
    for (field, value) in fields { sum &+= ContentHash.hash(field, value) }
    value &+= XXH3.hash64(table + "/" + id.text, seed: sum)
  }

  /// The same of the public face.
  init(_ datastore: Datastore) throws {
    var records = 0
    for table in try datastore.tables() {
      for record in try table.query() {
        records += 1
        var sum: UInt64 = 0
        for (field, value) in try record.fields { sum &+= ContentHash.hash(field, value) }
        value &+= XXH3.hash64(table.id + "/" + record.id.description, seed: sum)
      }
    }
    let title = try datastore.title
    if let title { value &+= XXH3.hash64(title, seed: 7) }
    // The one that has the title is counted, and in no table.
    guard (0...1).contains(datastore.recordCount - records) else {
      throw TortureFailure("\(datastore.recordCount) records are counted and \(records) shown")
    }
  }

  /// Of a record that was deleted.
  init(_ record: DeletedRecord) {
    var sum: UInt64 = 0
    for (field, value) in record.fields { sum &+= ContentHash.hash(field, value) }
    value = XXH3.hash64(record.table + "/" + record.id.description, seed: sum)
  }

  private static func hash(_ field: String, _ value: FieldValue) -> UInt64 {
    XXH3.hash64(field, seed: hash(value))
  }

  private static func hash(_ value: FieldValue) -> UInt64 {
    switch value {
    case .bool(let value): value ? 11 : 12
    case .int(let value): UInt64(bitPattern: value) &* 0x9E37_79B9_7F4A_7C15 &+ 13
    case .double(let value): value.bitPattern &* 0xBF58_476D_1CE4_E5B9 &+ 14
    case .string(let value): XXH3.hash64(value, seed: 15)
    case .bytes(let value): XXH3.hash64(value, seed: 16)
    case .date(let value): UInt64(bitPattern: value) &* 0x94D0_49BB_1331_11EB &+ 17
    case .list(let items): items.reduce(18) { $0 &* 31 &+ hash($1) }
    }
  }

  private static func hash(_ field: String, _ value: Value) -> UInt64 {
    XXH3.hash64(field, seed: hash(value))
  }

  private static func hash(_ value: Value) -> UInt64 {
    switch value {
    case .bool(let value): hash(FieldValue.bool(value))
    case .int(let value): hash(FieldValue.int(value))
    case .double(let value): hash(FieldValue.double(value))
    case .string(let value): hash(FieldValue.string(value))
    case .bytes(let value): hash(FieldValue.bytes(value))
    case .date(let value): hash(FieldValue.date(value.millisecondsSince1970))
    case .list(let items): items.reduce(18) { $0 &* 31 &+ hash($1) }
    case .attachment(let id): XXH3.hash64(id.description, seed: 19)
    @unknown default: 0
    }
  }
}
