import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Devices that have objects, with a disk each, around two folders.
final class MappingBench {
  struct Note: TableModel, Equatable {
    static let table = "notes"
    static let rules: [String: ResolutionRule] = ["stars": .sum, "best": .max]

    var text: String
    var stars = 0
    var best: Int?
    var tags: [String] = []
    var place: String?
  }

  /// Stays where it is written.
  struct Draft: TableModel, Equatable {
    static let table = "drafts"

    var text: String
  }

  static let note: ObjectMapping = .synced(Note.self)
  static let draft: ObjectMapping = .local(Draft.self)

  let clock = ManualClock()
  private(set) var disks: [String: MemoryDisk] = [:]
  /// By the name of the folder.
  private(set) var folders: [String: MemoryDisk] = [:]
  /// Before each request to a folder.
  let hook = HookedFolder.Switch()
  var options = Options()
  private var seed: UInt64

  init(seed: UInt64 = 1) {
    self.seed = seed &* 1000
    options.compactsAutomatically = false
    options.graceSeconds = 0
  }

  func disk(_ name: String) -> MemoryDisk {
    if let disk = disks[name] { return disk }
    let disk = MemoryDisk(clock: clock)
    disks[name] = disk
    return disk
  }

  func folder(_ name: String) -> MemoryDisk {
    if let disk = folders[name] { return disk }
    let disk = MemoryDisk(clock: clock)
    folders[name] = disk
    return disk
  }

  func use(_ disk: MemoryDisk, for name: String) { disks[name] = disk }
  func use(_ disk: MemoryDisk, folder: String) { folders[folder] = disk }

  private func machine(_ disk: MemoryDisk) -> Machine {
    seed += 1
    return Machine(disk: disk, clock: clock, random: SeededRandom(seed))
  }

  /// The datastore of a device in a folder.
  func remote(
    _ name: String, _ folder: String = "main", of account: String? = nil
  ) throws -> Datastore {
    let place = machine(self.folder(account ?? folder))
    let hook = hook
    return try DatastoreManager(
      root: "/" + folder, account: Account(user: name, folder: .directory("/folder")),
      folder: { HookedFolder(base: DirectoryFolder("/folder", machine: place), hook: hook) },
      options: options, machine: machine(disk(name))
    ).openOrCreateDatastore("shared")
  }

  func local(_ name: String) -> DatastoreManager {
    DatastoreManager(
      root: "/local", account: nil, folder: nil, options: options, machine: machine(disk(name)))
  }

  /// Opens what a device has.
  func open(
    _ name: String, _ mappings: [ObjectMapping]? = nil, routes: [String] = ["main"],
    account: String? = nil, version: MappingVersion = MappingVersion("1"), suspendCount: Int = 0,
    onFailure: ObjectStore.FailureHandler? = nil
  ) async throws -> MappingDevice {
    var remotes: [String: Datastore] = [:]
    for route in routes { remotes[route] = try remote(name, route, of: account) }
    let store = try await ObjectStore.open(
      in: local(name), remotes: remotes, mappings: mappings ?? [Self.note, Self.draft],
      version: version, suspendCount: suspendCount, onFailure: onFailure)
    return MappingDevice(bench: self, name: name, store: store, remotes: remotes)
  }

  /// Rounds until nothing moves. Returns whether that came.
  @discardableResult
  func settle(_ devices: [MappingDevice]) async throws -> Bool {
    for _ in 0..<16 {
      var isQuiet = true
      for device in devices {
        clock.advance(by: 7)
        let report = try await device.store.exchange()
        if !report.changes.isEmpty || report.merges > 0 || device.store.outbox.pending > 0
          || !report.exchanges.values.allSatisfy(\.isIdle)
        {
          isQuiet = false
        }
      }
      if isQuiet { return true }
    }
    return false
  }
}

/// A device's object store and the datastores that it leads to.
struct MappingDevice {
  typealias Note = MappingBench.Note

  let bench: MappingBench
  let name: String
  let store: ObjectStore
  let remotes: [String: Datastore]

  var main: Datastore {
    get throws { try #require(remotes["main"]) }
  }

  func note(_ id: RecordID) throws -> Note? { try store.objects(Note.self).get(id) }

  func record(_ id: RecordID, _ route: String = "main") throws -> [String: Value]? {
    try #require(remotes[route]).table("notes").record(id)?.fields
  }

  func insert(_ note: Note, _ id: RecordID) async throws {
    bench.clock.advance(by: 3)
    try await store.write { objects throws(CairnError) in try objects.insert(note, id: id) }
  }

  func update(_ id: RecordID, _ change: @escaping @Sendable (inout Note) -> Void) async throws {
    bench.clock.advance(by: 3)
    try await store.write { objects throws(CairnError) in
      try objects.update(Note.self, id, change: change)
    }
  }

  func delete(_ id: RecordID) async throws {
    bench.clock.advance(by: 3)
    try await store.write { objects throws(CairnError) in try objects.delete(Note.self, id) }
  }

  func exchange() async throws -> ObjectReport {
    bench.clock.advance(by: 3)
    return try await store.exchange()
  }

  func close() async throws {
    try await store.close()
    for remote in remotes.values { try remote.close() }
  }

  /// What the queue would upload, in short: `+id`, `id.field`, `-id`, a list for each set.
  func queue() async throws -> [[String]] {
    try await store.pendingChangeSets().map { set in
      set.changes.flatMap { change -> [String] in
        switch change.kind {
        case .insert: ["+\(change.object)"]
        case .delete: ["-\(change.object)"]
        default: change.fields.keys.sorted().map { "\(change.object).\($0)" }
        }
      }
    }
  }

  /// Its notes by id.
  func notes() throws -> [RecordID: Note] {
    let all = try store.objects(Note.self).objects()
    return Dictionary(all.map { ($0.id, $0.object) }) { first, _ in first }
  }
}
