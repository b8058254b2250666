package import CairnDisk
internal import Synchronization

extension MemoryDisk {
  /// In the same steps as the real disk: one to make each directory, one to sync each parent.
  package func createDirectory(_ path: String) throws(DiskError) {
    let names = try MemoryDiskState.names(Self.making, path)
    var depth = names.count
    while depth > 0 {
      do {
        try make(Array(names.prefix(depth)))
        break
      } catch {
        guard error.reason == .notFound, depth > 1 else { throw error }
        depth -= 1
      }
    }
    for depth in (depth..<names.count).map({ $0 + 1 }) {
      try make(Array(names.prefix(depth)))
    }
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
    try step(Self.removing, path) { state, now throws(DiskError) in
      guard let place = try state.place(Self.removing, path), let inode = place.inode else {
        throw DiskError(reason: .denied, operation: Self.removing, path: path)
      }
      state.directories[place.directory]?.make(.unset(place.name, inode))
      state.directories[place.directory]?.modified = now
    }
  }

  private static let making = "make the directory"
  private static let removing = "remove the directory"

  /// Makes one directory if it is not there, and syncs its parent either way.
  private func make(_ names: [MemoryDiskName]) throws(DiskError) {
    let path = MemoryDiskState.path(names)
    // Not a step, as it changes nothing.
    let isThere = try state.withLock { state throws(DiskError) in
      try state.requirePower(Self.making, path)
      guard let inode = try state.place(Self.making, path)?.inode else { return false }
      return state.directories[inode] != nil
    }
    if !isThere {
      try step(Self.making, path) { state, now throws(DiskError) in
        guard let place = try state.place(Self.making, path), place.inode == nil else {
          throw DiskError(reason: .exists, operation: Self.making, path: path)
        }
        let inode = state.makeInode()
        state.directories[inode] = MemoryDiskDirectory(modified: now)
        state.link(inode, place, now)
      }
    }
    try syncDirectory(MemoryDiskState.path(names.dropLast()))
  }
}
