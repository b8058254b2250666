/// What a directory says about a name.
package struct FileInfo: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case file, directory
    /// A link, pipe, socket or device: nothing that the store works with.
    case other
  }

  package var kind: Kind
  package var size: UInt64
  /// When the content last changed, in milliseconds since 1970.
  package var modified: Int64
  package var inode: UInt64

  package init(kind: Kind, size: UInt64, modified: Int64, inode: UInt64) {
    self.kind = kind
    self.size = size
    self.modified = modified
    self.inode = inode
  }
}
