import Cairn
import CairnDisk
import Synchronization
import TestSupport

@testable import CairnS3
@testable import CairnWebDAV

/// A device with a disk and a clock of its own, which go wrong as real ones do.
struct FaultDevice {
  let name: String
  let clock: ManualClock
  private(set) var disk: MemoryDisk
  private(set) var datastore: Datastore
  /// Ids that it has inserted and that no backup has taken back.
  var own: Set<String> = []
  /// Those that it had published when it was last asked.
  var safe: Set<String> = []
  private(set) var backup: MemoryDisk?

  private let open: @Sendable (MemoryDisk) throws -> Datastore

  /// - Parameter folder: Opens the folder with the clock of a device.
  init(
    _ name: String, _ seed: UInt64, disk given: MemoryDisk? = nil, id: String, options: Options,
    folder: @escaping @Sendable (Machine) throws -> any Folder
  ) throws {
    self.name = name
    let clock = ManualClock(1_800_000_000_000)
    let random = SeededRandom(seed)
    open = { disk in
      let machine = Machine(disk: disk, clock: clock, random: random)
      // Each time a new process, which knows nothing of the server.
      let opened = try folder(machine)
      return try DatastoreManager(
        root: "/app", account: Account(user: "ann", folder: .directory("/nowhere")),
        folder: { opened }, options: options, machine: machine
      ).openOrCreateDatastore(id)
    }
    (self.clock, disk) = (clock, given ?? MemoryDisk(clock: clock))
    datastore = try open(disk)
  }

  /// The process ends, and another one begins on the disk that is left.
  mutating func restart(on left: MemoryDisk? = nil) throws {
    disk.heal()
    // What was broken says so; and what closing writes is on a disk that nobody looks at any more,
    // if another one is left.
    try? datastore.close()
    disk = left ?? disk
    datastore = try open(disk)
  }

  /// Keeps what is on the disk, unless there is a backup already.
  mutating func backUp() throws {
    guard backup == nil else { return }
    try datastore.close()
    backup = disk.snapshot()
    datastore = try open(disk)
  }

  /// What was not published since is gone: nobody else ever saw it.
  mutating func restore() throws {
    guard let kept = backup else { return }
    try datastore.close()
    (disk, backup) = (kept, nil)
    own = safe
    datastore = try open(disk)
  }

  /// What somebody has who copies it; nothing happens to it meanwhile.
  mutating func image() throws -> MemoryDisk {
    try datastore.close()
    let image = disk.snapshot()
    datastore = try open(disk)
    return image
  }
}
