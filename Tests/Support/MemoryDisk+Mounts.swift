internal import CairnDisk
internal import Synchronization

/// File systems that refuse what most allow.
extension MemoryDisk {
  /// From now on the directories that are there can't be renamed (EXDEV): as those that a
  /// container's image has brought, on a file system of layers. What is in them is as ever, and so
  /// are those that are made later. Copies of the disk have that as well.
  package func bindDirectories() {
    state.withLock { $0.bound = Set($0.directories.keys) }
  }

  /// From now on a file that is removed while it is open gets a name of the disk's own, which goes
  /// when it is closed: as on FUSE and NFS. Its directory can't be removed until then. Copies of
  /// the disk have that as well.
  package func keepOpenFiles() {
    state.withLock { $0.keepsOpenFiles = true }
  }
}
