import CairnDisk
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the names on a disk promise, on either disk.
struct NameContractTests {
  @Test(arguments: DiskKind.allCases)
  func `opening needs a file and creating needs none`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    for mode in [OpenMode.read, .readWrite] {
      bench.disk.fails(.notFound) { _ = try $0.open(bench.path("a"), mode) }
      bench.disk.fails(.notFound) { _ = try $0.open(bench.path("no/a"), mode) }
    }
    bench.disk.fails(.notFound) { _ = try $0.open(bench.path("no/a"), .create) }
    #expect(try bench.names() == [])
    try bench.put("a", "abc")
    bench.disk.fails(.exists) { _ = try $0.open(bench.path("a"), .create) }
    #expect(try bench.text("a") == "abc")
  }

  @Test(arguments: DiskKind.allCases)
  func `a directory is not a file and a file not a directory`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.disk.createDirectory(bench.path("d"))
    try bench.put("f", "abc")
    bench.disk.fails(.notRegular) { _ = try $0.open(bench.path("d"), .read) }
    bench.disk.fails(.notRegular) { _ = try $0.open(bench.path("d"), .readWrite) }
    bench.disk.fails(.exists) { _ = try $0.open(bench.path("d"), .create) }
    bench.disk.fails(.notRegular) { _ = try $0.open(bench.path("f/x"), .read) }
    bench.disk.fails(.notRegular) { _ = try $0.open(bench.path("f/x"), .create) }
    bench.disk.fails(.notRegular) { _ = try $0.list(bench.path("f")) }
    bench.disk.fails(.notRegular) { try $0.syncDirectory(bench.path("f")) }
    bench.disk.fails(.notRegular) { try $0.remove(bench.path("d")) }
    bench.disk.fails(.notRegular) { _ = try $0.lock(bench.path("d")) }
    bench.disk.fails(.exists) { try $0.createDirectory(bench.path("f")) }
    bench.disk.fails(.exists) { try $0.createDirectory(bench.path("f/x")) }
    #expect(try bench.names() == ["d", "f"])
  }

  @Test(arguments: DiskKind.allCases)
  func `directories are made with their parents`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.disk.createDirectory(bench.path("a/b//c/"))
    try bench.disk.createDirectory(bench.path("a/b/c"))
    try bench.disk.createDirectory(bench.path("a/b/d"))
    #expect(try bench.names("a/b") == ["c", "d"])
    #expect(try bench.disk.info(bench.path("a/b/c"))?.kind == .directory)
    bench.disk.fails(.notFound) { try $0.createDirectory("") }
    try bench.disk.createDirectory("/")
  }

  @Test(arguments: DiskKind.allCases)
  func `a listing is sorted by bytes and says what is there`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let names = ["10", "9", "B", "a", "a-b", "b", "e\u{301}", "z", "\u{E9}", "\u{1F5FF}"]
    for name in names.shuffled() { try bench.put(name, name) }
    try bench.disk.createDirectory(bench.path("Dir"))
    let entries = try bench.disk.list(bench.path(""))
    let expected = ["10", "9", "B", "Dir"] + names.dropFirst(3)
    #expect(entries.map { Array($0.name.utf8) } == expected.map { Array($0.utf8) })
    for entry in entries {
      #expect(try bench.disk.info(bench.path(entry.name)) == entry.info)
      #expect(entry.info.kind == (entry.name == "Dir" ? .directory : .file))
      if entry.name != "Dir" { #expect(entry.info.size == UInt64(entry.name.utf8.count)) }
    }
    #expect(Set(entries.map(\.info.inode)).count == entries.count)
    bench.disk.fails(.notFound) { _ = try $0.list(bench.path("no")) }
  }

  @Test(arguments: DiskKind.allCases)
  func `there is nothing below a file nor below nothing`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.put("f", "abc")
    #expect(try bench.disk.info(bench.path("no")) == nil)
    #expect(try bench.disk.info(bench.path("no/no")) == nil)
    #expect(try bench.disk.info(bench.path("f/no")) == nil)
    #expect(try bench.disk.info(bench.path("f"))?.size == 3)
  }

  @Test(arguments: DiskKind.allCases)
  func `a new name replaces a file`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.put("new", "new")
    try bench.put("old", "old")
    let before = try bench.disk.info(bench.path("new"))
    let replaced = try bench.disk.open(bench.path("old"), .read)
    try bench.disk.rename(bench.path("new"), to: bench.path("old"))
    #expect(try bench.names() == ["old"])
    #expect(try bench.text("old") == "new")
    #expect(try bench.disk.info(bench.path("old"))?.inode == before?.inode)
    #expect(try replaced.text() == "old")
    try bench.disk.rename(bench.path("old"), to: bench.path("old"))
    #expect(try bench.text("old") == "new")
  }

  @Test(arguments: DiskKind.allCases)
  func `files and directories move`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.disk.createDirectory(bench.path("a/inner"))
    try bench.disk.createDirectory(bench.path("b"))
    try bench.put("a/inner/f", "abc")
    try bench.disk.rename(bench.path("a/inner"), to: bench.path("b/moved"))
    try bench.disk.rename(bench.path("b/moved/f"), to: bench.path("a/g"))
    #expect(try bench.names("a") == ["g"])
    #expect(try bench.names("b/moved") == [])
    #expect(try bench.text("a/g") == "abc")
  }

  @Test(arguments: DiskKind.allCases)
  func `a rename that can't be leaves all as it is`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.disk.createDirectory(bench.path("full/inner"))
    try bench.disk.createDirectory(bench.path("empty"))
    try bench.put("f", "abc")
    func fails(_ reason: DiskError.Reason, _ from: String, _ to: String) {
      bench.disk.fails(reason) { try $0.rename(bench.path(from), to: bench.path(to)) }
    }
    fails(.notFound, "no", "x")
    fails(.notFound, "f", "no/x")
    fails(.notRegular, "f", "empty")
    fails(.notRegular, "empty", "f")
    fails(.notRegular, "empty", "f/x")
    fails(.io(errno: ENOTEMPTY), "empty", "full")
    fails(.io(errno: EINVAL), "full", "full/inner/x")
    #expect(try bench.names() == ["empty", "f", "full"])
    try bench.disk.rename(bench.path("full"), to: bench.path("empty"))
    #expect(try bench.names("empty") == ["inner"])
  }

  @Test(arguments: DiskKind.allCases)
  func `a removed file is gone`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.put("f", "abc")
    try bench.disk.remove(bench.path("f"))
    #expect(try bench.names() == [])
    bench.disk.fails(.notFound) { try $0.remove(bench.path("f")) }
    bench.disk.fails(.notFound) { try $0.remove(bench.path("no/f")) }
  }

  @Test(arguments: DiskKind.allCases)
  func `a tree is removed with all in it and nothing beside it`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.disk.createDirectory(bench.path("t/a/b/c"))
    try bench.disk.createDirectory(bench.path("tt"))
    for name in ["t/1", "t/a/2", "t/a/b/3", "tt/4", "u"] { try bench.put(name, name) }
    try bench.disk.removeTree(bench.path("t"))
    try bench.disk.removeTree(bench.path("t"))
    try bench.disk.removeTree(bench.path("t/a"))
    #expect(try bench.names() == ["tt", "u"])
    try bench.disk.removeTree(bench.path("u"))
    try bench.disk.removeTree(bench.path("tt/"))
    #expect(try bench.names() == [])
  }

  @Test(arguments: DiskKind.allCases)
  func `a directory that is missing can't be synced`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    bench.disk.fails(.notFound) { try $0.syncDirectory(bench.path("no")) }
    try bench.disk.syncDirectory(bench.path(""))
  }

  @Test(arguments: DiskKind.allCases)
  func `a zero in a path does not cut it short`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.put("f", "abc")
    let path = bench.path("f\0.seg")
    let calls: [(any Disk) throws -> Void] = [
      { _ = try $0.open(path, .read) }, { _ = try $0.open(path, .create) },
      { _ = try $0.info(path) }, { try $0.remove(path) }, { try $0.removeTree(path) },
      { try $0.rename(path, to: bench.path("g")) }, { try $0.rename(bench.path("f"), to: path) },
      { _ = try $0.lock(path) }, { try $0.createDirectory(path) }, { _ = try $0.list(path) },
      { try $0.syncDirectory(path) },
    ]
    for call in calls { bench.disk.fails(.io(errno: EINVAL), call) }
    #expect(try bench.names() == ["f"])
  }

  @Test(arguments: DiskKind.allCases)
  func `an error says what and where`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let path = bench.path("no")
    let error = #expect(throws: DiskError.self) { _ = try bench.disk.open(path, .read) }
    #expect(error == DiskError(reason: .notFound, operation: "open", path: path))
    #expect(
      error?.description
        == "could not open \"\(path)\": there is no such file or directory; check the path")
  }

  @Test(arguments: DiskKind.allCases)
  func `a listing that is the last one is that very object`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.disk.createDirectory(bench.path("d"))
    for name in ["b", "a", "\u{E9}", "c"] { try bench.put("d/" + name, "four") }
    var last = try bench.disk.list(bench.path("d"), after: nil)
    /// Whether there is another listing after a change; it is the last one from now on.
    func isOther(after change: () throws -> Void) throws -> Bool {
      try change()
      let next = try bench.disk.list(bench.path("d"), after: last)
      defer { last = next }
      #expect(try next.entries == bench.disk.list(bench.path("d")))
      return next !== last
    }
    #expect(last.entries.map(\.name) == ["a", "b", "c", "\u{E9}"])
    #expect(try !isOther {})
    #expect(try isOther { try bench.put("d/0", "four") })
    #expect(try !isOther {})
    #expect(try isOther { try bench.disk.remove(bench.path("d/b")) })
    #expect(try isOther { try bench.disk.rename(bench.path("d/0"), to: bench.path("d/1")) })
    try bench.put("new", "five")
    #expect(try isOther { try bench.disk.rename(bench.path("new"), to: bench.path("d/a")) })
    #expect(try bench.text("d/a") == "five", "another file, as long as the first")
    #expect(
      try isOther {
        let file = try bench.disk.open(bench.path("d/a"), .readWrite)
        try file.truncate(to: 3)
        file.close()
      })
    #expect(try isOther { try bench.disk.createDirectory(bench.path("d/z")) })
    #expect(try !isOther {})
    let other = try bench.disk.list(bench.root, after: last)
    #expect(other.entries.map(\.name) == ["d"])
    bench.disk.fails(.notFound) { _ = try $0.list(bench.path("no"), after: last) }
  }

  /// Only the time tells them apart.
  @Test func `a file that is written over in place makes another listing`() throws {
    let bench = try DiskWorkbench(.posix)
    try bench.put("f", "four")
    func setTime(_ seconds: Int) {
      let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      #expect(unsafe utimensat(AT_FDCWD, bench.path("f"), times, 0) == 0)
    }
    setTime(1_700_000_000)
    let first = try bench.disk.list(bench.root, after: nil)
    let file = try bench.disk.open(bench.path("f"), .readWrite)
    try file.write(Array("five".utf8).span, at: 0)
    file.close()
    setTime(1_700_000_001)
    let second = try bench.disk.list(bench.root, after: first)
    #expect(second !== first)
    #expect(second.entries[0].info.inode == first.entries[0].info.inode)
    #expect(second.entries[0].info.size == first.entries[0].info.size)
  }
}
