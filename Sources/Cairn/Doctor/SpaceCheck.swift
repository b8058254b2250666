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
    do throws(DiskError) {
      guard let free = try root.disk.freeBytes(root.root), free < max(least, largest) else {
        return []
      }
      let severity: Finding.Severity = free < least ? .error : .warning
      return [
        Finding(
          check: name, severity: severity,
          message: "\(root.root): \(free) bytes are free; compacting the largest datastore here "
            + "may need \(max(least, largest)). Free some space", file: root.root)
      ]
    } catch { return [] }
  }
}
