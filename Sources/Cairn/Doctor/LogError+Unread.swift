internal import CairnDisk
internal import CairnLog

extension LogError {
  /// Nothing is known to be wrong with the file: it is a newer version's, or the disk does not give
  /// it. What mends damage would destroy what is whole, or be refused.
  var saysUnread: Bool {
    switch reason {
    case .needsNewerVersion: true
    case .disk(let disk): disk.reason != .notFound
    default: false
    }
  }
}
