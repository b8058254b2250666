internal import CairnDisk

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension MemoryDiskState {
  mutating func rename(_ from: String, _ to: String, _ now: Int64) throws(DiskError) {
    func failure(_ reason: DiskError.Reason) -> DiskError {
      DiskError(
        reason: reason, operation: "rename", path: from, detail: "the new name was \(to)")
    }
    let source: Place?
    let target: Place?
    do {
      source = try place("rename", from)
      target = try place("rename", to)
    } catch {
      throw failure(error.reason)
    }
    guard let source, let target else { throw failure(.io(errno: EBUSY)) }
    guard let inode = source.inode else { throw failure(.notFound) }
    if inode == target.inode { return }
    if bound.contains(inode) { throw failure(.io(errno: EXDEV)) }
    let isDirectory = directories[inode] != nil
    if isDirectory, try isInside(target.directory, inode) { throw failure(.io(errno: EINVAL)) }
    if let old = target.inode {
      let oldDirectory = directories[old]
      guard isDirectory == (oldDirectory != nil) else { throw failure(.notRegular) }
      if oldDirectory?.current.isEmpty == false { throw failure(.io(errno: ENOTEMPTY)) }
    }
    if source.directory == target.directory {
      directories[source.directory]?.make(.move(from: source.name, to: target.name, inode))
      directories[source.directory]?.modified = now
    } else {
      // Two directories, two changes: which of them survives is up to their own syncs.
      link(inode, target, now)
      unlink(inode, source, now)
    }
    if let old = target.inode { count(old, links: -1) }
  }

  /// Whether a directory is `outer` or somewhere below it.
  private func isInside(_ inner: Int, _ outer: Int) throws(DiskError) -> Bool {
    if inner == outer { return true }
    for inode in directories[outer]?.current.values ?? [:].values
    where directories[inode] != nil {
      if try isInside(inner, inode) { return true }
    }
    return false
  }
}
