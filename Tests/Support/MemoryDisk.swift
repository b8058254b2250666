package import CairnDisk
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A disk in memory that can lose power, lie, break and fill up at any step.
///
/// It is as forgetful as the standards allow: bytes last only once their file was synced, names
/// only once their directory was, and the two have nothing to do with each other. Every step that
/// changes something or makes it durable has a number, so that a test can go through all of them.
///
/// A file moved from one directory to another may be found in both or in neither after a power cut,
/// unless the target was synced before the source. There are no links.
package final class MemoryDisk: Disk {
  let state: Lock<MemoryDiskState>
  let clock: any WallClock

  /// An empty disk. Writing beyond `capacity` bytes in all files fails with `noSpace`.
  package init(capacity: Int? = nil, clock: any WallClock = ManualClock()) {
    self.clock = clock
    var state = MemoryDiskState(modified: clock.now())
    state.capacity = capacity
    self.state = Lock(state)
  }

  init(_ state: consuming MemoryDiskState, clock: any WallClock) {
    self.clock = clock
    self.state = Lock(state)
  }

  /// One counted step, announced to the interceptor while nothing is locked.
  func step<Result: Sendable>(
    _ verb: String, _ path: String, to target: String? = nil,
    onFailure: (inout MemoryDiskState) -> Void = { _ in },
    _ body: (inout MemoryDiskState, Int64) throws(DiskError) -> Result
  ) throws(DiskError) -> Result {
    let (interceptor, number) = state.withLock { ($0.interceptor, $0.operations + 1) }
    let operation = MemoryDiskOperation(
      number: number, verb: verb, path: path, target: target)
    let intercepted = interceptor?(operation)
    let now = clock.now()
    return try state.withLock { state throws(DiskError) in
      do throws(DiskError) {
        try state.begin(verb, path, intercepted)
      } catch {
        if !state.isOff { onFailure(&state) }
        throw error
      }
      return try body(&state, now)
    }
  }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let inode: Int
    if mode.isCreating {
      inode = try step("create", path) { state, now throws(DiskError) in
        guard let place = try state.place("create", path), place.inode == nil else {
          throw DiskError(reason: .exists, operation: "create", path: path)
        }
        let inode = state.makeFile(place, now)
        state.files[inode]?.isPrivate = mode == .createPrivate
        state.count(inode, opens: 1)
        return inode
      }
    } else {
      inode = try state.withLock { state throws(DiskError) in
        try state.beginReading("open", path)
        let inode = try state.find("open", path)
        guard state.files[inode] != nil else {
          throw DiskError(reason: .notRegular, operation: "open", path: path)
        }
        if mode == .readPrivate, state.files[inode]?.isPrivate == false {
          throw DiskError(reason: .exposed, operation: "open", path: path)
        }
        state.count(inode, opens: 1)
        return inode
      }
    }
    let isWritable = mode != .read && mode != .readPrivate
    return MemoryDiskFile(path: path, inode: inode, isWritable: isWritable, disk: self)
  }

  package func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    try state.withLock { state throws(DiskError) in
      try state.beginReading("list", directory)
      let inode = try state.directory("list", directory, reportedAs: directory)
      let entries = state.directories[inode]?.current ?? [:]
      let names = entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      return names.map { name, inode in
        DirectoryEntry(name: String(decoding: name, as: UTF8.self), info: state.info(inode))
      }
    }
  }

  package func info(_ path: String) throws(DiskError) -> FileInfo? {
    try state.withLock { state throws(DiskError) in
      try state.beginReading("look up", path)
      do throws(DiskError) {
        return state.info(try state.find("look up", path))
      } catch {
        if error.reason == .notFound || error.reason == .notRegular { return nil }
        throw error
      }
    }
  }

  package func rename(_ from: String, to: String) throws(DiskError) {
    try step("rename", from, to: to) { state, now throws(DiskError) in
      try state.rename(from, to, now)
    }
  }

  package func remove(_ path: String) throws(DiskError) {
    try step("remove", path) { state, now throws(DiskError) in
      guard let place = try state.place("remove", path) else {
        throw DiskError(reason: .notRegular, operation: "remove", path: path)
      }
      guard let inode = place.inode else {
        throw DiskError(reason: .notFound, operation: "remove", path: path)
      }
      guard state.directories[inode] == nil else {
        throw DiskError(reason: .notRegular, operation: "remove", path: path)
      }
      state.remove(inode, place, now)
    }
  }

  package func lock(_ path: String) throws(DiskError) -> any DiskLock {
    let inode = try step("lock", path) { state, now throws(DiskError) in
      guard let place = try state.place("lock", path) else {
        throw DiskError(reason: .notRegular, operation: "lock", path: path)
      }
      let inode = place.inode ?? state.makeFile(place, now)
      guard state.files[inode] != nil else {
        throw DiskError(reason: .notRegular, operation: "lock", path: path)
      }
      guard state.locks.insert(inode).inserted else {
        throw DiskError(
          reason: .locked, operation: "lock", path: path, detail: "by this very process")
      }
      // As long as the real disk's, whatever the number.
      let text = Array(("1" + String(repeating: " ", count: 18) + "\n").utf8)
      // On a full disk the lock is as good without the process id.
      if (try? state.requireSpace("lock", path, inode, text.count)) != nil {
        state.change(inode, .write(at: 0, text), now)
      }
      return inode
    }
    return MemoryDiskLock(inode: inode, disk: self)
  }
}
