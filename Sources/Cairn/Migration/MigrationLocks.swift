internal import CairnDisk
internal import CairnLog

/// The MIGRATION.LOCK files that somebody holds: only who has that of a root moves datastores into
/// or out of it, completes a move or takes it back. That of local datastores is taken first.
struct MigrationLocks {
  private let machine: Machine
  private var held: [(place: String, lock: any DiskLock)] = []

  init(machine: Machine) { self.machine = machine }

  /// Tries of about a millisecond each: a move that only has to be completed is a matter of
  /// moments, another one is not waited for.
  private static let attempts = 20

  /// Takes the lock of a root that is there; one that is held already is fine, by another path
  /// too.
  ///
  /// - Throws: `retryLater` if somebody else has it.
  mutating func take(_ root: String) throws(CairnError) {
    // Of a link the disk tells the link's number, and two drives may have the same one.
    let place = PathName.absolute(root)
    if held.contains(where: { $0.place == place }) { return }
    do throws(DiskError) {
      if try machine.disk.info(root) == nil { return }
      for attempt in 1...MigrationLocks.attempts {
        do throws(DiskError) {
          let lock = try machine.disk.lock(root + "/" + FileName.migrationLock)
          return held.append((place, lock))
        } catch {
          if error.reason != .locked || attempt == MigrationLocks.attempts { throw error }
          Pause.brief()
        }
      }
    } catch {
      if error.reason != .locked { throw CairnError(error) }
      throw CairnError(
        .retryLater, "datastores are being moved into \(root) or out of it just now, by another "
          + "thread or process; try again when that has ended",
        file: root + "/" + FileName.migrationLock)
    }
  }

  /// Gives all of them back.
  mutating func release() {
    for (_, lock) in held { lock.unlock() }
    held = []
  }
}
