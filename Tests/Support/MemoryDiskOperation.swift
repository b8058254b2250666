internal import CairnDisk

/// One step that changes a simulated disk or makes something durable on it.
package struct MemoryDiskOperation: Equatable, Sendable {
  /// 1 for the first since the disk was made.
  package var number: Int
  /// As in `DiskError`: "write", "sync", "rename" …
  package var verb: String
  package var path: String
  /// The new name that a rename gives; nil for everything else.
  package var target: String?
}

/// Something that was read, listed, looked up, measured or opened on a simulated disk.
package struct MemoryDiskRead: Equatable, Sendable {
  /// 1 for the first since the disk was made.
  package var number: Int
  /// As in `DiskError`.
  package var verb: String
  package var path: String

  package init(number: Int, verb: String, path: String) {
    (self.number, self.verb, self.path) = (number, verb, path)
  }
}

/// A step or a read that failed because that was ordered.
package struct MemoryDiskStrike: Equatable, Sendable {
  /// Of the disk's steps, or of its reads.
  package var number: Int
  package var isRead: Bool
  /// As in `DiskError`.
  package var verb: String
  package var path: String

  package init(number: Int, isRead: Bool, verb: String, path: String) {
    (self.number, self.isRead) = (number, isRead)
    (self.verb, self.path) = (verb, path)
  }
}

/// A failure to come.
struct MemoryDiskFault {
  var number: Int
  var reason: DiskError.Reason
  var forever: Bool

  func strikes(_ current: Int) -> Bool { forever ? current >= number : current == number }
}
