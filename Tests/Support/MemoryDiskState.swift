internal import CairnDisk

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// All of a simulated disk that changes.
struct MemoryDiskState {
  static let root = 1

  var files: [Int: MemoryDiskContent] = [:]
  var directories: [Int: MemoryDiskDirectory] = [:]
  /// Links, pipes and devices: things with a name and no more.
  var others: Set<Int> = []
  var nextInode = root + 1

  var capacity: Int?
  /// What the files that have a name or a handle take.
  var usedBytes = 0
  var operations = 0
  var reads = 0
  var bytesRead = 0
  var operationFaults: [MemoryDiskFault] = []
  var readFaults: [MemoryDiskFault] = []
  /// What has failed as ordered so far.
  var strikes: [MemoryDiskStrike] = []
  /// What was read since somebody asked for that; nil if nobody has.
  var readLog: [MemoryDiskRead]?
  var powerOffBefore: Int?
  var isOff = false
  var interceptor: (@Sendable (MemoryDiskOperation) -> DiskError.Reason?)?
  /// Decides how much of a write that fails is there all the same; nil is nothing.
  var tearing: SeededRandom?
  var locks: Set<Int> = []
  /// Counts the times at which everybody who held locks was killed.
  var lockAge = 0
  /// Directories that can't be renamed.
  var bound: Set<Int> = []
  /// A file that is removed while it is open keeps a name until it is closed.
  var keepsOpenFiles = false
  /// Such files, and where these names are.
  var hidden: [Int: Place] = [:]
  var hiddenCount = 0
  /// What lost its last name and handle.
  var candidates: Set<Int> = []

  init(modified: Int64) {
    directories[Self.root] = MemoryDiskDirectory(modified: modified)
  }

  // MARK: Counting and failing

  /// Counts an operation; throws if it is to fail. `intercepted` is what the interceptor decided.
  mutating func begin(
    _ verb: String, _ path: String, _ intercepted: DiskError.Reason?
  ) throws(DiskError) {
    try requirePower(verb, path)
    operations += 1
    if let limit = powerOffBefore, operations >= limit {
      isOff = true
      try requirePower(verb, path)
    }
    let reason = intercepted ?? operationFaults.first { $0.strikes(operations) }?.reason
    guard let reason else { return }
    strikes.append(
      MemoryDiskStrike(number: operations, isRead: false, verb: verb, path: path))
    throw DiskError(reason: reason, operation: verb, path: path)
  }

  mutating func beginReading(_ verb: String, _ path: String) throws(DiskError) {
    try requirePower(verb, path)
    reads += 1
    readLog?.append(MemoryDiskRead(number: reads, verb: verb, path: path))
    if let fault = readFaults.first(where: { $0.strikes(reads) }) {
      strikes.append(MemoryDiskStrike(number: reads, isRead: true, verb: verb, path: path))
      throw DiskError(reason: fault.reason, operation: verb, path: path)
    }
  }

  func requirePower(_ verb: String, _ path: String) throws(DiskError) {
    if isOff {
      throw DiskError(
        reason: .io(errno: EIO), operation: verb, path: path, detail: "the power is off")
    }
  }

  // MARK: Space

  /// Room for a file to become `length` long.
  func requireSpace(_ verb: String, _ path: String, _ inode: Int, _ length: Int) throws(DiskError) {
    guard let capacity, let file = files[inode] else { return }
    let growth = max(0, length - file.current.length)
    if growth > 0 && usedBytes + growth > capacity {
      throw DiskError(reason: .noSpace, operation: verb, path: path)
    }
  }

  /// Changes a file and keeps account of its size.
  mutating func change(_ inode: Int, _ change: MemoryDiskContent.Change, _ now: Int64) {
    let before = files[inode]?.current.length ?? 0
    files[inode]?.make(change)
    files[inode]?.modified = now
    usedBytes += (files[inode]?.current.length ?? 0) - before
  }

  /// Adds to the names and handles of a file, or takes away.
  mutating func count(_ inode: Int, links: Int = 0, opens: Int = 0) {
    guard let file = files[inode] else { return }
    let wasInUse = file.links + file.opens > 0
    let isInUse = file.links + file.opens + links + opens > 0
    files[inode]?.links += links
    files[inode]?.opens += opens
    if isInUse != wasInUse { usedBytes += isInUse ? file.current.length : -file.current.length }
    if !isInUse { candidates.insert(inode) }
    if opens < 0 { dropHiddenName(inode) }
  }

  /// What can be reached from the root, now or after a power cut.
  func reachable() -> Set<Int> {
    var reached: Set<Int> = [Self.root]
    var open = [Self.root]
    while let inode = open.popLast() {
      for next in directories[inode]?.inodes ?? [] where reached.insert(next).inserted {
        open.append(next)
      }
    }
    return reached
  }

  /// Forgets what has gone for good.
  mutating func sweep() {
    guard !candidates.isEmpty else { return }
    let reached = reachable()
    for inode in candidates where !reached.contains(inode) {
      files[inode] = nil
      directories[inode] = nil
    }
    candidates.formIntersection(reached)
  }
}
