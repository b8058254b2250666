public import Cairn
internal import CairnDisk
internal import CairnLog

extension CouchDBStore {
  /// Opens a datastore, and starts with a copy of one that was shipped if there is none of that id
  /// yet. Only the first start copies; what was shipped is never written to.
  ///
  /// - Parameters:
  ///   - id: The id of the datastore, here and in what was shipped.
  ///   - root: The root of a local manager, whose datastore was closed, as the app brings it along.
  ///   - manager: A local one: devices that meet in a folder must not be copies of one another.
  /// - Throws: `invalidOperation` for the manager of an account; `notFound` if nothing of that id
  ///   was shipped; `alreadyOpen` if it is open, or being copied, elsewhere; errors of the disk:
  ///   nothing is left then, and the next start tries again.
  public static func open(
    _ id: String, shipped root: String, in manager: DatastoreManager, typeField: String = "type",
    parentField: String = "parent_id", tagsField: String = "tags"
  ) throws(CairnError) -> CouchDBStore {
    guard manager.isLocal else {
      throw CairnError(
        .invalidOperation,
        "only a local datastore starts from one that was shipped: devices that "
          + "meet in a folder must not be copies of one another", id: id)
    }
    guard Datastore.isValidId(id) else {
      throw CairnError(.illegalArgument, "\"\(id)\" can't be the id of a datastore", id: id)
    }
    let name = FileName.directory(datastore: id)
    let (source, target) = (root + "/" + name, manager.root + "/" + name)
    do throws(DiskError) {
      let disk = Machine.real.disk
      if try disk.info(target + "/" + FileName.current) == nil {
        guard try disk.info(source + "/" + FileName.current) != nil else {
          throw DiskError(reason: .notFound, operation: "start from", path: source)
        }
        let draft = manager.root + "/" + FileName.staging(draftNumber, name)
        try copy(source, to: target, by: draft, disk)
        try disk.syncDirectory(manager.root)
      }
    } catch { throw CairnError(error) }
    return CouchDBStore(
      try manager.openDatastore(id), typeField: typeField, parentField: parentField,
      tagsField: tagsField)
  }

  private static let pieceBytes = 1 << 20
  /// Always the same, so that a start finds what one has left that was killed. Others who put a
  /// datastore together beside its place have a random one.
  private static let draftNumber: UInt64 = 0

  /// One at a time: who copies has the lock of the draft.
  private static func copy(
    _ source: String, to target: String, by draft: String, _ disk: any Disk
  ) throws(DiskError) {
    try disk.createDirectory(draft)
    let lock = try disk.lock(draft + "/" + FileName.lock)
    // It would be that of the datastore, once this is in its place.
    defer { lock.unlock() }
    do throws(DiskError) {
      for entry in try disk.list(draft) where entry.name != FileName.lock {
        try disk.removeTree(draft + "/" + entry.name)
      }
      try copy(source, to: draft, disk)
      try disk.rename(draft, to: target)
    } catch {
      // The first error says more.
      do { try disk.removeTree(draft) } catch {}
      throw error
    }
  }

  private static func copy(
    _ source: String, to target: String, _ disk: any Disk
  ) throws(DiskError) {
    try disk.createDirectory(target)
    // Locks are made where they are needed, and that of the draft is held.
    for entry in try disk.list(source) where entry.name != FileName.lock {
      let (from, to) = (source + "/" + entry.name, target + "/" + entry.name)
      switch entry.info.kind {
      case .directory: try copy(from, to: to, disk)
      case .file: try copy(file: from, to: to, disk)
      default: break
      }
    }
    try disk.syncDirectory(target)
  }

  private static func copy(
    file source: String, to target: String, _ disk: any Disk
  ) throws(DiskError) {
    let (input, output) = (try disk.open(source, .read), try disk.open(target, .create))
    defer {
      input.close()
      output.close()
    }
    var place: UInt64 = 0
    while true {
      let bytes = try input.read(at: place, count: pieceBytes)
      if bytes.isEmpty { break }
      try output.write(bytes.span, at: place)
      place += UInt64(bytes.count)
    }
    try output.sync()
  }
}
