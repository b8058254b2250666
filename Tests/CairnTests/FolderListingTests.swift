import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// A folder that is as it was is looked at as a whole: whatever changes there, rounds have to see.
@Suite struct FolderListingTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  private func entry(_ name: String) -> FolderEntry {
    FolderEntry(name: name, size: 1, version: "1")
  }

  @Test func `files are sorted by what their names say`() {
    let own = FileName.Published(device: 7, first: 1, last: 9, hash: 3)
    let names = [
      FileName.published(own), FileName.head(device: 7), FileName.sharedSnapshot(5), "notes.txt",
      FileName.head(device: 8), FileName.temporary(1), FileName.head(device: 9) + " (copy)",
    ]
    let listing = FolderListing(names.map(entry))
    #expect(listing.heads.map(\.name) == [names[1], names[4]])
    #expect(listing.published == [DeviceID(rawValue: 7): [names[0]]])
    #expect(listing.strangers.map(\.name) == [names[3], names[6]])
    #expect(listing.byName.count == names.count)
    #expect(names.allSatisfy { listing.byName[$0]?.name == $0 })
  }

  /// Their heads have the same length, too.
  @Test func `after quiet rounds what a device has published is seen at once`() async throws {
    let (a, b) = (try await bench.publisher("a"), try bench.open("b"))
    for number in 0..<6 {
      for _ in 0..<3 { _ = try await b.pull() }
      #expect(try await b.pull().isIdle)
      try a.table("t")["a"].set("n", .int(Int64(number)))
      try a.sync()
      try await a.exchange()
      _ = try await b.pull()
      #expect(try b.table("t")["a"].int("n") == Int64(number))
    }
  }

  @Test func `after quiet rounds an own file that was cut short in place is written again`()
    async throws
  {
    let a = try await bench.publisher("a")
    for _ in 0..<4 { try await a.exchange() }
    #expect(try await a.exchange().isIdle)
    let path = bench.shared + "/" + (try bench.segment(a))
    let before = try bench.read(path)
    let file = try PosixDisk().open(path, .readWrite)
    try file.truncate(to: UInt64(before.count - 1))
    file.close()
    for _ in 0..<10 { try await a.exchange() }
    #expect(try bench.read(bench.shared + "/" + bench.segment(a)) == before)
    #expect(try await a.exchange().isIdle)
  }

  @Test func `a file of somebody else's is in each report for as long as it is there`() async throws
  {
    let a = try await bench.publisher("a")
    for _ in 0..<3 { #expect(try await a.exchange().ignoredFiles == 0) }
    try bench.write(bench.shared + "/notes.txt", Array("some text".utf8))
    for _ in 0..<3 { #expect(try await a.exchange().ignoredFiles == 1) }
    try bench.remove(bench.shared + "/notes.txt")
    for _ in 0..<2 { #expect(try await a.exchange().ignoredFiles == 0) }
  }

  @Test func `a folder's listing is as new as the directory`() async throws {
    let folder = DirectoryFolder(bench.folder)
    func names() async throws -> [String] { try await folder.list("d").map(\.name) }
    #expect(try await names() == [])
    for name in ["b", "a"] { _ = try await folder.write("d/" + name, [1, 2, 3]) }
    let first = try await folder.list("d")
    #expect(first.map(\.name) == ["a", "b"])
    #expect(try await folder.list("d") == first)
    _ = try await folder.write("d/a", [4, 5, 6])
    let second = try await folder.list("d")
    #expect(second[0].size == first[0].size && second[0].version != first[0].version)
    #expect(second[1] == first[1])
    #expect(try await folder.forReading().list("d") == second)
    try await folder.remove("d/b")
    #expect(try await names() == ["a"])
    try bench.remove(bench.folder)
    #expect(try await names() == [])
    _ = try await folder.write("d/c", [1])
    #expect(try await names() == ["c"])
  }
}
