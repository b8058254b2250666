internal import CairnBytes
internal import CairnDisk
package import CairnLog

/// MIGRATION, in a root: datastores are being moved into it or out of it.
///
///     "CAIRNMIG" · version u16 · floor u16 · flags u32 · token u64 · other root string ·
///     items (count; directory string, source string) · XXH3-64 of everything before
///
/// In the root that they are moved to, the file says that everything is there, in staging
/// directories of that token: from then on they only go forward, into their places. In the root
/// that they are moved from, it says that they may be gone: the other root's file decides.
package struct MigrationJournal: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNMIG".utf8)
  static let bytesMax = 16 << 20

  /// This root is the one that is moved to.
  static let flagTarget: UInt32 = 1
  /// All directories are in their places.
  static let flagInstalled: UInt32 = 2

  var flags: UInt32
  /// Random: one move.
  var token: UInt64
  /// The other root, empty if both are one.
  var other: String
  var items: [Item]

  package struct Item: Equatable, Sendable {
    /// Name of a directory of this root: where it goes (or, in the other file, where it was).
    package var directory: String
    /// Directory of the same root that has become a part of it and goes to the trash; or empty.
    package var source: String
  }

  var isTarget: Bool { flags & MigrationJournal.flagTarget != 0 }
  var isInstalled: Bool { flags & MigrationJournal.flagInstalled != 0 }

  package init(flags: UInt32, token: UInt64, other: String, items: [Item]) {
    self.flags = flags
    self.token = token
    self.other = other
    self.items = items
  }

  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(MigrationJournal.magic, word: flags)
    out.put(token)
    out.putString(other)
    out.putVarint(items.count)
    for item in items {
      out.putString(item.directory)
      out.putString(item.source)
    }
    SealedFile.seal(&out)
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: MigrationJournal.magic, least: 10, what: "a MIGRATION file", path: path,
      advice: "restore it: it says where datastores are")
    flags = bytes.u32(at: 12)
    items = []
    do throws(DecodeError) {
      token = try reader.u64()
      other = try reader.string()
      for _ in 0..<(try reader.count(minimumSize: 2)) {
        let directory = try reader.string()
        let source = try reader.string()
        // What is moved and removed is never steered by anything but names of datastores.
        guard FileName.generation(directory: directory) != nil,
          source.isEmpty || FileName.generation(directory: source) != nil
        else { throw .malformed("no directory of a datastore") }
        items.append(Item(directory: directory, source: source))
      }
      guard reader.isAtEnd else { throw .malformed("too long") }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "a MIGRATION file") }
  }

  /// What became of the other root: which datastores were moved from, or were to be moved to.
  enum Origin {
    case there
    /// What is around it is there, and it is not: nobody will use it.
    case gone
    /// Not even that is there: a drive is not connected, or the app's directory has moved.
    case away
  }

  func origin(_ disk: any Disk) throws(CairnError) -> Origin {
    let above = String(other[..<(other.lastIndex(of: "/") ?? other.startIndex)])
    do throws(DiskError) {
      if try disk.info(other) != nil { return .there }
      return try disk.info(above.isEmpty ? "/" : above) != nil ? .gone : .away
    } catch { throw CairnError(error) }
  }

  // MARK: the file

  static func read(_ root: String, disk: any Disk) throws(CairnError) -> MigrationJournal? {
    let path = root + "/" + FileName.journal
    do throws(LogError) {
      return try DurableFile.read(path, limit: bytesMax, disk: disk).map { bytes throws(LogError) in
        try MigrationJournal(bytes, path: path)
      }
    } catch { throw CairnError(error) }
  }

  func write(_ root: String, machine: Machine) throws(CairnError) {
    do throws(LogError) {
      try DurableFile.replace(
        directory: root, name: FileName.journal, bytes: encoded(), machine: machine)
    } catch { throw CairnError(error) }
  }

  static func remove(_ root: String, disk: any Disk) throws(CairnError) {
    do throws(DiskError) {
      try disk.remove(root + "/" + FileName.journal)
      try disk.syncDirectory(root)
    } catch { throw CairnError(error) }
  }
}
