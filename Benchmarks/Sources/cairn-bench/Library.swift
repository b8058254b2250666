import Cairn
import Workload

/// Every call that the workloads make to Cairn, and nothing else.
struct Store {
  private let manager: DatastoreManager
  private let datastore: Datastore
  private let records: Table

  /// With a folder, a device of an account that keeps its files there; otherwise a local store.
  init(_ directory: String, durable: Bool, folder: String? = nil) throws {
    var options = Options()
    options.durability = durable ? .full : .none
    options.cacheBytes = 64 << 20
    options.limits.recordCount = 10_000_000
    options.limits.datastoreBytes = 16 << 30
    options.limits.deltaBytes = 1 << 30
    let account = folder.map { Account(user: "benchmark", folder: .directory($0)) }
    manager = try DatastoreManager(root: directory, account: account, options: options)
    datastore = try manager.openDefaultDatastore()
    records = try datastore.table("records")
  }

  func close() throws {
    try datastore.close()
    try manager.shutDown()
  }

  func commit() throws { _ = try datastore.sync() }

  /// One round with the folder.
  func exchange() async throws { _ = try await datastore.exchange() }

  func compact() throws { _ = try datastore.compact() }

  func insert(_ sample: Sample) throws {
    _ = try records.insert(
      [
        "seq": .int(sample.seq),
        "category": .int(sample.category),
        "price": .double(sample.price),
        "done": .bool(sample.done),
        "owner": .string(sample.owner),
        "note": .string(sample.note),
        "created": .date(Timestamp(millisecondsSince1970: sample.created)),
        "modified": .date(Timestamp(millisecondsSince1970: sample.modified)),
      ], id: Self.id(sample.id))
  }

  func setPrice(_ number: UInt64, _ price: Double) throws {
    try record(number).set("price", .double(price))
  }

  func setBoth(_ number: UInt64, _ price: Double, _ modified: Int64) throws {
    let date = Timestamp(millisecondsSince1970: modified)
    try record(number).update(["price": .double(price), "modified": .date(date)])
  }

  func price(_ number: UInt64) throws -> Double { try Self.price(record(number)) }

  func addIndex(_ field: String) throws {
    try datastore.addIndex(table: records.id, field: field)
  }

  /// The sum of the prices of the records that have these fields.
  func sum(_ fields: [String: Value] = [:]) throws -> Double {
    try records.query(fields).reduce(0) { try $0 + Self.price($1) }
  }

  private func record(_ number: UInt64) -> Record { records[Self.id(SampleID(number))] }

  private static func price(_ record: Record) throws -> Double {
    guard let price = try record.double("price") else { throw Missing() }
    return price
  }

  private static func id(_ id: SampleID) -> RecordID { RecordID(bits: id.first, id.second) }
}

/// A record or a field that has to be there isn't.
struct Missing: Error {}
