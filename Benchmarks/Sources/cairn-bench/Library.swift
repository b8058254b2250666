import Cairn
import Workload

/// Every call that the workloads make to Cairn, and nothing else.
struct Store: Sendable {
  private let manager: DatastoreManager
  private let datastore: Datastore
  private let records: Table

  /// With a folder, a device of an account that keeps its files there; otherwise a local store.
  /// Files that were merged into larger ones stay in the folder, unless `tidies`.
  init(
    _ directory: String, durable: Bool, folder: String? = nil, tidies: Bool = false
  ) throws {
    try self.init(
      directory, durable: durable, account: folder.map { Store.account(.directory($0)) },
      tidies: tidies)
  }

  /// A device of an account whose folder is in memory.
  init(_ directory: String, shared: SharedFolder) throws {
    try self.init(
      directory, durable: false, account: Store.account(shared.location), tidies: true)
  }

  private init(
    _ directory: String, durable: Bool, account: Account?, tidies: Bool
  ) throws {
    var options = Options()
    if tidies { options.graceSeconds = 0 }
    options.durability = durable ? .full : .none
    options.cacheBytes = 64 << 20
    options.limits.recordCount = 10_000_000
    options.limits.datastoreBytes = 16 << 30
    options.limits.deltaBytes = 1 << 30
    options.limits.recordBytes = 1 << 30
    manager = try DatastoreManager(root: directory, account: account, options: options)
    datastore = try manager.openDefaultDatastore()
    records = try datastore.table("records")
  }

  private static func account(_ location: FolderLocation) -> Account {
    Account(user: "benchmark", folder: location)
  }

  func close() throws {
    try datastore.close()
    try manager.shutDown()
  }

  func commit() throws { _ = try datastore.sync() }

  /// One round with the folder. The bytes that came.
  @discardableResult
  func exchange() async throws -> Int { Int(try await datastore.exchange().fetchedBytes) }

  /// The same; what was asked of the folder, and what came and went.
  func round() async throws -> (requests: Int, fetched: Int, published: Int, isIdle: Bool) {
    let report = try await datastore.exchange()
    return (
      report.requests, Int(report.fetchedBytes), Int(report.publishedBytes), report.isIdle
    )
  }

  var device: String { datastore.device }

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

  /// How many records there are.
  func count() throws -> Int { try records.count }

  /// A new record with an empty list, for W8.
  func makeText(_ name: String) throws {
    _ = try records.insert(["items": .list([])], id: RecordID(name))
  }

  func text(_ name: String) throws -> Text {
    Text(items: try records[RecordID(name)].list("items"))
  }

  private func record(_ number: UInt64) -> Record { records[Self.id(SampleID(number))] }

  private static func price(_ record: Record) throws -> Double {
    guard let price = try record.double("price") else { throw Missing() }
    return price
  }

  private static func id(_ id: SampleID) -> RecordID { RecordID(bits: id.first, id.second) }
}

/// A list whose items are characters.
struct Text {
  typealias Item = Value

  let items: RecordList

  private static let letters = (0..<128).map { Value.string(String(UnicodeScalar(UInt8($0)))) }

  func insert(_ letter: UInt8, at index: Int) throws {
    try items.insert(Self.letters[Int(letter)], at: index)
  }

  func insert(_ letters: [UInt8]) throws {
    try items.insert(contentsOf: letters.map { Self.letters[Int($0)] }, at: 0)
  }

  func remove(at index: Int) throws { try items.remove(at: index) }

  /// Reads the whole list.
  func read() throws -> [Item] { try items.values }

  static func letters(_ values: [Item]) -> [UInt8] {
    values.map { value in
      guard case .string(let text) = value else { return 0 }
      return text.utf8.first ?? 0
    }
  }
}

/// A record or a field that has to be there isn't.
struct Missing: Error {}
