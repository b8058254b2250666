package import Cairn
import CairnBytes
package import CairnDisk
import CairnLog
package import CairnMerge
package import CairnStore
import Synchronization
package import TestSupport

/// A disk with files of every kind there is: an account with two installations around a folder,
/// files that wait in an inbox, a copy in the trash, a move that was interrupted, and a store of
/// its own with many small segments. What is in a record follows from its id, so that any reader
/// can tell whether it is right.
package final class SampleWorld {
  package static let folder = "/folder"
  package static let storeDirectory = "/store"
  package static let storeIdentity: UInt128 = 0xCA17
  package static let accounts = "/accounts"

  package let disk: MemoryDisk
  package let clock: ManualClock
  let seed: UInt64

  private init(seed: UInt64) {
    clock = ManualClock()
    disk = MemoryDisk(clock: clock)
    self.seed = seed &* 1_000
  }

  package static func make(seed: UInt64) async throws -> SampleWorld {
    let world = SampleWorld(seed: seed)
    try world.makeStore()
    try await world.makeAccount()
    try await world.makeOthers()
    try world.makeMigration()
    return world
  }

  // MARK: contents

  /// Fields that follow from the id alone; half of the text can't be packed.
  package static func fields(_ id: String) -> [(String, FieldValue)] {
    let random = SeededRandom(XXH3.hash64(id))
    let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789+/ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    let text = String(decoding: random.bytes(600).map { letters[Int($0) & 63] }, as: UTF8.self)
    return [
      ("bytes", .bytes(random.bytes(500))), ("date", .date(Int64(random.below(1 << 40)))),
      ("double", .double(Double(random.below(10_000)) / 8)), ("flag", .bool(random.coin())),
      ("int", .int(Int64(bitPattern: random.next()))),
      ("list", .list([.int(Int64(random.below(9))), .string(id)])), ("text", .string(text)),
      ("zeros", .string(String(repeating: "same again ", count: 20))),
    ]
  }

  /// Whether a store's fields are those of the id.
  package static func isRight(_ id: String, _ found: [(String, FieldValue)]) -> Bool {
    let expected = fields(id)
    let sorted = found.sorted { $0.0 < $1.0 }
    return sorted.count == expected.count
      && zip(sorted, expected).allSatisfy { $0.0 == $1.0 && $0.1 == $1.1 }
  }

  /// The same as the public face shows it.
  package static func isRight(_ id: String, _ found: [String: Value]) -> Bool {
    let expected = fields(id)
    guard found.count == expected.count else { return false }
    return expected.allSatisfy { name, value in "\(found[name] ?? .bool(false))" == text(value) }
  }

  private static func text(_ value: FieldValue) -> String {
    "\(publicValue(value))"
  }

  private static func publicValue(_ value: FieldValue) -> Value {
    switch value {
    case .bool(let flag): .bool(flag)
    case .int(let number): .int(number)
    case .double(let number): .double(number)
    case .string(let text): .string(text)
    case .bytes(let bytes): .bytes(bytes)
    case .date(let time): .date(Timestamp(millisecondsSince1970: time))
    case .list(let items): .list(items.map(publicValue))
    }
  }

  // MARK: a store

  package static func machine(_ disk: MemoryDisk, seed: UInt64) -> Machine {
    Machine(disk: disk, clock: ManualClock(), random: SeededRandom(seed))
  }

  package static func openStore(
    _ disk: MemoryDisk, seed: UInt64 = 3
  ) throws(StoreError) -> Store {
    var options = StoreOptions()
    options.compactsAutomatically = false
    options.segmentBytes = 9 << 10
    return try Store.open(
      storeDirectory, datastore: storeIdentity, isLinked: true, options: options,
      machine: machine(disk, seed: seed))
  }

  package static let storeCommits = 84

  /// Ids of the store's records, in the order of their commits.
  package static func storeID(_ commit: Int) -> String { "s\(commit)" }

  private func makeStore() throws {
    let store = try SampleWorld.openStore(disk, seed: seed + 3)
    for commit in 0..<SampleWorld.storeCommits {
      let id = SampleWorld.storeID(commit)
      try store.insert(
        table: "t", id: RecordName(id), SampleWorld.fields(id).map { ($0.0, $0.1) })
      try store.sync()
      if commit == 14 { _ = try store.compact() }
    }
    try store.close()
  }

  // MARK: an account

  package static func manager(
    _ disk: MemoryDisk, _ root: String, seed: UInt64
  ) -> DatastoreManager {
    let machine = machine(disk, seed: seed)
    var options = Options()
    options.compactsAutomatically = false
    return DatastoreManager(
      root: root, account: Account(user: "ann", folder: .directory(folder)),
      folder: { DirectoryFolder(folder, machine: machine) }, options: options, machine: machine)
  }

  package static func accountManager(
    _ disk: MemoryDisk, seed: UInt64 = 5
  ) throws(CairnError) -> AccountManager {
    try AccountManager(
      directory: accounts, options: Options(), credentialStore: nil,
      machine: machine(disk, seed: seed))
  }

  private func makeAccount() async throws {
    try disk.createDirectory(SampleWorld.folder)
    let accounts = try SampleWorld.accountManager(disk, seed: seed + 5)
    _ = try accounts.link(
      Account(user: "ann", folder: .directory(SampleWorld.folder)),
      info: AccountInfo(userName: "Ann", orgName: "Wonderland"),
      credentials: .password(user: "ann", password: "rabbit"))
    let a = SampleWorld.manager(disk, "/a", seed: seed + 11)
    let b = SampleWorld.manager(disk, "/b", seed: seed + 12)
    // One that the other device deletes: its copy here goes to the trash.
    try await commit(b, "old", ["o0", "o1"])
    try await exchange(a, "old")
    try await a.refresh()
    try await b.refresh()
    try b.deleteDatastore("old")
    try await b.refresh()
    try await a.refresh()
    for part in 0..<3 {
      try await commit(a, "notes", (0..<5).map { "a\(part * 5 + $0)" })
      try await commit(b, "notes", (0..<5).map { "b\(part * 5 + $0)" }, compacts: part == 1)
    }
    // What was committed last is not published, and what is in the inbox was not taken.
    let notes = try a.openOrCreateDatastore("notes")
    _ = try notes.compact()
    _ = try await notes.exchange()
    for id in ["a15", "a16"] { try add(id, notes) }
    try notes.setTitle("Notes")
    _ = try notes.sync()
    try notes.close()
    try await commit(b, "notes", ["b15", "b16"])
    let later = try a.openDatastore("notes")
    _ = try await later.exchange()
    try later.close()
    for manager in [a, b] {
      try await manager.refresh()
      try manager.shutDown()
    }
  }

  func add(_ id: String, _ datastore: Datastore) throws {
    let fields = SampleWorld.fields(id).map { ($0.0, SampleWorld.publicValue($0.1)) }
    try datastore.table("t").insert(
      fields: Dictionary(fields) { first, _ in first }, id: RecordID(id))
    _ = try datastore.sync()
  }

  func commit(
    _ manager: DatastoreManager, _ id: String, _ records: [String], compacts: Bool = false
  ) async throws {
    let datastore = try manager.openOrCreateDatastore(id)
    for record in records { try add(record, datastore) }
    _ = try await datastore.exchange()
    if compacts { _ = try datastore.compact() }
    _ = try await datastore.exchange()
    try datastore.close()
  }

  func exchange(_ manager: DatastoreManager, _ id: String) async throws {
    let datastore = try manager.openOrCreateDatastore(id)
    _ = try await datastore.exchange()
    _ = try datastore.sync()
    _ = try await datastore.exchange()
    try datastore.close()
  }

  // MARK: a move

  /// MIGRATION as it lies there while datastores move: the move is watched, and the file kept.
  private func makeMigration() throws {
    let side = MemoryDisk(clock: clock)
    let machine = Machine(disk: side, clock: clock, random: SeededRandom(seed + 14))
    let local = DatastoreManager(
      root: "/l", account: nil, folder: nil, options: Options(), machine: machine)
    let datastore = try local.openDefaultDatastore()
    try add("m0", datastore)
    try datastore.close()
    let seen = Lock<[String: [UInt8]]>([:])
    side.intercept { _ in
      for path in ["/l/MIGRATION", "/m/MIGRATION"] {
        if let bytes = side.bytes(path) { seen.withLock { $0[path] = bytes } }
      }
      return nil
    }
    try local.migrate(to: SampleWorld.manager(side, "/m", seed: seed + 13))
    side.intercept(nil)
    for (path, bytes) in seen.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
      try disk.setBytes("/moving" + path, bytes)
    }
  }
}

extension SampleWorld {
  /// What kind of file a path is; nil for locks and for what is only kept for people.
  package static func kind(_ path: String) -> FileKind? {
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    switch name {
    case "CURRENT": return .current
    case "PUBLISHED": return .publication
    case "INFO": return .info
    case "CATALOGUE": return .installation
    case "ACCOUNTS": return .accounts
    case "MIGRATION": return .migration
    case "CHAINS": return .chains
    case "HELD": return .held
    case "ROLE": return .role
    case "cairn.json": return .identity
    default: break
    }
    if path.contains("/secrets/") { return .credentials }
    if name.hasSuffix(".head") { return .head }
    if name.hasSuffix(".cat") { return .catalogue }
    if name.hasSuffix(".del") { return .deleted }
    if name.hasSuffix(".snap") { return .snapshot }
    if FileName.published(name) != nil { return .published }
    if name.hasSuffix(".seg") { return .segment }
    return nil
  }
}
