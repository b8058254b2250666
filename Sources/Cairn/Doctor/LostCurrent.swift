internal import CairnDisk
internal import CairnLog

/// A datastore's directory that has lost its CURRENT is no place where nothing is.
///
/// What a crash leaves of one that was being created has no log and no snapshot yet, and one that
/// is removed gets another name before anything of it goes: neither is taken for damage. One that
/// can't be renamed loses its CURRENT first: what a crash leaves of it looks damaged, and can be
/// deleted once more; a repair would bring back what is left of it.
enum LostCurrent {
  /// Throws `corrupt` where CURRENT is missing although there is a log or a snapshot.
  static func check(_ directory: String, id: String, disk: any Disk) throws(CairnError) {
    do throws(DiskError) { if try !isLost(directory, disk: disk) { return } } catch {
      throw CairnError(error)
    }
    let current = directory + "/" + FileName.current
    throw CairnError(
      .corrupt,
      "\(current) is missing although there is a log or a snapshot; \(id) has to be repaired first",
      file: current, id: id)
  }

  /// Whether CURRENT is missing although there is a log or a snapshot.
  static func isLost(_ directory: String, disk: any Disk) throws(DiskError) -> Bool {
    let current = directory + "/" + FileName.current
    guard try disk.info(current) == nil, try hasContent(directory, disk),
      // Another process may have created it, or removed it, since that was looked at.
      try disk.info(current) == nil, try disk.info(directory) != nil
    else { return false }
    return true
  }

  /// Whether there is nothing but what a crash leaves of one that was being created. For who has
  /// its lock: without that somebody may be creating it just now.
  static func isUnborn(_ directory: String, disk: any Disk) throws(DiskError) -> Bool {
    guard try disk.info(directory)?.kind == .directory else { return false }
    // Anything else there, be it a copy of a segment under another name, is somebody's.
    for entry in try disk.list(directory) {
      switch entry.name {
      case FileName.log, FileName.snapshots:
        guard entry.info.kind == .directory,
          try disk.list(directory + "/" + entry.name).allSatisfy({
            $0.info.kind == .file && FileName.isTemporary($0.name)
          })
        else { return false }
      default:
        guard entry.info.kind == .file,
          entry.name == FileName.lock || FileName.isTemporary(entry.name)
        else { return false }
      }
    }
    return true
  }

  private static func hasContent(
    _ directory: String, _ disk: any Disk
  ) throws(DiskError) -> Bool {
    for part in [FileName.log, FileName.snapshots] {
      guard try disk.info(directory + "/" + part)?.kind == .directory else { continue }
      let names = try disk.list(directory + "/" + part).map(\.name)
      let isOurs = names.contains {
        FileName.segmentNumber($0) != nil || FileName.snapshotNumber($0) != nil
      }
      if isOurs { return true }
    }
    return false
  }
}
