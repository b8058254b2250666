#if canImport(Glibc)
  import CairnDisk
  import Glibc
  import TestSupport
  import Testing

  @testable import Cairn

  /// Roots on file systems that are made for the test. Mounting needs root.
  @Suite struct MountedRootTests {
    @Test(.enabled(if: MountedDisk.isPossible, "mounting needs root"))
    func `a datastore on a read-only disk is verified there, and nothing is written`() throws {
      let mount = try MountedDisk.inMemory()
      let manager = try DatastoreManager(root: mount.path("root"))
      let datastore = try manager.openOrCreateDatastore("notes")
      try datastore.add("r")
      try manager.shutDown()
      try mount.makeReadOnly()
      let inspector = try DatastoreInspector(root: mount.path("root"), id: "notes")
      defer { inspector.close() }
      #expect(try inspector.segments().count == 1)
      let report = try inspector.verify()
      #expect(report.problems.isEmpty && report.deltas > 0)
    }

    /// There each spelling is a file of its own to the system, and so is its lock.
    @Test(.enabled(if: MountedDisk.canFold, "exfat-fuse and loop devices are needed"))
    func `a root is one root however it is spelled, where letters may be large or small`() throws {
      let mount = try MountedDisk.folding()
      let first = try DatastoreManager(root: mount.path("Root"))
      var datastore = try first.openOrCreateDatastore("notes")
      try datastore.add("r")
      let second = try DatastoreManager(root: mount.path("rOOT"))
      #expect(second.root.hasSuffix("/Root"))
      #expect(code { _ = try second.openDatastore("notes") } == .alreadyOpen)
      #expect(
        code { _ = try DatastoreInspector(root: mount.path("ROOT"), id: "notes") } == .alreadyOpen)
      let account = Account(user: "ann", folder: .directory(mount.path("ROOT/folder")))
      #expect(
        code { _ = try DatastoreManager(root: mount.path("root"), account: account) } == .parent)
      try datastore.close()
      datastore = try second.openDatastore("notes")
      #expect(try datastore.ids() == ["r"])
      try datastore.close()
    }
  }

  /// A file system of its own, mounted for as long as this lives.
  private final class MountedDisk {
    private let directory: TemporaryDirectory
    private var device: String?
    private var point: String { directory.path("mount") }

    private init() throws {
      directory = try TemporaryDirectory()
      try PosixDisk().createDirectory(directory.path("mount"))
    }

    static func inMemory() throws -> MountedDisk {
      let mount = try MountedDisk()
      try run("/bin/mount", "-t", "tmpfs", "-o", "size=64m", "cairn", mount.point)
      return mount
    }

    /// On which letters may be large or small, by a program and not by the system.
    static func folding() throws -> MountedDisk {
      let mount = try MountedDisk()
      let image = try PosixDisk().open(mount.directory.path("image"), .create)
      try image.truncate(to: 64 << 20)
      image.close()
      try run("/usr/sbin/mkfs.exfat", mount.directory.path("image"))
      let name = try run("/usr/sbin/losetup", "-f", "--show", mount.directory.path("image"))
      let device = String(name.prefix { !$0.isWhitespace })
      mount.device = device
      try run("/usr/sbin/mount.exfat-fuse", device, mount.point)
      return mount
    }

    deinit {
      // Left behind otherwise; the test has said what it had to say.
      _ = try? MountedDisk.run("/bin/umount", "-l", point)
      // Likewise.
      if let device { _ = try? MountedDisk.run("/usr/sbin/losetup", "-d", device) }
    }

    static let isPossible: Bool = {
      // Whatever the reason that it can't be done here, the tests are left out.
      geteuid() == 0 && (try? inMemory()) != nil
    }()

    static let canFold: Bool = {
      // Likewise.
      isPossible && (try? folding()) != nil
    }()

    func path(_ name: String) -> String { point + "/" + name }

    func makeReadOnly() throws {
      try MountedDisk.run("/bin/mount", "-o", "remount,ro", point)
    }

    /// What it prints; fails unless it ends well.
    @discardableResult
    private static func run(_ program: String, _ arguments: String...) throws -> String {
      let outcome = try Tool.run(arguments, program: program)
      guard outcome.status == 0 else {
        throw Refusal(program: program, status: outcome.status, errors: outcome.errors)
      }
      return outcome.output
    }

    /// Not by the test's own means: where nothing can be mounted that is none of its failures.
    private struct Refusal: Error {
      var program: String
      var status: Int32
      var errors: String
    }
  }
#endif
