package import CairnDisk
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

extension MemoryDisk {
  /// In the same steps as the real disk: one to make each directory, one to sync each parent, the
  /// parent of the innermost one that was there included.
  package func createDirectory(_ path: String) throws(DiskError) {
    let names = try MemoryDiskState.names(Self.making, path)
    try state.withLock { state throws(DiskError) in try state.requirePower(Self.making, path) }
    var there = names.count
    while there > 0, !isDirectory(Array(names.prefix(there))) { there -= 1 }
    if there > 0 { try syncDirectory(MemoryDiskState.path(names.prefix(there - 1))) }
    for depth in there..<names.count {
      try make(Array(names.prefix(depth + 1)))
      do { try syncDirectory(MemoryDiskState.path(names.prefix(depth))) } catch {
        // Only as long as nobody has put something there.
        try? unmake(MemoryDiskState.path(names.prefix(depth + 1)))
        throw error
      }
    }
  }

  /// Who may look into a directory is nothing that this disk knows.
  package func createPrivateDirectory(_ path: String) throws(DiskError) {
    try createDirectory(path)
  }

  package func syncDirectory(_ path: String) throws(DiskError) {
    try step(
      "sync", path,
      onFailure: { state in
        if let inode = try? state.find("sync", path) { state.directories[inode]?.failSync() }
      },
      { state, _ throws(DiskError) in
        let inode = try state.directory("sync", path, reportedAs: path)
        state.directories[inode]?.sync()
        state.sweep()
      })
  }

  package func removeTree(_ path: String) throws(DiskError) {
    guard let info = try info(path) else { return }
    guard info.kind == .directory else { return try remove(path) }
    for entry in try list(path) { try removeTree(path + "/" + entry.name) }
    try unmake(path)
  }

  private func unmake(_ path: String) throws(DiskError) {
    try step(Self.removing, path) { state, now throws(DiskError) in
      guard let place = try state.place(Self.removing, path), let inode = place.inode else {
        throw DiskError(reason: .denied, operation: Self.removing, path: path)
      }
      guard state.directories[inode]?.current.isEmpty == true else {
        throw DiskError(reason: .io(errno: ENOTEMPTY), operation: Self.removing, path: path)
      }
      state.directories[place.directory]?.make(.unset(place.name, inode))
      state.directories[place.directory]?.modified = now
      state.candidates.insert(inode)
    }
  }

  private static let making = "make the directory"
  private static let removing = "remove the directory"

  /// Not a step, as it changes nothing.
  private func isDirectory(_ names: [MemoryDiskName]) -> Bool {
    state.withLock { state in
      // Whatever is wrong with the path, there is no directory.
      guard let inode = try? state.find(Self.making, MemoryDiskState.path(names)) else {
        return false
      }
      return state.directories[inode] != nil
    }
  }

  private func make(_ names: [MemoryDiskName]) throws(DiskError) {
    let path = MemoryDiskState.path(names)
    try step(Self.making, path) { state, now throws(DiskError) in
      guard let place = try state.place(Self.making, path), place.inode == nil else {
        throw DiskError(reason: .exists, operation: Self.making, path: path)
      }
      let inode = state.makeInode()
      state.directories[inode] = MemoryDiskDirectory(modified: now)
      state.link(inode, place, now)
    }
  }
}
