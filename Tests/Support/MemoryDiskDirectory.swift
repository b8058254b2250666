/// A simulated directory: the names programs see, those a power cut leaves, and the changes
/// between.
struct MemoryDiskDirectory {
  enum Change {
    case set(MemoryDiskName, Int)
    case unset(MemoryDiskName, Int)
    /// Within one directory a new name takes the place of the old in one step.
    case move(from: MemoryDiskName, to: MemoryDiskName, Int)
  }

  private(set) var current: [MemoryDiskName: Int] = [:]
  private(set) var durable: [MemoryDiskName: Int] = [:]
  private(set) var pending: [Change] = []
  var modified: Int64

  /// A directory that has always been there.
  init(_ entries: [MemoryDiskName: Int] = [:], modified: Int64) {
    (current, durable) = (entries, entries)
    self.modified = modified
  }

  /// Every inode that has, had or may get a name here.
  var inodes: Set<Int> {
    var all = Set(current.values).union(durable.values)
    for change in pending {
      switch change {
      case .set(_, let inode), .unset(_, let inode), .move(_, _, let inode): all.insert(inode)
      }
    }
    return all
  }

  mutating func make(_ change: Change) {
    Self.apply(change, to: &current)
    pending.append(change)
  }

  /// Behind everybody's back: on the medium and in memory.
  mutating func replace(_ name: MemoryDiskName, _ inode: Int) {
    current[name] = inode
    durable[name] = inode
  }

  mutating func sync() {
    for change in pending { Self.apply(change, to: &durable) }
    pending = []
  }

  mutating func failSync() { pending = [] }

  /// What a power cut would leave if everything were synced before it, and no sync failed.
  var entriesOnceSynced: [MemoryDiskName: Int] {
    var entries = durable
    for change in pending { Self.apply(change, to: &entries) }
    return entries
  }

  /// Each change stands for itself: a file that got its second name has it, first name or not.
  static func apply(_ change: Change, to entries: inout [MemoryDiskName: Int]) {
    switch change {
    case .set(let name, let inode):
      entries[name] = inode
    case .unset(let name, let inode):
      if entries[name] == inode { entries[name] = nil }
    case .move(let from, let to, let inode):
      if entries[from] == inode { entries[from] = nil }
      entries[to] = inode
    }
  }
}
