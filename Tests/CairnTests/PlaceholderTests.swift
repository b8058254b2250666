import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Files that iCloud Drive lists under names of its own as long as it keeps them elsewhere.
@Suite(.timeLimit(.minutes(20)))
struct PlaceholderTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  /// What is left of a file that was taken off this disk.
  private func offload(_ name: String, in directory: String? = nil) throws {
    let directory = directory ?? bench.shared
    try bench.move(directory + "/" + name, to: bench.place.path + "/" + name)
    try bench.write(directory + "/." + name + ".icloud", [1, 2, 3])
  }

  private func download(_ name: String, in directory: String? = nil) throws {
    let directory = directory ?? bench.shared
    try bench.remove(directory + "/." + name + ".icloud")
    try bench.move(bench.place.path + "/" + name, to: directory + "/" + name)
  }

  @Test func `only what stands for a file is a placeholder`() {
    #expect(DirectoryFolder.kept(by: ".a.seg.icloud") == "a.seg")
    #expect(DirectoryFolder.kept(by: ".a.icloud") == "a")
    for name in ["a.icloud", ".icloud", "..icloud", ".a.icloud.tmp", ".a", "a", ""] {
      #expect(DirectoryFolder.kept(by: name) == nil, "\(name)")
    }
  }

  @Test func `a file beside its placeholder is there`() async throws {
    let folder = DirectoryFolder(bench.folder)
    try bench.makeDirectory(bench.folder)
    for name in ["b", ".b.icloud", ".a.icloud", "c"] {
      try bench.write(bench.folder + "/" + name, [1])
    }
    let entries = try await folder.list("")
    #expect(entries.map(\.name) == [".b.icloud", "a", "b", "c"])
    #expect(entries.map(\.isPresent) == [true, false, true, true])
  }

  @Test func `what is removed goes with its placeholder`() async throws {
    let folder = DirectoryFolder(bench.folder)
    for directory in ["", "d"] {
      let place = directory.isEmpty ? bench.folder : bench.folder + "/" + directory
      let prefix = directory.isEmpty ? "" : directory + "/"
      try bench.makeDirectory(place)
      for name in [".a.icloud", ".b.icloud", "c"] { try bench.write(place + "/" + name, [1]) }
      for name in ["a", "c", "none"] { try await folder.remove(prefix + name) }
      #expect(try await folder.list(directory).map(\.name) == ["b"])
    }
  }

  @Test(arguments: ["head", "segment"])
  func `a file that is elsewhere is waited for until it is here`(kind: String) async throws {
    let a = try await bench.publisher("a")
    _ = try await bench.publisher("c")
    let name = kind == "head" ? bench.head(a) : try bench.segment(a)
    try offload(name)
    let b = try bench.open("b")
    let report = try await b.pull()
    #expect(report.waiting.map(\.name) == [name] && report.problems == [])
    #expect(try b.ids() == ["c"])
    try download(name)
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a", "c"])
  }

  /// It is not lost, and to write it again would make two of it.
  @Test func `own files that are elsewhere are not written again`() async throws {
    let a = try await bench.publisher("a")
    let name = try bench.segment(a)
    try offload(name)
    for round in 1...5 {
      _ = try await a.exchange()
      #expect(try bench.segments(a) == [], "round \(round)")
    }
    try a.close()
    let again = try bench.open("a")
    for round in 1...5 {
      _ = try await again.exchange()
      #expect(try bench.segments(again) == [], "round \(round) of another process")
    }
    try again.add("later")
    _ = try await again.exchange()
    try download(name)
    let b = try bench.open("b")
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a", "later"])
  }

  @Test func `the own snapshot that is elsewhere is not written again`() async throws {
    var a = try await bench.publisher("a")
    let random = SeededRandom(3)
    for index in 0..<400 {
      try a.table("t").insert(["bytes": .bytes(random.bytes(1000))], id: RecordID("r\(index)"))
    }
    try a.sync()
    try await a.exchange()
    try a.compact()
    let first = try await a.exchange()
    try #require(first.publishedSnapshot)
    let name = try #require(try bench.names(bench.shared, ".snap").first)
    try offload(name)
    for round in 1...12 {
      if round == 6 {
        try a.close()
        a = try bench.open("a")
      }
      let report = try await a.exchange()
      #expect(!report.publishedSnapshot && report.problems == [], "round \(round)")
      #expect(try bench.names(bench.shared, ".snap") == [], "round \(round)")
    }
    try download(name)
    #expect(try await a.exchange().complaints == [])
    let b = try bench.open("b")
    for _ in 0..<2 { try await b.pull() }
    #expect(try b.ids().count == 401)
  }

  /// Who has its deltas would put them into a snapshot if it were lost.
  @Test func `for what is elsewhere of another device nobody publishes a snapshot`() async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b")
    try await b.pull()
    try b.add("b")
    try await b.exchange()
    try await a.pull()
    let name = try bench.segment(a)
    try offload(name)
    for round in 1...9 {
      for device in [b, a] {
        let report = try await device.pull()
        #expect(!report.publishedSnapshot && report.problems == [], "round \(round)")
      }
      #expect(try bench.names(bench.shared, ".snap") == [], "round \(round)")
      #expect(try bench.segments(a) == [], "round \(round)")
    }
    try download(name)
    let c = try bench.open("c")
    #expect(try await c.pull().complaints == [])
    #expect(try c.ids() == ["a", "b"])
  }

  @Test func `an attachment's file that is elsewhere is not written again`() async throws {
    var (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try await b.pullAll()
    #expect(try b.content(of: "r") == sample(1))
    let name = try #require(try bench.blobs().first)
    try offload(name, in: bench.blobs)
    for round in 1...9 {
      for device in [a, b] {
        let report = try await device.exchange()
        #expect(report.publishedAttachments == 0 && report.problems == [], "round \(round)")
        // Each process looks into the folder at least once.
        try device.close()
      }
      #expect(try bench.blobs() == [], "round \(round)")
      (a, b) = (try bench.open("a"), try bench.open("b"))
    }
    try download(name, in: bench.blobs)
    let c = try bench.open("c")
    try await c.pullAll()
    #expect(try c.content(of: "r") == sample(1))
  }

  /// Nothing of it is lost, and no repair would do anything about it.
  @Test func `a doctor takes nothing that is elsewhere for lost`() async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    for directory in [bench.shared, bench.blobs] {
      for name in try bench.names(directory) where !name.hasSuffix(".head") {
        try offload(name, in: directory)
      }
    }
    try #require(try bench.segments(a) == [] && bench.blobs() == [])
    try a.close()
    for name in try bench.contents("a") { try bench.remove(bench.home("a") + "/" + name) }
    let account = Account(user: "ann", folder: .directory(bench.folder))
    let report = await Doctor(root: bench.root("a"), account: account).examine()
    #expect(report.isHealthy, "\(report.findings)")
    #expect(report.findings.map(\.message).filter { $0.contains("not here just now") }.count == 1)
    #expect(report.findings.allSatisfy { $0.severity == .note && $0.command == nil })
  }

  // MARK: the folder's own files

  /// Neither is the folder another one for who knows it, nor a new one for who does not.
  @Test func `while cairn.json is elsewhere everybody waits`() async throws {
    let name = "cairn.json"
    try await bench.publisher("a").close()
    try offload(name, in: bench.folder)
    for device in ["a", "b"] {
      let datastore = try bench.open(device)
      for _ in 0..<2 {
        let error = await datastore.exchangeError()
        #expect(error?.code == .retryLater)
        #expect(error?.message.contains("elsewhere") == true)
      }
      #expect(try bench.names(bench.folder, ".json") == [])
      try datastore.close()
    }
    try download(name, in: bench.folder)
    let b = try bench.open("b")
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a"])
  }

  @Test func `the own list that is elsewhere is not written over`() async throws {
    let manager = try bench.manager("a")
    try await manager.with("n") { try $0.add("one") }
    try await manager.refresh()
    let directory = bench.folder + "/catalogue"
    let name = try #require(try bench.names(directory, ".cat").first)
    try offload(name, in: directory)
    try await manager.with("m") { try $0.add("two") }
    for round in 1...5 {
      let report = try await manager.refresh()
      #expect(report.waiting.map(\.name) == [name] && report.problems == [], "round \(round)")
      #expect(try bench.names(directory, ".cat") == [], "round \(round)")
    }
    try download(name, in: directory)
    #expect(try await manager.refresh().waiting == [])
    #expect(try bench.names(directory, ".cat") == [name])
    let other = try bench.manager("b")
    try await other.refresh()
    #expect(try other.ids() == ["m", "n"])
  }
}
