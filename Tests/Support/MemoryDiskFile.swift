internal import CairnDisk
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// An open file of a simulated disk. It works on when the file loses its name, as real ones do.
final class MemoryDiskFile: DiskFile {
  let path: String
  private let inode: Int
  private let isWritable: Bool
  private let disk: MemoryDisk
  private let isClosed = Atomic<Bool>(false)

  init(path: String, inode: Int, isWritable: Bool, disk: MemoryDisk) {
    self.path = path
    self.inode = inode
    self.isWritable = isWritable
    self.disk = disk
  }

  deinit { close() }

  func size() throws(DiskError) -> UInt64 {
    try reading("measure") { UInt64($0.current.length) }
  }

  func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8] {
    let bytes = try reading("read") { file in
      let start = Int(clamping: min(offset, UInt64(file.current.length)))
      return file.current.read(start..<(start + min(max(0, count), file.current.length - start)))
    }
    disk.state.withLock { $0.bytesRead += bytes.count }
    return bytes
  }

  func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(DiskError) {
    let copy = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    try requireOpen("write", forWriting: true)
    if copy.isEmpty { return }
    let place = try Self.length("write", path, offset, adding: copy.count)
    try change("write", to: place + copy.count, .write(at: place, copy))
  }

  func preallocate(to length: UInt64) throws(DiskError) {
    let verb = "reserve space for"
    try requireOpen(verb, forWriting: true)
    let length = try Self.length(verb, path, length)
    try change(verb, to: length, .extend(to: length))
  }

  func truncate(to length: UInt64) throws(DiskError) {
    try requireOpen("truncate", forWriting: true)
    let length = try Self.length("truncate", path, length)
    try change("truncate", to: length, .truncate(to: length))
  }

  func sync() throws(DiskError) {
    try requireOpen("sync")
    try disk.step(
      "sync", path, onFailure: { [inode] in $0.files[inode]?.failSync() },
      { state, _ in state.files[inode]?.sync() })
  }

  func adviseRandom() {}

  func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    disk.state.withLock { $0.count(inode, opens: -1) }
  }

  /// As much as a simulated file may hold, so that a mistaken offset fails and takes no memory.
  private static let longest = 1 << 32

  private static func length(
    _ verb: String, _ path: String, _ value: UInt64, adding count: Int = 0
  ) throws(DiskError) -> Int {
    guard value <= UInt64(longest - count) else {
      throw DiskError(reason: .io(errno: EFBIG), operation: verb, path: path)
    }
    return Int(value)
  }

  private func requireOpen(_ verb: String, forWriting: Bool = false) throws(DiskError) {
    if isClosed.load(ordering: .acquiring) || (forWriting && !isWritable) {
      throw DiskError(reason: .io(errno: EBADF), operation: verb, path: path)
    }
  }

  private func reading<Result: Sendable>(
    _ verb: String, _ body: (MemoryDiskContent) -> Result
  ) throws(DiskError) -> Result {
    try requireOpen(verb)
    return try disk.state.withLock { state throws(DiskError) in
      try state.beginReading(verb, path)
      guard let file = state.files[inode] else {
        throw DiskError(reason: .io(errno: ESTALE), operation: verb, path: path)
      }
      return body(file)
    }
  }

  private func change(
    _ verb: String, to length: Int, _ change: MemoryDiskContent.Change
  ) throws(DiskError) {
    try disk.step(
      verb, path, onFailure: { [inode] in $0.tear(inode, change) },
      { state, now throws(DiskError) in
        try state.requireSpace(verb, path, inode, length)
        state.change(inode, change, now)
      })
  }
}

extension MemoryDiskState {
  /// A write has failed: some of its bytes may be there.
  fileprivate mutating func tear(_ inode: Int, _ change: MemoryDiskContent.Change) {
    guard let tearing, case .write(let place, let bytes) = change, let file = files[inode] else {
      return
    }
    let count = tearing.below(bytes.count + 1)
    if count == 0 { return }
    self.change(inode, .write(at: place, Array(bytes.prefix(count))), file.modified)
  }
}
