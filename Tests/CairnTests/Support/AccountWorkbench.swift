import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// An account manager on a simulated disk, with a folder beside it.
struct AccountWorkbench {
  static let directory = "/cairn-bench/accounts"
  static let folder = "/cairn-bench/folder"
  let disk: MemoryDisk

  init() throws {
    disk = MemoryDisk()
    try disk.createDirectory("/cairn-bench")
  }

  var account: Account { Account(user: "ann", folder: .directory(Self.folder)) }
  var credentials: Credentials { .password(user: "ann", password: "wonderland") }

  func manager(_ seed: UInt64 = 1) throws -> AccountManager { try Self.manager(disk, seed) }

  static func manager(_ disk: MemoryDisk, _ seed: UInt64 = 2) throws -> AccountManager {
    try AccountManager(
      directory: directory, options: Options(), credentialStore: nil,
      machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(seed)))
  }

  /// For a manager whose folders are behind a hook.
  var hookedAccount: Account {
    Account(user: "ann", folder: .server(ServerFolder("hooked://bench/folder")))
  }

  /// One that opens that folder, which is the same directory.
  func manager(_ hook: HookedFolder.Switch) throws -> AccountManager {
    let machine = Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1))
    var options = Options()
    options.folderKinds = [
      FolderKind(schemes: ["hooked"]) { (_, _) throws(CairnError) in
        HookedFolder(base: DirectoryFolder(Self.folder, machine: machine), hook: hook)
      }
    ]
    return try AccountManager(
      directory: Self.directory, options: options, credentialStore: nil, machine: machine)
  }

  /// What lies in the directory of the accounts, besides the list and the lock.
  static func files(_ disk: MemoryDisk) -> [String] {
    disk.paths().filter {
      $0.hasPrefix(directory) && !$0.hasSuffix("/ACCOUNTS") && !$0.hasSuffix("accounts/LOCK")
    }
  }

  static func folderFiles(_ disk: MemoryDisk) -> [String: [UInt8]] {
    let paths = disk.paths().filter { $0.hasPrefix(folder + "/") }
    return Dictionary(uniqueKeysWithValues: paths.map { ($0, disk.bytes($0) ?? []) })
  }
}

/// The code of what a call throws; nil if it throws nothing.
func code(_ body: () throws -> Void) -> CairnError.Code? {
  do {
    try body()
    return nil
  } catch { return (error as? CairnError)?.code }
}
