#if canImport(Glibc)
  import CairnDisk
  import Glibc
  import TestSupport
  import Testing

  /// What only a file system of its own can show: full, out of names, read-only. Needs root.
  @Suite(.enabled(if: SmallMount.isPossible, "mounting needs root"))
  struct PosixMountTests {
    let disk = PosixDisk()

    @Test func `a full disk is an error and works again once there is space`() throws {
      let mount = try SmallMount("size=256k")
      let ballast = try disk.open(mount.path("ballast"), .create)
      try ballast.write([UInt8](repeating: 1, count: 128 << 10).span, at: 0)
      let file = try disk.open(mount.path("file"), .create)
      let bytes = [UInt8](repeating: 2, count: 200 << 10)
      let full = #expect(throws: DiskError.self) { try file.write(bytes.span, at: 0) }
      #expect(full?.reason == .noSpace)
      #expect(full?.path == mount.path("file"))
      let reserve = #expect(throws: DiskError.self) { try file.preallocate(to: 1 << 20) }
      #expect(reserve?.reason == .noSpace)
      #expect(try ballast.read(at: 0, count: 1) == [1])
      try ballast.truncate(to: 0)
      try file.write(bytes.span, at: 0)
      try file.sync()
      #expect(try file.read(at: 0, count: .max) == bytes)
    }

    @Test func `what is free is told in bytes`() throws {
      let mount = try SmallMount("size=256k")
      let before = try #require(try disk.freeBytes(mount.path("")))
      #expect(before > 128 << 10 && before <= 256 << 10)
      let file = try disk.open(mount.path("file"), .create)
      try file.write([UInt8](repeating: 1, count: 100 << 10).span, at: 0)
      // Of the file system that the path is on, whatever it names there.
      for name in ["", "file"] {
        let after = try #require(try disk.freeBytes(mount.path(name)))
        #expect(after <= before - 100 << 10 && after >= before - 128 << 10)
      }
      try file.truncate(to: 0)
      file.close()
      try disk.remove(mount.path("file"))
      #expect(try disk.freeBytes(mount.path("")) == before)
    }

    @Test func `a lock can be had on a full disk`() throws {
      let mount = try SmallMount("size=64k")
      try disk.put(mount.path("LOCK"), "")
      let ballast = try disk.open(mount.path("ballast"), .create)
      while (try? ballast.put("x", at: ballast.size() + 4095)) != nil {}
      #expect(try disk.freeBytes(mount.path("")) == 0)
      let lock = try disk.lock(mount.path("LOCK"))
      disk.fails(.locked) { _ = try $0.lock(mount.path("LOCK")) }
      lock.unlock()
    }

    @Test func `a disk without room for names is full`() throws {
      let mount = try SmallMount("nr_inodes=8")
      let error = #expect(throws: DiskError.self) {
        for number in 0..<10 { try disk.put(mount.path("\(number)"), "") }
      }
      #expect(error?.reason == .noSpace)
      disk.fails(.noSpace) { try $0.createDirectory(mount.path("d/e")) }
    }

    @Test func `a read-only disk is said to be so`() throws {
      let mount = try SmallMount("size=64k")
      try disk.put(mount.path("f"), "abc")
      try disk.createDirectory(mount.path("d"))
      try disk.createDirectory(mount.path("full"))
      try disk.put(mount.path("full/f"), "abc")
      try mount.makeReadOnly()
      disk.fails(.readOnly) { _ = try $0.open(mount.path("g"), .create) }
      disk.fails(.readOnly) { _ = try $0.open(mount.path("f"), .readWrite) }
      disk.fails(.readOnly) { try $0.remove(mount.path("f")) }
      disk.fails(.readOnly) { try $0.rename(mount.path("f"), to: mount.path("g")) }
      disk.fails(.readOnly) { try $0.createDirectory(mount.path("d/e")) }
      disk.fails(.readOnly) { try $0.removeTree(mount.path("d")) }
      let error = #expect(throws: DiskError.self) { try disk.removeTree(mount.path("full")) }
      #expect(error?.reason == .readOnly && error?.path == mount.path("full/f"))
      disk.fails(.readOnly) { _ = try $0.lock(mount.path("f")) }
      // Who has a lock is told all the same.
      #expect(try disk.lockHolder(mount.path("f")) == nil)
      try disk.createDirectory(mount.path("d"))
      #expect(try disk.text(mount.path("f")) == "abc")
    }

    @Test func `a rename does not cross disks`() throws {
      let mount = try SmallMount("size=64k")
      let other = try TemporaryDirectory()
      try disk.put(mount.path("f"), "abc")
      disk.fails(.io(errno: EXDEV)) { try $0.rename(mount.path("f"), to: other.path("f")) }
      #expect(try disk.text(mount.path("f")) == "abc")
    }
  }

  /// A file system in memory, mounted for as long as this lives.
  private final class SmallMount {
    private let directory: TemporaryDirectory
    private var point: String { directory.path("mount") }

    init(_ options: String) throws {
      directory = try TemporaryDirectory()
      try PosixDisk().createDirectory(directory.path("mount"))
      let code = try ChildProcess.run("/bin/mount", "-t", "tmpfs", "-o", options, "cairn", point)
      try #require(code == 0)
    }

    deinit {
      // Left behind otherwise; the test has said what it had to say.
      _ = try? ChildProcess.run("/bin/umount", "-l", point)
    }

    static let isPossible: Bool = {
      // Whatever the reason that it can't be done here, the tests are left out.
      geteuid() == 0 && (try? SmallMount("size=4k")) != nil
    }()

    func path(_ name: String) -> String { point + "/" + name }

    func makeReadOnly() throws {
      try #require(try ChildProcess.run("/bin/mount", "-o", "remount,ro", point) == 0)
    }
  }
#endif
