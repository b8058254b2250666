internal import CairnDisk
internal import CairnLog

/// What has to be read and written can be.
enum PermissionCheck {
  static let name = "permissions"

  static func run(_ root: ExaminedRoot) -> [Finding] {
    var findings = look(root.root, root, datastore: nil)
    for entry in root.listed(root.root) {
      let id = FileName.generation(directory: entry.name)?.id
      guard id != nil || entry.name == FileName.followed else { continue }
      let path = root.root + "/" + entry.name
      findings += look(path, root, datastore: id)
      for part in [FileName.log, FileName.snapshots, FileName.current] {
        findings += look(path + "/" + part, root, datastore: id)
      }
    }
    return findings
  }

  private static func look(_ path: String, _ root: ExaminedRoot, datastore: String?) -> [Finding] {
    var problem: String?
    do throws(DiskError) {
      guard let info = try root.disk.info(path) else { return [] }
      switch info.kind {
      case .directory: _ = try root.disk.list(path)
      case .file: try root.disk.open(path, .read).close()
      case .other: problem = "it is a link, a pipe or a device, and not followed"
      }
      // The root itself may be a link.
      if info.kind == .other, path == root.root { problem = nil }
      if problem == nil, !root.disk.isWritable(path) {
        problem = "it can't be written to: check its owner and mode, and how the disk is mounted"
      }
    } catch { problem = "\(error)" }
    guard let problem else { return [] }
    return [
      Finding(
        check: name, severity: .error, datastore: datastore, message: "\(path): \(problem)",
        file: path)
    ]
  }
}
