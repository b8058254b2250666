import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Snapshots and contents of attachments go into a directory a piece at a time. What a head names
/// afterwards is there, whatever happens to the machine that the directory is on.
@Suite struct FolderWriteCrashTests {
  private let disk = MemoryDisk()

  private var folder: DirectoryFolder {
    DirectoryFolder(
      "/f", machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1)))
  }

  private struct Source: FolderSource {
    var bytes: [UInt8]
    /// What is behind this place can't be had.
    var end: UInt64 = .max
    var size: UInt64 { UInt64(bytes.count) }

    func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
      if range.upperBound > end { throw CairnError(.corrupt, "it is damaged") }
      return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
  }

  @Test(arguments: CrashModel.all(seeds: 0..<3))
  func `what was written in pieces is there and whole after a power cut`(
    model: CrashModel
  ) async throws {
    try disk.setBytes("/f/d/old", [7])
    let bytes = sample(1, 600_000)
    let entry = try await folder.write("d/new", from: Source(bytes: bytes))
    #expect(entry.name == "new" && entry.size == 600_000)
    let left = disk.crash(keep: model)
    #expect(left.paths() == ["/f/d/new", "/f/d/old"])
    #expect(left.bytes("/f/d/new") == bytes)
  }

  @Test func `a source that fails half-way leaves what was there, and nothing else`() async throws {
    try disk.setBytes("/f/d/old", [7])
    let source = Source(bytes: sample(1, 600_000), end: 300_000)
    let error = await #expect(throws: CairnError.self) {
      try await folder.write("d/old", from: source)
    }
    #expect(error?.code == .corrupt)
    #expect(disk.paths() == ["/f/d/old"] && disk.bytes("/f/d/old") == [7])
    #expect(disk.openFiles == 0)
  }
}
