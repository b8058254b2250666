internal import CairnBytes
internal import CairnDisk
package import CairnLog
internal import CairnStore
internal import Synchronization

/// ROLE: what the user may do in a datastore, for lists of datastores that are not open. A note
/// that can be made again: nothing depends on it, so failures to write or read it are no errors.
///
/// In a local datastore, in which nobody has a role, it says that it was created there: the user of
/// the account that it is moved to becomes its owner. That can't be made again.
///
///     "CAIRNROL" · version u16 · floor u16 · zero u32 · role i64 · XXH3-64 of all before
package final class RoleNote: Sendable {
  static let magic: [UInt8] = Array("CAIRNROL".utf8)
  static let size = 32
  private let directory: String
  private let machine: Machine
  /// The open store whose directory it is; nil for one that only reads.
  private let store: Store?
  private let noted = Lock<Role?>(nil)

  init(directory: String, machine: Machine, store: Store? = nil) {
    self.directory = directory
    self.machine = machine
    self.store = store
  }

  package static func encode(_ role: Role) -> [UInt8] {
    var out = SealedFile.begin(magic)
    out.put(UInt64(bitPattern: role.rawValue))
    SealedFile.seal(&out)
    return out
  }

  package static func decode(_ bytes: [UInt8], path: String) throws(LogError) -> Role {
    _ = try SealedFile.open(bytes, magic: magic, what: "a role", path: path)
    guard bytes.count == size else {
      throw LogError(.corrupt, path, at: UInt64(size), "the length is wrong")
    }
    return Role(rounding: Int64(bitPattern: bytes.u64(at: 16)))
  }

  func read() -> Role? {
    let path = directory + "/" + FileName.role
    do {
      let bytes = try DurableFile.read(path, limit: RoleNote.size, disk: machine.disk)
      return try bytes.map { bytes throws(LogError) in try RoleNote.decode(bytes, path: path) }
    } catch { return nil }
  }

  func note(_ role: Role) {
    // In a forked child the file is the parent's, and the lock below may be held for ever.
    do throws(StoreError) { try store?.checkProcess() } catch { return }
    noted.withLock { noted in
      if noted == role { return }
      do {
        if read() != role {
          try store?.replaceFile(FileName.role, RoleNote.encode(role), durable: false)
        }
        noted = role
      } catch {
        // Tried again after the next sync, and when the datastore is closed.
      }
    }
  }

  // MARK: local datastores

  /// Notes, durably, that one was created. Its id does not tell: it could as well have been opened
  /// under one that somebody else has made.
  static func noteCreated(_ store: Store) throws(StoreError) {
    try store.replaceFile(FileName.role, encode(.owner))
  }

  /// Whether that was noted. A file that is damaged says nothing.
  static func isCreated(_ directory: String, machine: Machine) throws(CairnError) -> Bool {
    let path = directory + "/" + FileName.role
    do throws(LogError) {
      guard let bytes = try DurableFile.read(path, limit: size, disk: machine.disk) else {
        return false
      }
      return try decode(bytes, path: path) == .owner
    } catch {
      // Of one that can't be read just now nobody knows what it says.
      if error.saysUnread { throw CairnError(error) }
      return false
    }
  }
}
