import Cairn
import CairnBytes
import CairnLog
import TestSupport
import Testing

/// What sync engines and people do to folders: nothing is believed because it lies there, and
/// nothing is deleted because it is gone.
@Suite struct FolderGuardTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  // MARK: conflicted copies

  /// How a sync engine names the copy of `stem.suffix` that it could not merge.
  enum Engine: String, CaseIterable {
    case dropbox, syncthing, iCloud, googleDrive, oneDrive, nextcloud

    func copy(of name: String) -> String {
      let parts = name.split(separator: ".")
      let (stem, suffix) = (parts[0], parts[1])
      return switch self {
      case .dropbox: "\(stem) (Ana's conflicted copy 2026-11-21).\(suffix)"
      case .syncthing: "\(stem).sync-conflict-20261121-101010-ABCDEFG.\(suffix)"
      case .iCloud: "\(stem) 2.\(suffix)"
      case .googleDrive: "\(stem) (1).\(suffix)"
      case .oneDrive: "\(stem)-DESKTOP.\(suffix)"
      case .nextcloud: "\(stem) (conflicted copy 2026-11-21 101010).\(suffix)"
      }
    }
  }

  @Test(arguments: Engine.allCases)
  func `identical copies are ignored`(engine: Engine) async throws {
    let a = try await bench.publisher("a")
    for name in [try bench.segment(a), bench.head(a)] {
      try bench.write(
        bench.shared + "/" + engine.copy(of: name), try bench.read(bench.shared + "/" + name))
    }
    let b = try bench.open("b")
    for device in [b, a, b] {
      let report = try await device.pull()
      #expect(report.ignoredFiles == 2)
      #expect(report.problems == [] && report.waiting == [])
    }
    #expect(try b.ids() == ["a"])
    #expect(try bench.names(bench.quarantine("b")) == [])
  }

  @Test(arguments: Engine.allCases)
  func `a damaged copy is a problem, is kept aside and is not taken`(engine: Engine) async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b")
    for name in [try bench.segment(a), bench.head(a)] {
      let copy = engine.copy(of: name)
      let bytes = try bench.read(bench.shared + "/" + name)
      let bad = bytes.flipped(at: bytes.count / 2)
      try bench.write(bench.shared + "/" + copy, bad)
      let report = try await b.pull()
      #expect(report.problems.contains { $0.name == copy })
      #expect(try bench.isQuarantined(bad, copy, by: "b"))
      #expect(try await b.pull().problems.contains { $0.name == copy }, "told again")
      try bench.remove(bench.shared + "/" + copy)
      #expect(try await b.pull().problems == [], "and not when it is gone")
    }
    #expect(try b.ids() == ["a"])
  }

  @Test(arguments: Engine.allCases)
  func `a copy with other content is a problem and is not taken`(engine: Engine) async throws {
    let a = try await bench.publisher("a")
    let (head, segment) = (bench.head(a), try bench.segment(a))
    let oldHead = try bench.read(bench.shared + "/" + head)
    try a.add("a2")
    try await a.exchange()
    let newHead = try bench.read(bench.shared + "/" + head)
    let newName = try #require(try bench.segments(a).first { $0 != segment })
    let newSegment = try bench.read(bench.shared + "/" + newName)
    try bench.remove(bench.shared + "/" + newName)
    try bench.write(bench.shared + "/" + head, oldHead)
    let copies = [engine.copy(of: head): newHead, engine.copy(of: segment): newSegment]
    for (name, bytes) in copies { try bench.write(bench.shared + "/" + name, bytes) }
    let b = try bench.open("b")
    let report = try await b.pull()
    #expect(Set(report.problems.map(\.name)) == Set(copies.keys))
    for (name, bytes) in copies { #expect(try bench.isQuarantined(bytes, name, by: "b")) }
    #expect(try b.ids() == ["a"])
    // The copies are all that is left of the new files: they are not touched.
    for (name, bytes) in copies { #expect(try bench.read(bench.shared + "/" + name) == bytes) }
  }

  @Test func `what engines and desktops leave lying about is ignored`() async throws {
    _ = try await bench.publisher("a")
    for directory in [bench.shared, bench.folder] {
      try bench.write(directory + "/.DS_Store", SeededRandom(1).bytes(6148))
      try bench.write(directory + "/.stfolder", [])
      try bench.write(directory + "/desktop.ini", Array("[.ShellClassInfo]\r\n".utf8))
      try bench.write(directory + "/Thumbs.db", SeededRandom(2).bytes(3000))
      try bench.makeDirectory(directory + "/.stversions")
      try bench.makeDirectory(directory + "/.dropbox.cache")
    }
    let b = try bench.open("b")
    let report = try await b.pull()
    #expect(report.problems == [] && report.waiting == [])
    #expect(report.ignoredFiles == 4)
    #expect(try b.ids() == ["a"])
    #expect(try bench.names(bench.quarantine("b")) == [])
  }

  /// Syncthing does so in the directory itself, which wakes whoever watches it.
  @Test(arguments: [false, true])
  func `what an engine is just bringing is nobody's copy`(isWhole: Bool) async throws {
    let a = try await bench.publisher("a")
    let name = try bench.segment(a)
    let bytes = try bench.read(bench.shared + "/" + name)
    try bench.remove(bench.shared + "/" + name)
    try bench.write(
      bench.shared + "/.syncthing.\(name).tmp", isWhole ? bytes : Array(bytes.dropLast(20)))
    let b = try bench.open("b")
    let report = try await b.pull()
    #expect(report.problems == [] && report.waiting.map(\.name) == [name])
    #expect(report.ignoredFiles == 1)
    #expect(try bench.names(bench.quarantine("b")) == [])
    try bench.move(
      bench.shared + "/.syncthing.\(name).tmp", to: bench.shared + "/~\(name).tmp")
    #expect(try await b.pull().problems == [])
  }

  // MARK: the wrong folder

  @Test(arguments: [false, true])
  func `an emptied folder deletes nothing`(reopens: Bool) async throws {
    _ = try await bench.publisher("a")
    var b = try await bench.publisher("b")
    try await b.pull()
    try b.table("t").insert(["later": true], id: "later")
    try b.sync()
    let before = try content(b)
    let away = bench.place.path + "/away"
    try bench.move(bench.folder, to: away)
    try bench.makeDirectory(bench.folder)
    if reopens {
      try b.close()
      b = try bench.open("b")
    }
    for _ in 0..<2 {
      let error = await b.exchangeError()
      #expect(error?.code == .notFound && error?.isProgrammingError == false)
      #expect(error?.message.contains("nothing was changed") == true)
      #expect(try content(b) == before)
      #expect(try bench.names(bench.folder) == [])
    }
    try bench.remove(bench.folder)
    try bench.move(away, to: bench.folder)
    #expect(try await b.pull().publishedDeltas == 1)
    #expect(try content(b) == before)
    let d = try bench.open("d")
    try await d.pull()
    #expect(try content(d) == before)
  }

  @Test func `a datastore's directory that is gone is published again`() async throws {
    let a = try await bench.publisher("a")
    try bench.remove(bench.shared + "/" + bench.head(a))
    try await a.pull()
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a"])
  }

  @Test(arguments: [false, true])
  func `another folder is refused and left as it is`(reopens: Bool) async throws {
    var a = try await bench.publisher("a")
    let other = bench.place.path + "/other"
    let stranger = try bench.open("stranger", folder: other)
    try stranger.add("stranger")
    try await stranger.exchange()
    let files = try bench.names(other + "/p-notes")
    if reopens {
      try a.close()
      a = try bench.open("a", folder: other)
    } else {
      try bench.move(bench.folder, to: bench.place.path + "/away")
      try bench.move(other, to: bench.folder)
    }
    let error = await a.exchangeError()
    #expect(error?.code == .disallowed && error?.isProgrammingError == false)
    #expect(error?.message.contains("Choose the right folder") == true)
    try a.sync()
    #expect(try a.ids() == ["a"])
    #expect(try bench.names((reopens ? other : bench.folder) + "/p-notes") == files)
  }

  // MARK: copies of a device

  @Test(arguments: [false, true])
  func `of two copies of a device the second to come takes another name`(
    commits: Bool
  ) async throws {
    var a = try await bench.publisher("a")
    try a.close()
    try bench.copyTree(bench.root("a"), to: bench.root("clone"))
    let clone = try bench.open("clone")
    try clone.add("of-the-clone")
    try await clone.exchange()
    #expect(clone.device == a.device)
    a = try bench.open("a")
    if commits { try a.add("of-the-original") }
    let own: Set<String> = commits ? ["a", "of-the-original"] : ["a"]
    let files = try bench.names(bench.shared)
    for _ in 0..<2 {
      #expect(try await a.exchange().isRejoining)
      #expect(try a.ids() == own)
      #expect(try bench.names(bench.shared) == files)
    }
    #expect(try a.sync().newDevice == a.device && a.device != clone.device)
    #expect(try a.ids() == own.union(["of-the-clone"]))
    try await a.exchange()
    try await clone.pull()
    #expect(try clone.ids() == a.ids())
    let b = try bench.open("b")
    try await b.pull()
    #expect(try content(b) == content(a))
  }

  @Test func `a device that was restored from a backup gets back what it had published`(
  ) async throws {
    var a = try await bench.publisher("a")
    let before = a.device
    try a.close()
    try bench.copyTree(bench.root("a"), to: bench.place.path + "/backup")
    a = try bench.open("a")
    try a.add("after-the-backup")
    try await a.exchange()
    try a.close()
    try bench.remove(bench.root("a"))
    try bench.move(bench.place.path + "/backup", to: bench.root("a"))
    a = try bench.open("a")
    try a.add("after-the-restore")
    try await a.pull()
    #expect(try a.ids() == ["a", "after-the-backup", "after-the-restore"])
    #expect(a.device != before)
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    #expect(try content(b) == content(a))
  }

  @Test func `what another device published is not taken for one's own`() async throws {
    _ = try await bench.publisher("a")
    try bench.open("c").close()
    let published = try bench.read(bench.root("a") + "/p-notes/PUBLISHED")
    try bench.write(bench.root("c") + "/p-notes/PUBLISHED", published)
    let c = try bench.open("c")
    try c.add("c")
    try await c.pull()
    #expect(try c.ids() == ["a", "c"])
    #expect(try bench.names(bench.shared).filter { $0.hasSuffix(".head") }.count == 2)
  }

  @Test(arguments: [HookedFolder.Request.list, .read])
  func `a round that outlives its datastore says just that`(
    request: HookedFolder.Request
  ) async throws {
    try await bench.publisher("a").close()
    let hook = HookedFolder.Switch()
    let datastore = try bench.open("a", hook)
    hook.set { found, path throws(CairnError) in
      let isHead = path.hasSuffix(".head") || path.hasSuffix("/p-notes") || path == "p-notes"
      if found == request, isHead { try datastore.close() }
    }
    #expect(await datastore.exchangeError()?.code == .closed)
    #expect(!datastore.isOpen && !datastore.status.needsReset)
    hook.set(nil)
    let again = try bench.open("a")
    #expect(try await again.pull().problems == [])
  }

  // MARK: roots

  @Test(arguments: [
    ("/x/root", "/x/root"), ("/x/folder/root", "/x/folder"), ("/x/root", "/x/root/folder"),
    ("/x/root/", "/x/./root//folder"), ("/x/folder/../folder/root", "/x/folder"),
    ("/x/a/../root", "/x/root/a/b/c"),
  ])
  func `root and folder inside one another are refused`(root: String, folder: String) throws {
    let base = bench.place.path
    let error = #expect(throws: CairnError.self) {
      try DatastoreManager(
        root: base + root, account: Account(user: "ann", folder: .directory(base + folder)))
    }
    #expect(error?.code == .parent && error?.isProgrammingError == false)
    #expect(try bench.names(base) == [], "nothing was made")
  }

  @Test func `names that only begin alike are apart`() throws {
    let base = bench.place.path
    for (root, folder) in [("/folder2", "/folder"), ("/root", "/root2"), ("/a/root", "/a/folder")] {
      let manager = try DatastoreManager(
        root: base + root, account: Account(user: "ann", folder: .directory(base + folder)))
      #expect(!manager.isLocal)
    }
  }
}
