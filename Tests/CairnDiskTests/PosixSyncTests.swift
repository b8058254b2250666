#if canImport(Glibc)
  import CairnDisk
  import Glibc
  import TestSupport
  import Testing

  /// Which syncs really reach the system, and what becomes of their failures.
  struct PosixSyncTests {
    let directory: TemporaryDirectory
    let disk = PosixDisk()

    init() throws { directory = try TemporaryDirectory() }

    /// The calls for what is at a path, from now on.
    private func calls(_ path: String) throws -> [String] {
      SyncProbe.calls(try #require(try disk.info(path)).inode)
    }

    @Test func `a sync of a file is one call and a write none`() throws {
      let path = directory.path("f")
      let file = try disk.open(path, .create)
      _ = try calls(path)
      try file.preallocate(to: 4096)
      try file.put("abc")
      #expect(try calls(path) == [])
      try file.sync()
      #expect(try calls(path) == ["fdatasync"])
      file.close()
      #expect(try calls(path) == [])
    }

    /// Else its number would be another file's, and the end of the sync would close that one. In a
    /// process of its own, where no other test opens files.
    @Test func `a file that is closed during a sync is open until its end`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let disk = PosixDisk()
        let file = try disk.open(directory.path("f"), .create)
        let inode = try #require(try disk.info(directory.path("f"))).inode
        SyncProbe.delay(inode, microseconds: 100_000)
        let sync = Task.detached { try file.sync() }
        while !SyncProbe.hasCall(inode) { await Task.yield() }
        file.close()
        let closed = #expect(throws: DiskError.self) { try file.size() }
        #expect(closed?.reason == .io(errno: EBADF))
        let others = try (0..<4).map { try disk.open(directory.path("\($0)"), .create) }
        try await sync.value
        for other in others { try other.put("mine") }
        for number in 0..<4 { #expect(try disk.text(directory.path("\(number)")) == "mine") }
      }
    }

    @Test func `a sync of a directory is one call`() throws {
      _ = try calls(directory.path)
      try disk.put(directory.path("f"), "abc")
      try disk.rename(directory.path("f"), to: directory.path("g"))
      try disk.remove(directory.path("g"))
      #expect(try calls(directory.path) == [])
      try disk.syncDirectory(directory.path)
      #expect(try calls(directory.path) == ["fsync"])
    }

    @Test func `an interrupted sync is made again and a failed one is not`() throws {
      let path = directory.path("f")
      let file = try disk.open(path, .create)
      let inode = try #require(try disk.info(path)).inode
      SyncProbe.fail(inode, [EINTR, EINTR])
      try file.sync()
      #expect(SyncProbe.calls(inode) == ["fdatasync", "fdatasync", "fdatasync"])
      SyncProbe.fail(inode, [EIO])
      let error = #expect(throws: DiskError.self) { try file.sync() }
      #expect(error == DiskError(reason: .io(errno: EIO), operation: "sync", path: path))
      #expect(SyncProbe.calls(inode) == ["fdatasync"])
    }

    @Test(arguments: [
      (EIO, false), (EINVAL, true), (EOPNOTSUPP, true), (EBADF, true), (EROFS, false),
    ])
    func `only a disk that can't sync directories is excused`(code: Int32, excused: Bool) throws {
      let inode = try #require(try disk.info(directory.path)).inode
      SyncProbe.fail(inode, [code])
      if excused {
        try disk.syncDirectory(directory.path)
      } else {
        disk.fails(DiskError.Reason(errno: code)) { try $0.syncDirectory(directory.path) }
      }
      #expect(SyncProbe.calls(inode) == ["fsync"])
    }

    @Test func `a new directory's parents are synced`() throws {
      try disk.createDirectory(directory.path("old"))
      _ = try calls(directory.path)
      _ = try calls(directory.path("old"))
      // The names of a and of old, in this order: one was there, the other is new.
      try disk.createDirectory(directory.path("old/a"))
      #expect(try calls(directory.path) == ["fsync"])
      #expect(try calls(directory.path("old")) == ["fsync"])
      _ = try calls(directory.path("old/a"))
      try disk.createDirectory(directory.path("old/a/b/c"))
      #expect(try calls(directory.path("old")) == ["fsync"])
      #expect(try calls(directory.path("old/a")) == ["fsync"])
      #expect(try calls(directory.path) == [])
    }

    @Test func `a directory that can't be synced is not made`() throws {
      let inode = try #require(try disk.info(directory.path)).inode
      SyncProbe.fail(inode, [EIO])
      disk.fails(.io(errno: EIO)) { try $0.createDirectory(directory.path("a")) }
      // What was there may be in a directory that others own; what is new may not.
      try disk.createDirectory(directory.path("a"))
      for code in [EACCES, EROFS] {
        SyncProbe.fail(inode, [code])
        try disk.createDirectory(directory.path("a"))
      }
      SyncProbe.fail(inode, [EACCES])
      disk.fails(.denied) { try $0.createDirectory(directory.path("b")) }
    }
  }
#endif
