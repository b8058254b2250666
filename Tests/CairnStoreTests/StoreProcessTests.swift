import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A store on the real disk whose process is forked, or whose directory goes away under it.
@Suite(.timeLimit(.minutes(20)))
struct StoreProcessTests {
  static func open(
    _ path: String, _ change: (inout StoreOptions) -> Void = { _ in }
  ) throws -> Store {
    var options = StoreOptions()
    options.compactsAutomatically = false
    change(&options)
    return try Store.open(
      path, datastore: 0xCA17, isLinked: false, options: options, machine: .real)
  }

  /// Swift hides `fork`, rightly; here it is what is tested.
  static var fork: (@convention(c) () -> pid_t)? {
    guard let symbol = unsafe dlsym(nil, "fork") else { return nil }
    return unsafe unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
  }

  static func wait(_ process: pid_t) -> Int32 {
    var raw: Int32 = 0
    while unsafe waitpid(process, &raw, 0) == -1 && errno == EINTR {}
    return raw & 0x7F == 0 ? (raw >> 8) & 0xFF : -1
  }

  /// A number for each thing that a child was not refused as it should be; 0 if there is none.
  static func childsMistake(_ store: Store) -> Int32 {
    do { try store.insert("of-the-child") } catch { return 2 }
    if refusal({ try store.sync() }) != .alreadyOpen { return 3 }
    if refusal({ try store.flush() }) != .alreadyOpen { return 4 }
    if refusal({ _ = try store.compact() }) != .alreadyOpen { return 5 }
    if refusal({ try store.replaceFile(FileName.info, [2]) }) != .alreadyOpen { return 7 }
    // Nothing is cut off, nor synced: that would be of what its parent has written since.
    do { try store.close() } catch { return 6 }
    return 0
  }

