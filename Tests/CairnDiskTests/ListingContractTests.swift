import CairnDisk
import Testing

/// Whether a directory is as it was, told by its names and by a look at some of them.
struct ListingContractTests {
  private func sample(_ kind: DiskKind) throws -> (bench: DiskWorkbench, last: DirectoryListing) {
    let bench = try DiskWorkbench(kind)
    for name in ["c", "a", "b", "d"] { try bench.put(name, name) }
    let last = try bench.disk.list(bench.path(""), after: nil)
    #expect(last.entries.map(\.name) == ["a", "b", "c", "d"])
    return (bench, last)
  }

  private func isUnchanged(
    _ bench: DiskWorkbench, since last: DirectoryListing, at places: [Int]
  ) throws -> Bool {
    try bench.disk.isUnchanged(bench.path(""), since: last, at: places)
  }

  private func grow(_ bench: DiskWorkbench, _ name: String) throws {
    let file = try bench.disk.open(bench.path(name), .readWrite)
    try file.put("longer")
    file.close()
  }

  @Test(arguments: DiskKind.allCases)
  func `nothing was touched`(kind: DiskKind) throws {
    let (bench, last) = try sample(kind)
    for places in [[], [0], [1, 3], [0, 1, 2, 3]] {
      #expect(try isUnchanged(bench, since: last, at: places))
    }
  }

  @Test(arguments: DiskKind.allCases)
  func `only what is asked for is looked at`(kind: DiskKind) throws {
    let (bench, last) = try sample(kind)
    try grow(bench, "b")
    #expect(try isUnchanged(bench, since: last, at: []))
    #expect(try isUnchanged(bench, since: last, at: [0, 2, 3]))
    #expect(try !isUnchanged(bench, since: last, at: [1]))
    #expect(try !isUnchanged(bench, since: last, at: [0, 1, 2, 3]))
    let new = try bench.disk.list(bench.path(""), after: last)
    #expect(new !== last)
    #expect(try isUnchanged(bench, since: new, at: [1]))
  }

  @Test(arguments: DiskKind.allCases)
  func `a name that comes, goes or is another one is seen without a look at any file`(
    kind: DiskKind
  ) throws {
    let (bench, last) = try sample(kind)
    try bench.put("e", "e")
    #expect(try !isUnchanged(bench, since: last, at: []))
    try bench.disk.remove(bench.path("e"))
    #expect(try isUnchanged(bench, since: last, at: []))
    try bench.disk.rename(bench.path("d"), to: bench.path("da"))
    #expect(try !isUnchanged(bench, since: last, at: []))
    try bench.disk.rename(bench.path("da"), to: bench.path("d"))
    try bench.disk.remove(bench.path("b"))
    #expect(try !isUnchanged(bench, since: last, at: []))
  }

  @Test(arguments: DiskKind.allCases)
  func `of names that are not wanted nothing is told`(kind: DiskKind) throws {
    let (bench, last) = try sample(kind)
    let found = try bench.disk.list(bench.path(""), only: { $0 > "b" })
    #expect(found == last.entries.filter { $0.name > "b" } && found.count == 2)
  }

  @Test(arguments: DiskKind.allCases)
  func `a directory that has gone says so`(kind: DiskKind) throws {
    let (bench, last) = try sample(kind)
    try bench.disk.removeTree(bench.path(""))
    bench.disk.fails(.notFound) {
      _ = try $0.isUnchanged(bench.path(""), since: last, at: [])
    }
  }

  @Test func `a listing of names alone, as of a disk that has no more, is never the same`() throws {
    let (bench, last) = try sample(.posix)
    let bare = DirectoryListing(last.entries)
    #expect(try !isUnchanged(bench, since: bare, at: []))
  }
}
