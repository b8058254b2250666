internal import CairnBytes
internal import CairnDisk
internal import Synchronization

/// What a power cut could take, and what it can't: for checks of the order in which things are
/// written. Nothing here counts as a step or a read.
extension MemoryDisk {
  /// What a file holds after a power cut that loses all it can; nil if it is certain only that it
  /// need not be there.
  package func durableBytes(_ path: String) -> [UInt8]? {
    state.withLock { state in
      state.durableInode(path).flatMap { state.files[$0]?.durable.all }
    }
  }

  /// Whether all that programs see of a file, its name included, is there after any power cut.
  package func isDurable(_ path: String) -> Bool {
    state.withLock { state in
      // Whatever is wrong with the path, there is no file.
      guard let inode = state.durableInode(path), let seen = try? state.find("inspect", path),
        seen == inode
      else { return false }
      return state.isSynced(inode)
    }
  }

  /// Whether the bytes of a file are durable, under whatever name.
  package func isSynced(_ path: String) -> Bool {
    state.withLock { state in
      // Likewise.
      guard let inode = try? state.find("inspect", path) else { return false }
      return state.isSynced(inode)
    }
  }

  /// Names that the failed sync of their directory has lost, of files and directories that are
  /// there or, as a power cut will bring them back, are not: no later sync makes these durable, and
  /// no program can tell.
  package func lostNames() -> (directories: [String], files: [String]) {
    state.withLock { state in
      var lost: (directories: [String], files: [String]) = ([], [])
      var open: [(path: String, inode: Int)] = [("", MemoryDiskState.root)]
      while let (path, inode) = open.popLast() {
        guard let directory = state.directories[inode] else { continue }
        let entries = directory.entriesOnceSynced
        for name in Set(directory.current.keys).union(entries.keys) {
          let path = path + "/" + String(decoding: name, as: UTF8.self)
          if let inode = directory.current[name] { open.append((path, inode)) }
          guard directory.current[name] != entries[name] else { continue }
          let isDirectory = [directory.current[name], entries[name]].contains { inode in
            inode.map { state.directories[$0] != nil } ?? false
          }
          if isDirectory { lost.directories.append(path) } else { lost.files.append(path) }
        }
      }
      return lost
    }
  }

  /// XXH3 of all names and bytes, the same for the same disk in every process. A path that
  /// `isLeftOut` holds of does not count.
  package func imageHash(leavingOut isLeftOut: (String) -> Bool = { _ in false }) -> UInt64 {
    state.withLock { state in
      var hash: UInt64 = 0
      var open: [(path: String, inode: Int)] = [("", MemoryDiskState.root)]
      while let (path, inode) = open.popLast() {
        if let file = state.files[inode] {
          if !isLeftOut(path) {
            // A sum, so that no order is needed.
            hash &+= XXH3.hash64(path, seed: file.current.hash)
          }
          continue
        }
        for (name, inode) in state.directories[inode]?.current ?? [:] {
          open.append((path + "/" + String(decoding: name, as: UTF8.self), inode))
        }
        if !isLeftOut(path) { hash &+= XXH3.hash64(path, seed: 1) }
      }
      return hash
    }
  }
}

extension MemoryDiskState {
  fileprivate func durableInode(_ path: String) -> Int? {
    // Whatever is wrong with the path, there is no file.
    guard let names = try? Self.names("inspect", path) else { return nil }
    var inode = Self.root
    for name in names {
      guard let next = directories[inode]?.durable[name] else { return nil }
      inode = next
    }
    return inode
  }

  fileprivate func isSynced(_ inode: Int) -> Bool {
    guard let file = files[inode] else { return false }
    return file.pending.isEmpty && file.current.hash == file.durable.hash
  }
}

extension MemoryDiskBytes {
  /// Of the length and of what is not zero at the end.
  fileprivate var hash: UInt64 { XXH3.hash64(content, 0..<content.count, seed: UInt64(length)) }
}
