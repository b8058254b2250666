import CairnDisk
import Synchronization
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Locks between names of one file, and between processes.
struct PosixLockTests {
  static let flock = "/usr/bin/flock"
  static let hasFlock = unsafe access(flock, X_OK) == 0

  let directory: TemporaryDirectory
  let disk = PosixDisk()
  var path: String { directory.path("LOCK") }

  init() throws { directory = try TemporaryDirectory() }

  /// How many think that the lock is theirs.
  final class Holders: Sendable {
    let count = Atomic<Int>(0)
  }

  @Test func `a locked file is locked by all its names`() throws {
    try disk.createDirectory(directory.path("d"))
    #expect(unsafe symlink(".", directory.path("here")) == 0)
    let lock = try disk.lock(path)
    #expect(unsafe link(path, directory.path("hard")) == 0)
    for name in ["LOCK", "./LOCK", "d/../LOCK", "/LOCK", "here/LOCK", "hard"] {
      let error = #expect(throws: DiskError.self) { try disk.lock(directory.path(name)) }
      #expect(error?.reason == .locked)
      #expect(error?.detail == "by this very process")
    }
    lock.unlock()
    try disk.lock(directory.path("hard")).unlock()
  }

  @Test func `a lock holds this process's id`() throws {
    let lock = try disk.lock(path)
    #expect(try disk.text(path).split(separator: " ") == ["\(getpid())", "\n"])
    // Whoever takes it next overwrites all of it.
    #expect(try disk.text(path).utf8.count == 20)
    lock.unlock()
  }

  @Test(.enabled(if: hasFlock), .timeLimit(.minutes(20)))
  func `another process can't take what this one has`() throws {
    let lock = try disk.lock(path)
    #expect(try ChildProcess.run(Self.flock, "-n", "-E", "77", path, "/bin/true") == 77)
    // Nor share it: two that only share a lock would both have the datastore.
    #expect(try ChildProcess.run(Self.flock, "-s", "-n", "-E", "77", path, "/bin/true") == 77)
    // A failed attempt of this process does not end it either.
    disk.fails(.locked) { _ = try $0.lock(path) }
    #expect(try ChildProcess.run(Self.flock, "-n", "-E", "77", path, "/bin/true") == 77)
    lock.unlock()
    #expect(try ChildProcess.run(Self.flock, "-n", "-E", "77", path, "/bin/true") == 0)
  }

  @Test(.enabled(if: hasFlock), .timeLimit(.minutes(20)))
  func `who has a lock is told without taking it`() async throws {
    #expect(try disk.lockHolder(path) == nil)
    disk.fails(.notRegular) { _ = try $0.lockHolder(directory.path) }
    try disk.put(path, "")
    #expect(try disk.lockHolder(path) == nil)
    let mine = try disk.lock(path)
    #expect(try disk.lockHolder(path) == "by this very process")
    mine.unlock()
    // It leaves no number of its own, and that of the one before is not its.
    let file = try disk.open(path, .readWrite)
    try file.truncate(to: 0)
    let child = try ChildProcess([Self.flock, "-F", path, "/bin/sleep", "50"])
    var holder: String?
    while holder == nil {
      holder = try disk.lockHolder(path)
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(holder == "by another process")
    disk.fails(.locked) { _ = try $0.lock(path) }
    try file.put("4711\n")
    #expect(try disk.lockHolder(path) == "by process 4711")
    child.kill()
    #expect(!disk.isWritable("f\0"))
  }

  @Test(.enabled(if: hasFlock), .timeLimit(.minutes(20)))
  func `what another process has is free once it is killed`() async throws {
    try disk.put(path, "4711\n")
    // It waits, as the asking below has the lock at times too.
    let child = try ChildProcess([Self.flock, "-F", path, "/bin/sleep", "50"])
    while try ChildProcess.run(Self.flock, "-n", path, "/bin/true") == 0 {
      try await Task.sleep(for: .milliseconds(5))
    }
    let error = #expect(throws: DiskError.self) { try disk.lock(path) }
    #expect(
      error
        == DiskError(
          reason: .locked, operation: "lock", path: path, detail: "by process 4711"))
    #expect(
      error?.description
        == "could not lock \"\(path)\": it is in use (by process 4711); close it where it is open "
        + "and try again")
    #expect(try disk.text(path) == "4711\n")
    child.kill()
    try disk.lock(path).unlock()
  }

  @Test(.enabled(if: unsafe access("/proc/self/fd", R_OK) == 0))
  func `a started program inherits nothing that is open`() throws {
    let lock = try disk.lock(path)
    let file = try disk.open(directory.path("f"), .create)
    // Succeeds if it finds the directory in a list of what it has open.
    let command = "ls -l /proc/self/fd | grep -qF \"$0\""
    #expect(try ChildProcess.run("/bin/sh", "-c", command, directory.path) == 1)
    // It would find it.
    let found = "(ls -l /proc/self/fd | grep -qF \"$0\") 9<\"$0/f\""
    #expect(try ChildProcess.run("/bin/sh", "-c", found, directory.path) == 0)
    file.close()
    lock.unlock()
  }

  /// As when a datastore is deleted and made anew: whoever opened the old file must not take a lock
  /// on it that nobody else can see.
  @Test func `a lock is never on a file that has lost its name`() async throws {
    let path = path
    let holders = Holders()
    try await withThrowingTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<1500 {
            do {
              let lock = try PosixDisk().lock(path)
              try #require(holders.count.wrappingAdd(1, ordering: .relaxed).newValue == 1)
              holders.count.wrappingSubtract(1, ordering: .relaxed)
              try PosixDisk().remove(path)
              lock.unlock()
            } catch let error as DiskError where error.reason == .locked {
              await Task.yield()
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `of many that want the lock at once one gets it`() async throws {
    let path = path
    for _ in 0..<50 {
      let locks = try await withThrowingTaskGroup { group in
        for _ in 0..<8 {
          group.addTask { () -> (any DiskLock)? in
            do {
              return try PosixDisk().lock(path)
            } catch let error as DiskError where error.reason == .locked {
              return nil
            }
          }
        }
        return try await group.reduce(into: [any DiskLock]()) { locks, lock in
          if let lock { locks.append(lock) }
        }
      }
      #expect(locks.count == 1)
      for lock in locks { lock.unlock() }
    }
  }
}
