import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What else may lie in a folder, and how much of it, and how old it says it is.
@Suite(.timeLimit(.minutes(20)))
struct FolderKindTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  /// Something under a name of ours that is no regular file.
  enum Kind: String, CaseIterable {
    case pipe, link, linkToNowhere, directory

    func make(_ path: String, good: String) -> Bool {
      switch self {
      case .pipe: unsafe mkfifo(path, 0o600) == 0
      case .link: unsafe symlink(good, path) == 0
      case .linkToNowhere: unsafe symlink("/nowhere/at/all", path) == 0
      case .directory: unsafe mkdir(path, 0o700) == 0
      }
    }
  }

  /// A pipe that nobody writes to would hold up whoever opens it; a link may lead anywhere.
  @Test(arguments: Kind.allCases, ["head", "segment", "cairn.json"])
  func `what is no regular file is not there, and holds up nobody`(
    kind: Kind, file: String
  ) async throws {
    let a = try await bench.publisher("a")
    let name = file == "head" ? bench.head(a) : try bench.segment(a)
    let path = file == "cairn.json" ? bench.folder + "/cairn.json" : bench.shared + "/" + name
    let away = bench.place.path + "/good"
    try bench.move(path, to: away)
    try #require(kind.make(path, good: away))
    let b = try bench.open("b")
    switch file {
    case "cairn.json":
      #expect(await b.exchangeError()?.code == .fileIO)
      #expect(try bench.names(bench.folder) == ["cairn.json", "p-notes"], "nothing was put there")
    case "head": #expect(try await b.pull().complaints == [])
    default: #expect(try await b.pull().complaints == [name])
    }
    #expect(try b.ids() == [])
    try bench.remove(path)
    try bench.move(away, to: path)
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a"])
  }

  @Test func `a folder may be reached by a link`() async throws {
    let a = try await bench.publisher("a")
    let link = bench.place.path + "/link"
    #expect(unsafe symlink(bench.folder, link) == 0)
    let b = try bench.open("b", folder: link)
    try b.add("b")
    #expect(try await b.pull().complaints == [])
    try await a.pull()
    #expect(try content(a) == content(b) && a.ids() == ["a", "b"])
    // But not into the datastores themselves.
    #expect(unsafe symlink(bench.root("c"), bench.place.path + "/trap") == 0)
    try bench.makeDirectory(bench.root("c"))
    #expect(code { _ = try bench.open("c", folder: bench.place.path + "/trap") } == .parent)
  }

  // MARK: names

  private static let hostile = [
    "../cairn.json", "../../etc/passwd", "/etc/passwd", "..", ".", "", "a/b.seg", "p-notes/x.head",
    "x\u{0}.seg", "CON", "nul.seg", ".tmp", "0000000000000001.head/../../x", "\u{202E}gas.daeh",
    String(repeating: "a", count: 5000), "0000000000000001.HEAD", "０000000000000001.head",
  ]

  @Test func `a listing can't lead out of its directory`() async throws {
    let a = try await bench.publisher("a")
    #expect(await a.manager.refreshError() == nil)
    let script = ScriptedFolder.Script()
    let manager = bench.manager("b", script)
    script.list { _, entries in
      entries + FolderKindTests.hostile.map { FolderEntry(name: $0, size: 100, version: "1") }
    }
    // As a server would answer; what is asked for is what counts.
    script.read { path, bytes in bytes ?? [UInt8](repeating: 7, count: 100) }
    let b = try manager.openOrCreateDatastore(bench.id)
    for _ in 0..<2 {
      _ = await manager.refreshError()
      _ = await b.exchangeError()
      try b.sync()
    }
    #expect(try b.ids() == ["a"])
    for path in script.reads {
      let parts = path.split(separator: "/", omittingEmptySubsequences: false)
      #expect(parts.count <= 2 && !parts.contains("..") && !parts.contains(""), "\(path)")
      #expect(!path.contains("\u{0}"))
    }
  }

  /// Its own head, as somebody has changed it: it names files as if they were old snapshots of it.
  @Test func `a head can't make its owner remove what is not its own`() async throws {
    bench.options.graceSeconds = 0
    var a = try await bench.publisher("a")
    let c = try await bench.publisher("c")
    let names = [
      "x.txt", "../cairn.json", bench.head(c), try bench.segment(c), bench.head(a), "..", "",
      "../../keep",
    ]
    try bench.write(bench.shared + "/x.txt", [1, 2, 3])
    try bench.write(bench.place.path + "/keep", [1, 2, 3])
    let path = bench.shared + "/" + bench.head(a)
    let identity = DatastoreManager.identity(of: bench.id, generation: 0)
    var head = try Head(try bench.read(path), name: path, datastore: identity)
    // An old snapshot may go, which tells that the list is gone by.
    let old: String = FileName.sharedSnapshot(5)
    head.superseded = (names + [old]).map { Head.Superseded(name: $0, time: 0) }
    try a.close()
    try bench.write(path, head.encoded())
    let before = try bench.names(bench.shared)
    try bench.write(bench.shared + "/" + old, [1, 2, 3])
    a = try bench.open("a")
    for index in 0..<3 {
      try a.add("more\(index)")
      #expect(try await a.pull().problems == [])
    }
    let left = try bench.names(bench.shared)
    #expect(Set(left).isSuperset(of: before) && !left.contains(old))
    #expect(try bench.names(bench.folder) == ["cairn.json", "p-notes"])
    #expect(try bench.read(bench.place.path + "/keep") == [1, 2, 3])
  }

  // MARK: times

  private func setTime(_ path: String, seconds: Int) -> Bool {
    let time = timespec(tv_sec: seconds, tv_nsec: 0)
    return unsafe utimensat(AT_FDCWD, path, [time, time], 0) == 0
  }

  @Test func `times of files mean nothing, whatever they say`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let devices = [a.device, b.device]
    let random = SeededRandom(35)
    // 1970, before it, the year 2262 and beyond, and all alike.
    let times = [0, -1_000_000, 9_223_372_036, 15_000_000_000, 1_700_000_000]
    for round in 0..<6 {
      for name in try bench.names(bench.shared) {
        let time = round == 5 ? times[4] : times[random.below(times.count)]
        #expect(setTime(bench.shared + "/" + name, seconds: time))
      }
      try a.add("a\(round)")
      try b.table("t")["b"].set("n", .int(Int64(round)))
      try b.sync()
      for device in [a, b] {
        let report = try await device.pull()
        #expect(report.complaints == [] && report.republishedFiles == 0 && !report.isRejoining)
      }
    }
    for device in [a, b, a] { try await device.pull() }
    #expect(try content(a) == content(b) && a.ids().count == 8)
    #expect([a.device, b.device] == devices)
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    #expect(try content(late) == content(a))
  }

  // MARK: many

  @Test func `thousands of files and hundreds of devices are looked at once`() async throws {
    let bench = CatalogueBench()
    let shared = "/folder/p-notes/"
    let identity = DatastoreManager.identity(of: "notes", generation: 0)
    try bench.disk.setBytes("/folder/cairn.json", FolderIdentity.encode(7))
    for number in 1...400 {
      var head = Head(datastore: identity, device: DeviceID(rawValue: UInt64(number)))
      head.generation = 1
      head.user = "user\(number)"
      let name = FileName.head(device: head.device.rawValue)
      try bench.disk.setBytes(shared + name, head.encoded())
    }
    for number in 0..<5000 { try bench.disk.setBytes(shared + "note \(number).txt", [1, 2, 3]) }
    let a = try bench.manager("a").openOrCreateDatastore("notes")
    try a.add("a")
    let first = try await a.exchange()
    #expect(first.devices == 401 && first.ignoredFiles == 5000 && first.complaints == [])
    #expect(first.requests < 420, "one for each head, and none for what is too short to be ours")
    for _ in 0..<2 {
      let report = try await a.exchange()
      #expect(report.requests == 1 && report.isIdle)
    }
    let b = try bench.manager("b").openOrCreateDatastore("notes")
    try await b.pull()
    #expect(try b.ids() == ["a"])
    try a.close()
    try b.close()
  }
}
