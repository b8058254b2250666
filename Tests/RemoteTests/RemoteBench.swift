import Cairn
import CairnDisk
import TestSupport
import Testing

@testable import TestServers

/// Devices by name, around one folder on a server.
final class RemoteBench: Sendable {
  let place: TemporaryDirectory
  let id = "notes"
  let location: FolderLocation
  let options: Options
  /// The server in this process, if it is one.
  private let server: (any Sendable)?

  init(
    _ location: FolderLocation, options: Options = Options(), keeping server: (any Sendable)? = nil
  ) throws {
    place = try TemporaryDirectory()
    self.server = server
    self.location = location
    self.options = options
  }

  convenience init(_ given: Given, through port: UInt16? = nil) throws {
    try self.init(.server(ServerFolder(given.fresh(through: port), kind: given.kind())))
  }

  func open(_ device: String) throws -> Datastore {
    try DatastoreManager(
      root: place.path + "/" + device, account: Account(user: "ann", folder: location),
      options: options
    ).openOrCreateDatastore(id)
  }
}

extension Datastore {
  /// Inserts and commits one record.
  func add(_ id: String) throws {
    try table("t").insert(["from": .string(id), "text": "some text, some text"], id: RecordID(id))
    try sync()
  }

  func ids() throws -> Set<String> { Set(try table("t").query().map(\.id.description)) }

  /// All that is visible, in words.
  func contents() throws -> [String] {
    try table("t").query().map { record in
      let fields = try record.fields.sorted { $0.key < $1.key }
      return "\(record.id) " + fields.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }.sorted()
  }

  /// An exchange, and what it brought made visible.
  @discardableResult
  func pull() async throws -> ExchangeReport {
    let report = try await exchange()
    try sync()
    return report
  }
}

extension TransferProgress.Amount {
  fileprivate func goesOn(from earlier: Self) -> Bool {
    files >= earlier.files && totalFiles >= earlier.totalFiles && bytes >= earlier.bytes
      && totalBytes >= earlier.totalBytes && files <= totalFiles && bytes <= totalBytes
  }
}

extension Datastore {
  /// Looks at all that progress says until the datastore is closed: no number ever falls, and none
  /// is above its total. The task's value is how many there were.
  func watchProgress() -> Task<Int, Never> {
    let changes = progressChanges
    return Task {
      var (last, count) = (TransferProgress(), 0)
      for await progress in changes {
        #expect(progress.fetched.goesOn(from: last.fetched), "\(last), then \(progress)")
        #expect(progress.published.goesOn(from: last.published), "\(last), then \(progress)")
        (last, count) = (progress, count + 1)
      }
      return count
    }
  }
}
