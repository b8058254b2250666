import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// One path for each file, also where letters may be large or small.
@Suite struct PathSpellingTests {
  private let base = MemoryDisk()

  private func spelled(_ path: String, _ disk: any Disk) -> String {
    PathName.spelled(path, disk: disk)
  }

  @Test func `each name is spelled as its directory has it, as far as it is there`() throws {
    try base.createDirectory("/Mnt/A-1/store")
    let disk = FoldingDisk(base: base)
    for (given, found) in [
      ("/mnt/a-1/STORE", "/Mnt/A-1/store"), ("/Mnt/A-1/store", "/Mnt/A-1/store"),
      ("/MNT/A-1/Other/store", "/Mnt/A-1/Other/store"), ("/", "/"), ("/12", "/12"),
    ] {
      #expect(spelled(given, disk) == found)
    }
  }

  /// Letters beyond ASCII are alike there, too, and so is one that is written as two.
  @Test func `a name without other letters, and one in another normal form, are found`() throws {
    for name in ["\u{E9}\u{E8}", "caf\u{E9}"] { try base.createDirectory("/" + name) }
    let disk = FoldingDisk(base: base)
    for (given, found) in [
      ("\u{C9}\u{C8}", "\u{E9}\u{E8}"), ("CAFE\u{301}", "caf\u{E9}"),
      ("cafe\u{301}", "caf\u{E9}"),
    ] {
      let path = spelled("/" + given, disk)
      #expect(Array(path.utf8) == Array(("/" + found).utf8), "\(given)")
    }
  }

  @Test func `where a directory can't be listed the spelling stays`() throws {
    try base.createDirectory("/Mnt/A/store")
    let disk = FoldingDisk(base: base, unlisted: ["/", "/mnt/a"])
    #expect(spelled("/mnt/A/STORE", disk) == "/mnt/A/STORE")
    #expect(spelled("/mnt/a/x", disk) == "/mnt/A/x")
  }

  @Test func `where spelling matters names stay as they are, for one look at each`() throws {
    for path in ["/data/A", "/data/a", "/data/bB"] { try base.createDirectory(path) }
    for path in ["/data/A", "/data/a", "/data/Bb", "/Data/x", "/data/bB/c/D"] {
      #expect(spelled(path, base) == path)
    }
    let before = base.reads
    #expect(spelled("/data/bB/c/5", base) == "/data/bB/c/5")
    #expect(base.reads == before + 3)
  }

  @Test func `where spelling matters one look tells so of what is there`() throws {
    for path in ["/data/A", "/data/5"] { try base.createDirectory(path) }
    let before = base.reads
    #expect(!PathName.mayFold("/data/A", disk: base) && base.reads == before + 1)
    #expect(PathName.mayFold("/data/A", disk: FoldingDisk(base: base)))
    // A name without letters tells nothing.
    #expect(PathName.mayFold("/data/5", disk: base))
  }
}

/// A disk on which letters may be large or small.
private struct FoldingDisk: Disk {
  let base: MemoryDisk
  /// Directories that can't be listed, as they are asked for, in small letters.
  var unlisted: Set<String> = []

  /// The path that leads to what is there; the rest as it is given.
  private func real(_ path: String) -> String {
    var result = ""
    for part in path.split(separator: "/") {
      // What is not there is found nowhere.
      let entries = (try? base.list(result.isEmpty ? "/" : result)) ?? []
      let name = entries.map(\.name).first { $0.lowercased() == part.lowercased() }
      result += "/" + (name ?? String(part))
    }
    return result.isEmpty ? "/" : result
  }

  func info(_ path: String) throws(DiskError) -> FileInfo? { try base.info(real(path)) }

  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    if unlisted.contains(directory.lowercased()) {
      throw DiskError(reason: .denied, operation: "list", path: directory)
    }
    return try base.list(real(directory))
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    try base.open(real(path), mode)
  }

  func createDirectory(_ path: String) throws(DiskError) { try base.createDirectory(real(path)) }
  func createPrivateDirectory(_ path: String) throws(DiskError) {
    try base.createPrivateDirectory(real(path))
  }

  func rename(_ from: String, to: String) throws(DiskError) {
    try base.rename(real(from), to: real(to))
  }

  func remove(_ path: String) throws(DiskError) { try base.remove(real(path)) }
  func removeTree(_ path: String) throws(DiskError) { try base.removeTree(real(path)) }
  func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(real(path)) }
  func lock(_ path: String) throws(DiskError) -> any DiskLock { try base.lock(real(path)) }
}
