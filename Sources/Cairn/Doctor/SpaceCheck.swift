internal import CairnDisk
internal import CairnLog

/// Room for what is to be written: a compaction needs as much as the snapshot that it makes.
enum SpaceCheck {
  static let name = "space"
  /// Below this much a few commits fill the disk.
  private static let least: UInt64 = 16 << 20

  static func run(_ root: ExaminedRoot) -> [Finding] {
    var largest: UInt64 = 0
    for datastore in root.datastores() {
      let sizes = [FileName.log, FileName.snapshots].map { part in
        root.listed(datastore.directory + "/" + part).reduce(0) { $0 + $1.info.size }
      }
      largest = max(largest, sizes.reduce(0, +))
    }
    let free = freeBytes(root.root, root)
    return home(root, free, largest) + folder(root, besides: free)
  }

  /// Of a server nobody knows, and who follows publishes nothing.
  ///
  /// - Parameter home: What is free for the root. To the byte as much in the folder is the same
  ///   file system, of which that finding tells.
  private static func folder(_ root: ExaminedRoot, besides home: UInt64?) -> [Finding] {
    guard root.following == nil, case .directory(let path) = root.account?.folder,
      let free = freeBytes(path, root), free < least, free != home
    else { return [] }
    return [
      Finding(
        check: name, severity: .warning,
        message: "\(path): \(free) bytes are free in the shared folder: what is to be published "
          + "may find no room there. Free some space", file: path)
    ]
  }

  private static func home(
    _ root: ExaminedRoot, _ free: UInt64?, _ largest: UInt64
  ) -> [Finding] {
    guard let free, free < max(least, largest) else { return [] }
    return [
      Finding(
        check: name, severity: free < least ? .error : .warning,
        message: "\(root.root): \(free) bytes are free; compacting the largest datastore here "
          + "may need \(max(least, largest)). Free some space", file: root.root)
    ]
  }

  /// nil where that can't be told.
  private static func freeBytes(_ path: String, _ root: ExaminedRoot) -> UInt64? {
    do { return try root.disk.freeBytes(path) } catch { return nil }
  }
}
