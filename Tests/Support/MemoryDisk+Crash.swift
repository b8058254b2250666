import CairnDisk
internal import Synchronization

/// What a power cut leaves of the changes that were not synced.
package enum CrashModel: Hashable, Sendable {
  case nothingUnsynced
  case everything
  /// Each change of a file and each change of a name survives or not, as the seed decides.
  case subset(UInt64)
  /// Likewise, and of a write perhaps only some of the sectors, or only the length.
  case torn(UInt64)

  /// The two certain models and so many of each of the random ones.
  package static func all(seeds: Range<UInt64>) -> [CrashModel] {
    [.nothingUnsynced, .everything] + seeds.map { .subset($0) } + seeds.map { .torn($0) }
  }
}

extension MemoryDisk {
  package static let sectorSize = 512

  /// A disk with what could be left after a power cut now. Nothing there is open, locked or about
  /// to fail, and all of it is durable. This disk goes on as if nothing had happened.
  package func crash(keep model: CrashModel) -> MemoryDisk {
    MemoryDisk(state.withLock { $0.crashed(model) }, clock: clock)
  }

  /// A copy of the disk as it is, with what is not yet durable, as taken by a backup or a cloned
  /// machine. Nothing there is open, locked or about to fail.
  package func snapshot() -> MemoryDisk {
    MemoryDisk(state.withLock { $0.copied() }, clock: clock)
  }
}

extension MemoryDiskState {
  func copied() -> MemoryDiskState {
    var copy = MemoryDiskState(modified: 0)
    (copy.files, copy.directories, copy.others) = (files, directories, others)
    (copy.nextInode, copy.capacity) = (nextInode, capacity)
    (copy.bound, copy.keepsOpenFiles) = (bound, keepsOpenFiles)
    copy.recount()
    return copy
  }

  func crashed(_ model: CrashModel) -> MemoryDiskState {
    var random = model.random
    return crashed(
      keepsName: { model.keeps(&random) },
      apply: { model.apply($0, to: &$1, &random) })
  }

  /// What is left if each change has the fate that `fate` names, asked in a fixed order.
  func crashed(_ fate: () -> MemoryDiskMoment.Fate) -> MemoryDiskState {
    crashed(keepsName: { fate() != .lost }, apply: { fate().apply($0, to: &$1) })
  }

  private func crashed(
    keepsName: () -> Bool, apply: (MemoryDiskContent.Change, inout MemoryDiskBytes) -> Void
  ) -> MemoryDiskState {
    var result = MemoryDiskState(modified: 0)
    (result.others, result.nextInode, result.capacity) = (others, nextInode, capacity)
    (result.bound, result.keepsOpenFiles) = (bound, keepsOpenFiles)
    // In a fixed order, so that a seed decides the same in every run.
    for (inode, directory) in directories.sorted(by: { $0.key < $1.key }) {
      var entries = directory.durable
      for change in directory.pending where keepsName() {
        MemoryDiskDirectory.apply(change, to: &entries)
      }
      result.directories[inode] = MemoryDiskDirectory(entries, modified: directory.modified)
    }
    for (inode, file) in files.sorted(by: { $0.key < $1.key }) {
      var bytes = file.durable
      for change in file.pending { apply(change, &bytes) }
      result.files[inode] = MemoryDiskContent(bytes, modified: file.modified)
      result.files[inode]?.isPrivate = file.isPrivate
    }
    result.dropSecondNames()
    result.recount()
    return result
  }

  /// A directory that was moved between two others has one of its names at most.
  private mutating func dropSecondNames() {
    var seen: Set<Int> = [Self.root]
    var open = [Self.root]
    while let inode = open.popLast() {
      guard let directory = directories[inode] else { continue }
      var entries = directory.durable
      for (name, next) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) })
      where directories[next] != nil {
        if seen.insert(next).inserted { open.append(next) } else { entries[name] = nil }
      }
      directories[inode] = MemoryDiskDirectory(entries, modified: directory.modified)
    }
  }

  /// Finds out anew how many names each file has, and forgets what can't be reached.
  private mutating func recount() {
    usedBytes = 0
    for inode in files.keys {
      files[inode]?.links = 0
      files[inode]?.opens = 0
    }
    let reached = reachable()
    files = files.filter { reached.contains($0.key) }
    directories = directories.filter { reached.contains($0.key) }
    others.formIntersection(reached)
    for directory in directories.values {
      for inode in directory.current.values { count(inode, links: 1) }
    }
    candidates = Set(files.keys.filter { files[$0]?.links == 0 })
  }
}

extension CrashModel {
  var random: SeededRandom {
    switch self {
    case .nothingUnsynced, .everything: SeededRandom(0)
    case .subset(let seed), .torn(let seed): SeededRandom(seed)
    }
  }

  func keeps(_ random: inout SeededRandom) -> Bool {
    switch self {
    case .nothingUnsynced: false
    case .everything: true
    case .subset, .torn: random.coin()
    }
  }

  func apply(
    _ change: MemoryDiskContent.Change, to bytes: inout MemoryDiskBytes,
    _ random: inout SeededRandom
  ) {
    guard case .torn = self, case .write(let place, let new) = change, random.coin() else {
      if keeps(&random) { MemoryDiskContent.apply(change, to: &bytes) }
      return
    }
    if random.coin() { bytes.grow(to: place + new.count) }
    var start = 0
    while start < new.count {
      let sectorEnd = ((place + start) / MemoryDisk.sectorSize + 1) * MemoryDisk.sectorSize
      let end = min(new.count, sectorEnd - place)
      if random.coin() { bytes.write(new[start..<end], at: place + start) }
      start = end
    }
  }
}
