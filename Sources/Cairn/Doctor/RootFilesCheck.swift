internal import CairnDisk
internal import CairnLog

/// Files and directories of a root that are none of ours, or left over.
enum RootFilesCheck {
  static let name = "files"

  /// Everything that a root has besides datastores.
  private static let known: Set<String> = [
    FileName.installation, FileName.installationLock, FileName.exchangeLock, FileName.journal,
    FileName.migrationLock, FileName.trash, FileName.quarantine, FileName.following,
    FileName.followed,
  ]

  static func run(_ root: ExaminedRoot) -> [Finding] {
    let entries = root.listed(root.root)
    let isMoving = entries.contains { $0.name == FileName.journal }
    var findings: [Finding] = []
    for entry in entries {
      let path = root.root + "/" + entry.name
      if FileName.isTemporary(entry.name) {
        findings.append(
          finding(path, "left over by something that was interrupted; it goes by itself"))
      } else if FileName.stagingToken(entry.name) != nil {
        if isMoving { continue }
        findings.append(
          finding(
            path, "a datastore that was being put together; what was interrupted is forgotten, and "
              + "this goes by itself a week after it was last changed"))
      } else if !known.contains(entry.name), !isDatastore(entry), !PlaceCheck.isRoot(path, root) {
        findings.append(finding(path, "it is none of the library's files; nothing reads it"))
      }
    }
    return findings + QuarantineCheck.run(root.root, of: root, datastore: nil)
  }

  private static func isDatastore(_ entry: DirectoryEntry) -> Bool {
    entry.info.kind == .directory && FileName.generation(directory: entry.name) != nil
  }

  private static func finding(_ path: String, _ message: String) -> Finding {
    Finding(check: name, severity: .note, message: "\(path): \(message)", file: path)
  }
}
