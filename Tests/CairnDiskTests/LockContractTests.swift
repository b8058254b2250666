import CairnDisk
import Testing

/// What a lock promises, on either disk.
struct LockContractTests {
  @Test(arguments: DiskKind.allCases)
  func `a file is locked once at a time`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let lock = try bench.disk.lock(bench.path("LOCK"))
    bench.disk.fails(.locked) { _ = try $0.lock(bench.path("LOCK")) }
    bench.disk.fails(.locked) { _ = try $0.lock(bench.root + "/./LOCK") }
    let other = try bench.disk.lock(bench.path("LOCK2"))
    lock.unlock()
    lock.unlock()
    let again = try bench.disk.lock(bench.path("LOCK"))
    lock.unlock()
    bench.disk.fails(.locked) { _ = try $0.lock(bench.path("LOCK")) }
    again.unlock()
    other.unlock()
  }

  @Test(arguments: DiskKind.allCases)
  func `a lock ends with its last reference`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    var lock: (any DiskLock)? = try bench.disk.lock(bench.path("LOCK"))
    #expect(lock != nil)
    bench.disk.fails(.locked) { _ = try $0.lock(bench.path("LOCK")) }
    lock = nil
    try bench.disk.lock(bench.path("LOCK")).unlock()
  }

  @Test(arguments: DiskKind.allCases)
  func `a locked file holds a process id and no more`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    // The longest that another process can have left there.
    try bench.put("LOCK", "9223372036854775807\n")
    let lock = try bench.disk.lock(bench.path("LOCK"))
    let text = try bench.text("LOCK")
    #expect(text.utf8.count == 20 && text.last == "\n")
    #expect(Int(text.prefix { $0 != " " }) ?? 0 > 0)
    #expect(Set(text.dropLast().drop { $0 != " " }) == [" "])
    // Neither this reading nor its closing ended the lock.
    bench.disk.fails(.locked) { _ = try $0.lock(bench.path("LOCK")) }
    lock.unlock()
  }

  @Test(arguments: DiskKind.allCases)
  func `a lock is the file's and not the name's`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let old = try bench.disk.lock(bench.path("LOCK"))
    try bench.disk.rename(bench.path("LOCK"), to: bench.path("moved"))
    bench.disk.fails(.locked) { _ = try $0.lock(bench.path("moved")) }
    let new = try bench.disk.lock(bench.path("LOCK"))
    old.unlock()
    bench.disk.fails(.locked) { _ = try $0.lock(bench.path("LOCK")) }
    new.unlock()
  }
}
