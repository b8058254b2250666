import CairnLog

/// The names that may be written into the folder, and kept at home.
enum FolderGrammar {
  static func check(_ path: String) throws(TortureFailure) {
    let (directory, name) = MemoryFolder.View.split(path)
    let isRight =
      switch directory {
      case "": name == FileName.folderIdentity
      case FileName.catalogue: FileName.catalogueInstallation(name) != nil
      default:
        FileName.generation(directory: directory) != nil
          && (FileName.headDevice(name) != nil || FileName.published(name) != nil
            || FileName.sharedSnapshot(name) != nil)
      }
    let isPlain = path.utf8.allSatisfy {
      (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 46 || $0 == 47
        || $0 == 95
    }
    if !isRight || !isPlain { throw TortureFailure("a device writes \(path)") }
  }

  /// Files of a closed store, by path below the root.
  static func isHome(_ path: String) -> Bool {
    let parts = path.split(separator: "/").map(String.init)
    guard let name = parts.last else { return false }
    if parts.count == 1 {
      return [
        FileName.installation, FileName.installationLock, FileName.exchangeLock,
        FileName.migrationLock,
      ].contains(name)
    }
    if parts.count == 2 {
      if parts[0] == FileName.quarantine { return !FileName.isTemporary(name) }
      return [
        FileName.lock, FileName.current, FileName.publication, FileName.info, FileName.role,
        FileName.chains,
      ].contains(name)
    }
    switch parts[1] {
    case FileName.log: return FileName.segmentNumber(name) != nil
    case FileName.snapshots: return FileName.snapshotNumber(name) != nil
    case FileName.inbox: return name == FileName.held || FileName.published(name) != nil
    case FileName.quarantine: return !FileName.isTemporary(name)
    case FileName.trash: return FileName.deletedNumber(name) != nil
    case FileName.blobs:
      return name == FileName.unusedBlobs || FileName.blob(name) != nil
        || FileName.blobPart(name) != nil
    default: return FileName.outboxNumber(parts[1]) != nil
    }
  }
}