  /// A child that closes, and more, after its parent has gone on.
  static func forkInTheMiddle(_ durability: StoreOptions.Durability) throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store")
    let store = try open(path) { $0.durability = durability }
    try store.insert("before", ["n": 1])
    try store.sync()
    var ends: [Int32] = [0, 0]
    let opened = unsafe ends.withUnsafeMutableBufferPointer { unsafe pipe($0.baseAddress) }
    try #require(opened == 0)
    let fork = try #require(Self.fork)
    let child = fork()
    if child == 0 {
      // Not before its parent has written what a careless close would cut off.
      var byte: UInt8 = 0
      while unsafe read(ends[0], &byte, 1) == -1 && errno == EINTR {}
      _exit(childsMistake(store))
    }
    for number in 0..<20 {
      try store.insert("after\(number)", ["n": .int(Int64(number))])
      try store.sync()
    }
    try store.replaceFile(FileName.info, [1])
    var byte: UInt8 = 1
    let written = unsafe write(ends[1], &byte, 1)
    #expect(written == 1)
    #expect(wait(child) == 0)
    let info = path + "/" + FileName.info
    #expect(try DurableFile.read(info, limit: 8, disk: PosixDisk()) == [1])
    // The lock is still its own, and so are its files.
    #expect(refusal { _ = try open(path) } == .alreadyOpen)
    try store.insert("later")
    try store.sync()
    try store.close()
    let again = try open(path)
    #expect(try again.count(table: "t") == 22)
    #expect(again.recovery.isEmpty)
    try again.close()
  }

  @Test func `a forked child can't change its parent's datastore, nor cut it by closing it`() async
  {
    await #expect(processExitsWith: .success) { try StoreProcessTests.forkInTheMiddle(.full) }
    await #expect(processExitsWith: .success) { try StoreProcessTests.forkInTheMiddle(.none) }
  }

  /// Nothing in the child ever ends what a thread of its parent was at.
  @Test func `a child that was forked during a compaction can close`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let store = try StoreProcessTests.open(directory.path("store"))
      try store.insert("of-the-parent")
      try store.sync()
      let fork = try #require(StoreProcessTests.fork)
      let child = store.compactionTurn.withLock { _ in fork() }
      if child == 0 {
        // One that hangs must not hang for ever.
        alarm(300)
        if refusal({ _ = try store.compact() }) != .alreadyOpen { _exit(2) }
        do { try store.close() } catch { _exit(3) }
        _exit(store.isClosed ? 0 : 4)
      }
      #expect(StoreProcessTests.wait(child) == 0)
      try store.insert("later")
      try store.sync()
      _ = try store.compact()
      #expect(try store.count(table: "t") == 2)
      try store.close()
    }
  }

  /// The same of a thread that was replacing a small file.
  @Test func `a child that was forked while a file was replaced is refused, and can close`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let store = try StoreProcessTests.open(directory.path("store"))
      try store.insert("of-the-parent")
      try store.sync()
      let fork = try #require(StoreProcessTests.fork)
      var child: pid_t = -1
      store.whileNothingElseIsReplaced {
        child = fork()
        if child != 0 { return }
        // One that hangs must not hang for ever.
        alarm(300)
        if refusal({ try store.replaceFile(FileName.info, [2]) }) != .alreadyOpen { _exit(2) }
        if refusal({ try store.close() }) != nil { _exit(3) }
        _exit(0)
      }
      #expect(StoreProcessTests.wait(child) == 0)
      try store.replaceFile(FileName.info, [1])
      try store.close()
    }
  }

  @Test func `a child opens what its parent has closed`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let path = directory.path("store")
      let store = try StoreProcessTests.open(path)
      try store.insert("of-the-parent")
      try store.sync()
      try store.close()
      let fork = try #require(StoreProcessTests.fork)
      let child = fork()
      if child == 0 {
        do {
          let own = try StoreProcessTests.open(path)
          try own.insert("of-the-child")
          try own.sync()
          try own.close()
        } catch { _exit(2) }
        _exit(0)
      }
      #expect(StoreProcessTests.wait(child) == 0)
      let again = try StoreProcessTests.open(path)
      #expect(try again.count(table: "t") == 2)
      try again.close()
    }
  }

  // MARK: the directory

  private let directory: TemporaryDirectory
  private let disk = PosixDisk()
  private var path: String { directory.path("store") }

  init() throws { directory = try TemporaryDirectory() }

  private func isMoved(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch {
      guard case .disk(let disk) = (error as? StoreError)?.log?.reason else { return false }
      return disk.reason == .notFound && disk.description.contains("moved, replaced or removed")
    }
  }

  @Test func `a datastore whose directory is moved goes on once it is back`() throws {
    let store = try Self.open(path) { $0.segmentBytes = 300 }
    try store.insert("r0")
    try store.sync()
    try disk.rename(path, to: directory.path("away"))
    // What needs no new file is written where the old one is; then it says what is wrong.
    var count = 1
    while count < 100 {
      try store.insert("r\(count)")
      if isMoved({ try store.sync() }) { break }
      count += 1
    }
    #expect(count < 100)
    #expect(isMoved { _ = try store.compact() })
    #expect(try disk.info(path) == nil, "nothing is made where it was")
    #expect(try store.count(table: "t") == count + 1, "reading goes on")
    try disk.rename(directory.path("away"), to: path)
    try store.sync()
    _ = try store.compact()
    try store.close()
    let again = try Self.open(path)
    #expect(try again.count(table: "t") == count + 1)
    #expect(again.recovery.isEmpty)
    try again.close()
  }

  /// As when somebody restores a backup under an app that runs.
  @Test func `a directory that is put in the place of an open one is not written to`() throws {
    for name in ["store", "other"] {
      let store = try Self.open(directory.path(name)) { $0.segmentBytes = 300 }
      for number in 0..<4 {
        try store.insert("\(name)\(number)")
        try store.sync()
      }
      _ = try store.compact()
      try store.close()
    }
    let store = try Self.open(path) { $0.segmentBytes = 300 }
    try disk.rename(path, to: directory.path("away"))
    try disk.rename(directory.path("other"), to: path)
    let before = try image(path)
    try store.insert("new")
    for _ in 0..<2 {
      #expect(isMoved { try store.sync() })
      #expect(isMoved { _ = try store.compact() })
    }
    #expect(try image(path) == before)
    // The other one is free for whoever comes.
    let other = try Self.open(path)
    #expect(try other.get("other3") != nil && other.get("new") == nil)
    try other.close()
    try? store.close()
    let again = try Self.open(directory.path("away"))
    #expect(try again.count(table: "t") == 4)
    try again.close()
  }

  @Test func `a datastore whose directory is removed can be read and closed`() throws {
    let store = try Self.open(path)
    try store.insert("r", ["n": 1])
    try store.sync()
    _ = try store.compact()
    try disk.removeTree(path)
    try store.insert("s")
    #expect(isMoved { try store.sync() })
    #expect(try store.get("r") == ["n": 1])
    try? store.close()
    #expect(!store.isOpen)
    #expect(try disk.info(path) == nil)
    let again = try Self.open(path)
    #expect(try again.tables().isEmpty)
    try again.close()
  }

  /// Every file below a directory, with its bytes.
  private func image(_ path: String) throws -> [String: [UInt8]] {
    var result: [String: [UInt8]] = [:]
    for entry in try disk.list(path) {
      let inner = path + "/" + entry.name
      if entry.info.kind == .directory {
        result.merge(try image(inner)) { first, _ in first }
      } else {
        let file = try disk.open(inner, .read)
        result[inner] = try file.read(at: 0, count: Int(entry.info.size))
        file.close()
      }
    }
    return result
  }
}
