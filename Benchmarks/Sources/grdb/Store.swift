import Foundation
import GRDB
import Workload

/// The two ways to use GRDB that are measured.
enum Style: String {
  /// Codable records, as GRDB's guide shows.
  case records = "grdb"
  /// Cached statements and columns by index: as fast as it gets.
  case raw = "grdb-raw"
}

/// A record as an app would declare it for GRDB.
struct Row: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "records"

  var id: Data
  var seq: Int64, category: Int64, price: Double, done: Bool
  var owner: String, note: String, created: Int64, modified: Int64

  init(_ number: UInt64) {
    let sample = Sample(number)
    id = key(number)
    (seq, category, price, done) = (sample.seq, sample.category, sample.price, sample.done)
    (owner, note) = (sample.owner, sample.note)
    (created, modified) = (sample.created, sample.modified)
  }
}

func key(_ number: UInt64) -> Data {
  let id = SampleID(number)
  return withUnsafeBytes(of: (id.first.littleEndian, id.second.littleEndian)) { Data($0) }
}

/// The workloads' steps, in either style.
struct Store {
  let style: Style
  let queue: DatabaseQueue

  init(_ style: Style, _ directory: String, durable: Bool, fresh: Bool = false) throws {
    self.style = style
    var configuration = Configuration()
    configuration.journalMode = .wal
    if style == .raw {
      configuration.prepareDatabase { database in
        try database.execute(sql: "PRAGMA cache_size=-65536; PRAGMA mmap_size=268435456")
      }
    }
    queue = try DatabaseQueue(path: directory + "/store.sqlite", configuration: configuration)
    // After opening, because the journal mode .wal sets synchronous=NORMAL itself, and then a
    // commit isn't durable.
    try queue.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA synchronous=\(durable ? "FULL" : "OFF")")
    }
    if fresh { try create() }
  }

  private func create() throws {
    try queue.write { database in
      try database.execute(
        sql: """
          CREATE TABLE records (id BLOB PRIMARY KEY, seq INTEGER, category INTEGER, price REAL,
          done INTEGER, owner TEXT, note TEXT, created INTEGER, modified INTEGER) WITHOUT ROWID
          """)
    }
  }

  func load(_ count: Int) throws {
    for first in stride(from: 0, to: count, by: DataSet.batch) {
      try queue.write { database in
        for number in first..<first + DataSet.batch { try insert(Row(UInt64(number)), database) }
      }
    }
  }

  private func insert(_ row: Row, _ database: Database) throws {
    if style == .records { return try row.insert(database) }
    let insert = try database.cachedStatement(sql: "INSERT INTO records VALUES (?,?,?,?,?,?,?,?,?)")
    try insert.execute(arguments: [
      row.id, row.seq, row.category, row.price, row.done, row.owner, row.note, row.created,
      row.modified,
    ])
  }

  func price(_ number: UInt64, _ database: Database) throws -> Double {
    if style == .records { return try Row.find(database, key: key(number)).price }
    let read = try database.cachedStatement(sql: "SELECT price FROM records WHERE id = ?")
    return try Double.fetchOne(read, arguments: [key(number)]) ?? .nan
  }

  func update(_ number: UInt64, _ step: Int, _ database: Database) throws {
    if style == .records {
      var row = try Row.find(database, key: key(number))
      try row.updateChanges(database) { $0.price = newPrice(step) }
    } else {
      let sql = "UPDATE records SET price = ? WHERE id = ?"
      let update = try database.cachedStatement(sql: sql)
      try update.execute(arguments: [newPrice(step), key(number)])
    }
  }

  func updateBoth(_ number: UInt64, _ step: Int, _ database: Database) throws {
    if style == .records {
      var row = try Row.find(database, key: key(number))
      try row.updateChanges(database) { row in
        row.price = newPrice(step)
        row.modified = newModified(step)
      }
    } else {
      let sql = "UPDATE records SET price = ?, modified = ? WHERE id = ?"
      let update = try database.cachedStatement(sql: sql)
      try update.execute(arguments: [newPrice(step), newModified(step), key(number)])
    }
  }

  func sum(_ filter: Filter) throws -> Double {
    try queue.read { database in
      if style == .records {
        return try filter.request.fetchAll(database).reduce(0) { $0 + $1.price }
      }
      return try Double.fetchCursor(database, sql: filter.sql).reduce(0, +)
    }
  }

  func createIndexes() throws {
    try execute("CREATE INDEX byCategory ON records(category)")
    try execute("CREATE INDEX byOwner ON records(owner)")
  }

  func dropIndexes() throws {
    try execute("DROP INDEX byCategory")
    try execute("DROP INDEX byOwner")
  }

  private func execute(_ sql: String) throws {
    try queue.write { try $0.execute(sql: sql) }
  }
}

/// Which records' prices are summed.
enum Filter {
  case every, category, owner

  var sql: String {
    switch self {
    case .every: "SELECT price FROM records"
    case .category: "SELECT price FROM records WHERE category = \(DataSet.wantedCategory)"
    case .owner: "SELECT price FROM records WHERE owner = '\(DataSet.wantedOwner)'"
    }
  }

  var request: QueryInterfaceRequest<Row> {
    switch self {
    case .every: Row.all()
    case .category: Row.filter(Column("category") == DataSet.wantedCategory)
    case .owner: Row.filter(Column("owner") == DataSet.wantedOwner)
    }
  }
}
