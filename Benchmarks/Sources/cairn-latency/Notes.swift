import Cairn
import Workload

/// A durable local store with the records that most workloads use.
struct Notes: Sendable {
  private let manager: DatastoreManager
  private let datastore: Datastore
  private let records: Table

  /// Creates it with all its records.
  init(_ directory: String) throws {
    var options = Options()
    options.limits.datastoreBytes = 1 << 30
    options.limits.deltaBytes = 32 << 20
    manager = try DatastoreManager(root: directory, options: options)
    datastore = try manager.openDefaultDatastore()
    records = try datastore.table("records")
    for number in 0..<DataSet.big {
      let sample = Sample(UInt64(number))
      try records.insert(
        [
          "seq": .int(sample.seq), "category": .int(sample.category),
          "price": .double(sample.price), "owner": .string(sample.owner),
          "note": .string(sample.note),
        ], id: Self.id(UInt64(number)))
      if number % DataSet.batch == DataSet.batch - 1 { try datastore.sync() }
    }
    try datastore.compact()
  }

  private static func id(_ number: UInt64) -> RecordID {
    let id = SampleID(number)
    return RecordID(bits: id.first, id.second)
  }

  func price(_ number: UInt64) throws -> Double? {
    try records[Self.id(number)].double("price")
  }

  /// One durable commit.
  func change(_ t: Int) throws {
    try records[Self.id(pick(t, of: DataSet.big))].set("price", .double(newPrice(t)))
    try datastore.sync()
  }

  func compact() throws { try datastore.compact() }

  func close() throws {
    try datastore.close()
    try manager.shutDown()
  }
}
