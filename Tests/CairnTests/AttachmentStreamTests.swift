import CairnBytes
import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Contents of any size go through in pieces. What is counted are the pieces that are asked for and
/// handed on: nothing else of a content is ever in memory.
@Suite struct AttachmentStreamTests {
  /// The largest piece, and all together.
  private final class Count: Sendable {
    private let state = Lock((largest: 0, total: 0))
    var largest: Int { state.withLock { $0.largest } }
    var total: Int { state.withLock { $0.total } }
    func note(_ count: Int) {
      state.withLock { ($0.largest, $0.total) = (max($0.largest, count), $0.total + count) }
    }
  }

  private final class CountedFile: DiskFile {
    let base: any DiskFile
    let reads: Count
    let writes: Count
    init(_ base: any DiskFile, _ reads: Count, _ writes: Count) {
      (self.base, self.reads, self.writes) = (base, reads, writes)
    }
    var path: String { base.path }
    func size() throws(DiskError) -> UInt64 { try base.size() }
    func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8] {
      let bytes = try base.read(at: offset, count: count)
      reads.note(bytes.count)
      return bytes
    }
    func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(DiskError) {
      // The list of what is unused, which lies beside the contents, is small.
      if bytes.count > 4096 { writes.note(bytes.count) }
      try base.write(bytes, at: offset)
    }
    func sync() throws(DiskError) { try base.sync() }
    func preallocate(to length: UInt64) throws(DiskError) { try base.preallocate(to: length) }
    func truncate(to length: UInt64) throws(DiskError) { try base.truncate(to: length) }
    func adviseRandom() { base.adviseRandom() }
    func close() { base.close() }
  }

  /// The real disk, counting what goes through files of contents.
  private struct CountedDisk: Disk {
    let base = PosixDisk()
    let reads = Count()
    let writes = Count()
    func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
      let file = try base.open(path, mode)
      guard path.contains("/blobs/") || path.contains("/b-p-") else { return file }
      return CountedFile(file, reads, writes)
    }
    func createDirectory(_ path: String) throws(DiskError) { try base.createDirectory(path) }
    func createPrivateDirectory(_ path: String) throws(DiskError) {
      try base.createPrivateDirectory(path)
    }
    func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
      try base.list(directory)
    }
    func info(_ path: String) throws(DiskError) -> FileInfo? { try base.info(path) }
    func rename(_ from: String, to: String) throws(DiskError) { try base.rename(from, to: to) }
    func remove(_ path: String) throws(DiskError) { try base.remove(path) }
    func removeTree(_ path: String) throws(DiskError) { try base.removeTree(path) }
    func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(path) }
    func lock(_ path: String) throws(DiskError) -> any DiskLock { try base.lock(path) }
  }

  private func open(
    _ place: TemporaryDirectory, _ name: String, _ disk: CountedDisk
  ) throws -> Datastore {
    var real = Machine.real
    real.disk = disk
    let machine = real
    let folder = place.path("folder")
    var options = Options()
    options.durability = .none
    return try DatastoreManager(
      root: place.path(name), account: Account(user: "ann", folder: .directory(folder)),
      folder: { DirectoryFolder(folder, machine: machine) }, options: options, machine: machine
    ).openOrCreateDatastore("notes")
  }

  @Test func `256 MiB go from one device to another in pieces of 256 KiB`() async throws {
    let place = try TemporaryDirectory()
    let (diskA, diskB) = (CountedDisk(), CountedDisk())
    let (a, b) = (try open(place, "a", diskA), try open(place, "b", diskB))
    let (piece, pieces) = (256 << 10, 1024)
    let length = piece * pieces
    let base = SeededRandom(5).bytes(piece)
    let attachment = try a.attach { writer throws(CairnError) in
      for index in 0..<pieces {
        var bytes = base
        bytes.set(UInt64(index), at: 0)
        try writer.write(bytes)
      }
    }
    #expect(attachment.length == UInt64(length))
    #expect(diskA.writes.largest == piece && diskA.writes.total == length)
    #expect(diskA.reads.total == 0, "it was hashed on its way")
    try a.table("t").insert(["film": attachment.value], id: "r")
    try a.sync()
    try await a.exchange()
    #expect(diskA.writes.largest == piece && diskA.writes.total == 2 * length)
    #expect(diskA.reads.largest == piece && diskA.reads.total == length)
    try await b.pullAll()
    #expect(diskB.reads.largest == piece && diskB.reads.total == length, "from the folder, once")
    #expect(diskB.writes.largest == piece && diskB.writes.total == length)
    var (largest, total) = (0, 0)
    for try await chunk in b.attachment(attachment.id).chunks {
      (largest, total) = (max(largest, chunk.count), total + chunk.count)
    }
    #expect(largest == piece && total == length)
    #expect(diskB.reads.total == 2 * length, "it was checked when it came")
    try a.close()
    try b.close()
  }
}
