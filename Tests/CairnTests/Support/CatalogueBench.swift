import Cairn
import CairnDisk
import TestSupport
import Testing

/// Installations of an account around one folder, all on a disk in memory.
final class CatalogueBench {
  private(set) var disk: MemoryDisk
  let clock: ManualClock
  let random: SeededRandom
  var options = Options()

  init(seed: UInt64 = 1) {
    clock = ManualClock()
    disk = MemoryDisk(clock: clock)
    random = SeededRandom(seed)
    options.durability = .none
    options.compactsAutomatically = false
  }

  var machine: Machine { Machine(disk: disk, clock: clock, random: random) }

  func manager(_ name: String, folder: String = "/folder") -> DatastoreManager {
    let machine = machine
    return DatastoreManager(
      root: "/" + name, account: Account(user: "ann", folder: .directory(folder)),
      folder: { DirectoryFolder(folder, machine: machine) }, options: options, machine: machine)
  }

  /// One whose requests go through a hook.
  func manager(_ name: String, _ hook: HookedFolder.Switch) -> DatastoreManager {
    let machine = machine
    return DatastoreManager(
      root: "/" + name, account: Account(user: "ann", folder: .directory("/folder")),
      folder: { HookedFolder(base: DirectoryFolder("/folder", machine: machine), hook: hook) },
      options: options, machine: machine)
  }

  /// One that sees the files of its root by way of another disk.
  func manager(_ name: String, on disk: any Disk) -> DatastoreManager {
    let place = machine
    return DatastoreManager(
      root: "/" + name, account: Account(user: "ann", folder: .directory("/folder")),
      folder: { DirectoryFolder("/folder", machine: place) }, options: options,
      machine: Machine(disk: disk, clock: clock, random: random))
  }

  func local(_ name: String) -> DatastoreManager {
    DatastoreManager(
      root: "/" + name, account: nil, folder: nil, options: options, machine: machine)
  }

  /// The power goes, and what the model leaves is the disk from now on.
  func crash(_ model: CrashModel) { disk = disk.crash(keep: model) }

  func use(_ disk: MemoryDisk) { self.disk = disk }

  func files(_ directory: String) -> [String] {
    disk.paths().filter { $0.hasPrefix(directory + "/") }.map {
      String($0.dropFirst(directory.count + 1))
    }
  }

  var catalogues: [String] { files("/folder/catalogue") }
}

extension DatastoreManager {
  /// The error that an exchange of the list ends with; nil if there is none.
  func refreshError() async -> CairnError? {
    do {
      try await refresh()
      return nil
    } catch { return error }
  }

  func ids() throws -> [String] { try listDatastores().map(\.id) }

  /// Opens it, lets `body` change it, commits, publishes, and closes it.
  func with(_ id: String, _ body: (Datastore) throws -> Void = { _ in }) async throws {
    let datastore = try openOrCreateDatastore(id)
    try body(datastore)
    try datastore.sync()
    if !isLocal {
      try await datastore.exchange()
      try datastore.sync()
      try await datastore.exchange()
    }
    try datastore.close()
  }
}

extension DatastoreManager {
  /// Ids of the records of a datastore, after an exchange.
  func content(_ id: String) async throws -> Set<String> {
    var ids: Set<String> = []
    try await with(id)
    try await with(id) { ids = try $0.ids() }
    return ids
  }
}

func failure(_ body: () throws -> Void) -> CairnError? {
  do {
    try body()
    return nil
  } catch { return error as? CairnError }
}

extension CatalogueBench {
  /// A content that `a` has attached, and `b` has taken over by its policy, or not; then `a` has
  /// deleted the datastore, and both know it.
  func deletePhoto(
    hasArrived: Bool
  ) async throws -> (a: DatastoreManager, b: DatastoreManager) {
    let (a, b) = (manager("a"), manager("b"))
    let first = try a.openDefaultDatastore()
    try first.addPhoto("r", sample(1))
    try await first.exchange()
    try first.close()
    try await a.refresh()
    let second = try b.openDefaultDatastore()
    try await second.pullAll()
    #expect(try second.content(of: "r") == (hasArrived ? sample(1) : nil))
    try second.close()
    try await b.refresh()
    try a.deleteDatastore("default")
    for _ in 0..<3 { for manager in [a, b] { try await manager.refresh() } }
    return (a, b)
  }
}
