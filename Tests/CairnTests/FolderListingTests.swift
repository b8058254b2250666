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

  // MARK: brief looks

  /// A folder with two files that change, twenty that do not, and a count of what is looked at.
  private func folder() async throws -> (folder: DirectoryFolder, lookedAt: Shared<Int>) {
    let lookedAt = Shared(0)
    let folder = DirectoryFolder(
      bench.folder,
      machine: Machine(
        disk: LookingDisk(lookedAt: lookedAt), clock: SystemClock(), random: SystemRandom()))
    for number in 1...2 {
      _ = try await folder.write("d/" + FileName.head(device: UInt64(number)), [1, 2, 3])
    }
    for number in 1...19 {
      let name = FileName.Published(device: 1, first: UInt64(number), last: UInt64(number), hash: 3)
      _ = try await folder.write("d/" + FileName.published(name), [1, 2, 3])
    }
    _ = try await folder.write("d/" + FileName.sharedSnapshot(5), [1, 2, 3])
    return (folder, lookedAt)
  }

  @Test func `a brief look is at what may change, and every eighth one at all`() async throws {
    let (folder, lookedAt) = try await folder()
    let all = try await folder.list("d")
    #expect(all.count == 22)
    for number in 1...24 {
      _ = lookedAt.exchange(0)
      #expect(try await folder.listBriefly("d") == all)
      #expect(lookedAt.withLock { $0 } == (number.isMultiple(of: 8) ? 22 : 2))
    }
    // Whoever looks at all of it in between has done that.
    for _ in 0..<3 { _ = try await folder.listBriefly("d") }
    _ = try await folder.list("d")
    for _ in 0..<7 {
      _ = lookedAt.exchange(0)
      _ = try await folder.listBriefly("d")
      #expect(lookedAt.withLock { $0 } == 2)
    }
  }

  @Test func `the first look is at all, however brief it may be`() async throws {
    let (folder, lookedAt) = try await folder()
    _ = lookedAt.exchange(0)
    #expect(try await folder.listBriefly("d").count == 22)
    #expect(lookedAt.withLock { $0 } == 22)
  }

  @Test(arguments: ["came", "went", "changed"])
  func `once anything has changed all is looked at`(what: String) async throws {
    let (folder, _) = try await folder()
    let all = try await folder.list("d")
    let snapshot = "d/" + FileName.sharedSnapshot(5)
    try bench.write(bench.folder + "/" + snapshot, [1])
    #expect(try await folder.listBriefly("d") == all)
    switch what {
    case "came": try bench.write(bench.folder + "/d/notes.txt", [1])
    case "went": try await folder.remove("d/" + all[1].name)
    default: try bench.write(bench.folder + "/d/" + FileName.head(device: 2), [4, 5])
    }
    let next = try await folder.listBriefly("d")
    #expect(next.first { snapshot.hasSuffix($0.name) }?.size == 1)
    let known = Dictionary(uniqueKeysWithValues: next.map { ($0.name, $0) })
    #expect(try await folder.list("d") == next && known.count == next.count)
  }

  @Test func `what was cut in place is seen with the eighth look`() async throws {
    let (folder, _) = try await folder()
    let all = try await folder.list("d")
    let name = try #require(all.map(\.name).first { FileName.published($0) != nil })
    let file = try PosixDisk().open(bench.folder + "/d/" + name, .readWrite)
    try file.truncate(to: 1)
    file.close()
    for _ in 0..<7 { #expect(try await folder.listBriefly("d") == all) }
    let seen = try await folder.listBriefly("d").first { $0.name == name }
    #expect(seen?.size == 1)
  }

  @Test func `rounds look briefly once one has found nothing to do and nothing amiss`()
    async throws
  {
    let a = try await bench.publisher("a")
    let looks = Told<LookedAtFolder.Look>()
    let b = try bench.open("b", looks)
    for _ in 0..<4 { _ = try await b.pull() }
    try #require(looks.all.last == .brief)
    #expect(looks.all.first == .whole)
    // A file that is only half there is looked at in each round, until it is there.
    try a.add("later")
    try await a.exchange()
    let path = bench.shared + "/" + (try bench.segment(a))
    let whole = try bench.read(path)
    try bench.write(path, Array(whole.prefix(whole.count / 2)))
    let before = looks.all.count
    for _ in 0..<12 { #expect(try await !b.pull().waiting.isEmpty) }
    #expect(looks.all[(before + 1)...].allSatisfy { $0 == .whole })
    try bench.write(path, whole)
    #expect(try await b.pull().waiting.isEmpty)
    #expect(try b.ids() == ["a", "later"])
    for _ in 0..<3 { _ = try await b.pull() }
    #expect(looks.all.last == .brief)
    // So is a folder of which something is to be said.
    try bench.write(bench.shared + "/" + bench.segment(a) + " (copy)", Array(whole.dropLast()))
    _ = try await b.pull()
    let damaged = looks.all.count
    for _ in 0..<3 { #expect(try await !b.pull().problems.isEmpty) }
    #expect(looks.all[damaged...].allSatisfy { $0 == .whole })
  }

  @Test func `a file that another device's folder lost is missed at once`() async throws {
    let a = try await bench.publisher("a")
    for _ in 0..<4 { try await a.exchange() }
    let path = bench.shared + "/" + (try bench.segment(a))
    let before = try bench.read(path)
    try bench.remove(path)
    for _ in 0..<2 { try await a.exchange() }
    #expect(try bench.read(bench.shared + "/" + bench.segment(a)) == before)
  }
}
