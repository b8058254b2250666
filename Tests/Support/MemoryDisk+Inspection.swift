internal import CairnDisk
internal import Synchronization

/// Looking at a simulated disk, and tampering with it, without counting as a step or a read.
extension MemoryDisk {
  /// Handles that are not closed.
  package var openFiles: Int {
    state.withLock { state in
      state.files.values.reduce(0) { $0 + $1.opens } - state.locks.count
    }
  }

  package var heldLocks: Int { state.withLock { $0.locks.count } }

  /// Files and directories that are somewhere still: those too that only a power cut would show.
  package var keptNodes: Int { state.withLock { $0.files.count + $0.directories.count } }

  /// What programs see in a file; nil if there is no such file.
  package func bytes(_ path: String) -> [UInt8]? {
    state.withLock { state in
      // Whatever is wrong with the path, there is no file.
      guard let inode = try? state.find("inspect", path) else { return nil }
      return state.files[inode]?.current.all
    }
  }

  /// All files, sorted by the bytes of their paths.
  package func paths() -> [String] {
    state.withLock { state in
      var paths: [String] = []
      var open: [(path: String, inode: Int)] = [("", MemoryDiskState.root)]
      while let (path, inode) = open.popLast() {
        if state.files[inode] != nil { paths.append(path) }
        for (name, inode) in state.directories[inode]?.current ?? [:] {
          open.append((path + "/" + String(decoding: name, as: UTF8.self), inode))
        }
      }
      return paths.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
  }

  /// The same number for the same files with the same bytes, within this process.
  package func fingerprint() -> Int {
    var hasher = Hasher()
    for path in paths() {
      hasher.combine(path)
      hasher.combine(bytes(path))
    }
    return hasher.finalize()
  }

  /// Flips bits of one byte, on the medium and in memory. The byte must be there.
  package func corrupt(_ path: String, _ offset: Int, xor bits: UInt8) throws {
    try state.withLock { state throws(DiskError) in
      let inode = try state.find("corrupt", path)
      precondition(offset < state.files[inode]?.current.length ?? 0, "no such byte in \(path)")
      state.files[inode]?.flip(offset, bits)
    }
  }

  /// Puts a file there, durable, with the directories it lacks, or replaces what it holds.
  package func setBytes(_ path: String, _ bytes: [UInt8]) throws {
    let now = clock.now()
    try state.withLock { state throws(DiskError) in
      let place = try state.placeMakingParents(path, now)
      let inode = place.inode ?? state.makeInode()
      precondition(state.directories[inode] == nil, "\(path) is a directory")
      if let old = state.files[inode] {
        state.usedBytes += bytes.count - old.current.length
        state.files[inode]?.replace(MemoryDiskBytes(bytes))
        state.files[inode]?.modified = now
      } else {
        state.files[inode] = MemoryDiskContent(MemoryDiskBytes(bytes), modified: now)
        state.directories[place.directory]?.replace(place.name, inode)
        state.count(inode, links: 1)
      }
    }
  }

  /// Puts something there that is neither a file nor a directory, as a link or a pipe.
  package func setOther(_ path: String) throws {
    let now = clock.now()
    try state.withLock { state throws(DiskError) in
      let place = try state.placeMakingParents(path, now)
      precondition(place.inode == nil, "\(path) is there already")
      let inode = state.makeInode()
      state.others.insert(inode)
      state.directories[place.directory]?.replace(place.name, inode)
    }
  }
}

extension MemoryDiskState {
  fileprivate mutating func placeMakingParents(
    _ path: String, _ now: Int64
  ) throws(DiskError) -> Place {
    let names = try Self.names("set", path)
    precondition(!names.isEmpty, "the root is a directory")
    var above = Self.root
    for name in names.dropLast() {
      let next = directories[above]?.current[name] ?? makeInode()
      if directories[above]?.current[name] == nil {
        directories[next] = MemoryDiskDirectory(modified: now)
        directories[above]?.replace(name, next)
      }
      precondition(directories[next] != nil, "a file is in the way of \(path)")
      above = next
    }
    let name = names[names.count - 1]
    return Place(directory: above, name: name, inode: directories[above]?.current[name])
  }
}
