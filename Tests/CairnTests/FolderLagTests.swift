import Cairn
import CairnDisk
import TestSupport
import Testing

/// Folders that show the past, and uploads of which nobody knows whether they arrived.
@Suite(.timeLimit(.minutes(20)))
struct FolderLagTests {
  private let bench: FolderWorkbench
  private let script = ScriptedFolder.Script()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  private func listing() async throws -> [FolderEntry] {
    try await DirectoryFolder(bench.folder).list("p-" + bench.id)
  }

  // MARK: listings

  @Test func `a listing that lags behind hides what is new, and nothing is lost by it`()
    async throws
  {
    let a = try await bench.publisher("a")
    let b = try bench.open("b", script)
    try await b.pull()
    let old = try await listing()
    script.list { path, entries in path.hasPrefix("p-") ? old : entries }
    for index in 0..<3 {
      try a.add("a\(index)")
      try await a.exchange()
      try b.add("b\(index)")
      let report = try await b.pull()
      #expect(report.problems == [] && !report.isRejoining)
    }
    let device = b.device
    #expect(try b.ids() == ["a", "b0", "b1", "b2"])
    try await a.pull()
    #expect(try a.ids().isSuperset(of: ["b0", "b1", "b2"]), "what was published is there")
    script.list(nil)
    for _ in 0..<2 {
      #expect(try await b.pull().complaints == [])
      try await a.pull()
    }
    #expect(try content(a) == content(b) && b.ids().count == 7 && b.device == device)
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    #expect(try content(late) == content(a))
  }

  @Test func `a listing without anything deletes nothing and takes nobody for gone`() async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b", script)
    try b.add("b")
    try await b.pull()
    try await a.pull()
    script.list { path, entries in path.hasPrefix("p-") ? [] : entries }
    let device = b.device
    for _ in 0..<4 {
      let report = try await b.pull()
      #expect(report.problems == [] && !report.isRejoining)
      #expect(try b.ids() == ["a", "b"])
    }
    script.list(nil)
    #expect(try await b.pull().complaints == [])
    #expect(try await a.pull().complaints == [])
    #expect(try b.device == device && content(a) == content(b))
  }

  // MARK: files that go, files that come back

  /// A device whose small files were merged: the directory before that, and after.
  private func merged() async throws -> (a: Datastore, before: String) {
    bench.options.graceSeconds = 0
    let a = try bench.open("a")
    for index in 0..<6 {
      try a.add("a\(index)")
      try await a.exchange()
    }
    let before = bench.place.path + "/before"
    try bench.copyTree(bench.shared, to: before)
    var merged = 0
    for index in 6..<12 {
      try a.add("a\(index)")
      merged += try await a.exchange().mergedFiles
    }
    for _ in 0..<2 { try await a.exchange() }
    try #require(merged > 0)
    let gone = Set(try bench.names(before, ".seg")).subtracting(try bench.names(bench.shared))
    try #require(!gone.isEmpty)
    return (a, before)
  }

  @Test func `a reader whose files are merged away in its round has everything after the next`()
    async throws
  {
    let (a, before) = try await merged()
    let (shared, after) = (bench.shared, bench.place.path + "/after")
    try bench.move(shared, to: after)
    try bench.move(before, to: shared)
    let (hasHappened, trouble) = (Flag(), Flag())
    script.read { path, bytes in
      guard path.hasSuffix(".seg"), hasHappened.raise() else { return bytes }
      do {
        try PosixDisk().rename(shared, to: before)
        try PosixDisk().rename(after, to: shared)
      } catch { trouble.raise() }
      return bytes
    }
    let b = try bench.open("b", script)
    let report = try await b.pull()
    #expect(hasHappened.isUp && !trouble.isUp)
    #expect(report.problems == [] && !report.waiting.isEmpty)
    #expect(try b.ids() == ["a0"])
    for _ in 0..<2 { #expect(try await b.pull().problems == []) }
    #expect(try content(b) == content(a))
    #expect(try await b.pull().complaints == [])
  }

  @Test func `merged files that come back are nothing new, and go again`() async throws {
    let (a, before) = try await merged()
    let b = try bench.open("b")
    try await b.pull()
    for name in try bench.names(before, ".seg") {
      try bench.write(bench.shared + "/" + name, try bench.read(before + "/" + name))
    }
    let report = try await b.pull()
    #expect(report.complaints == [] && report.fetchedFiles == 0)
    #expect(try content(b) == content(a))
    for _ in 0..<2 { try await a.exchange() }
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(try bench.segments(a).count == own.files)
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    #expect(try content(late) == content(a))
  }

  // MARK: uploads

  private static let uploads: [(String, ScriptedFolder.Upload)] = [
    ("nothing arrives", .lost), ("half arrives", .part(80)),
    ("half arrives, unanswered", .partUnanswered(80)),
    ("nothing is there", .part(0)), ("all arrives, unanswered", .unanswered),
  ]

  /// Each file's first upload goes wrong, so that a round of three files takes four tries.
  @Test(arguments: uploads.map { $0.0 })
  func `an upload that seems to have failed is made again, and counts once`(
    what: String
  ) async throws {
    let fate = try #require(FolderLagTests.uploads.first(where: { $0.0 == what })).1
    let a = try bench.open("a", script)
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 0], id: "sum")
    try a.sync()
    try await a.exchange()
    let b = try bench.open("b")
    try await b.pull()
    try b.table("t")["sum"].set("n", 100)
    try b.sync()
    let seen = Told<String>()
    script.write { path, _ in
      let kind = String(path.split(separator: ".").last ?? "")
      if seen.all.contains(kind) { return .whole }
      seen.add(kind)
      return fate
    }
    let device = a.device
    try a.table("t")["sum"].set("n", 7)
    try a.sync()
    var failures = 0
    while let error = await a.exchangeError() {
      failures += 1
      let hasAnswer = what == "half arrives" || what == "nothing is there"
      #expect(error.code == (hasAnswer ? .response : .timeout))
      try #require(failures < 5)
      // Whatever lies there now, nobody takes it for what it is not.
      try await b.pull()
      #expect(try [100, 107].contains(b.table("t")["sum"].int("n")))
    }
    #expect(failures == 2 && Set(seen.all) == ["seg", "head"])
    for _ in 0..<2 {
      for datastore in [a, b] {
        let report = try await datastore.pull()
        #expect(!report.isRejoining && report.problems == [])
      }
    }
    #expect(try await b.pull().complaints == [])
    #expect(a.device == device, "its own head is no clone's")
    #expect(try b.table("t")["sum"].int("n") == 107 && a.table("t")["sum"].int("n") == 107)
    #expect(try content(a) == content(b))
    #expect(try bench.segments(a).count == 2, "the same name each time")
  }

  @Test(arguments: [false, true])
  func `a head that arrived unnoticed, and is seen late, is no copy's`(reopens: Bool) async throws {
    var a = try bench.open("a", script)
    try a.add("a")
    try await a.exchange()
    let (device, head) = (a.device, bench.head(a))
    let before = try bench.read(bench.shared + "/" + head)
    script.write { path, _ in path.hasSuffix(".head") ? .unanswered : .whole }
    try a.add("later")
    #expect(await a.exchangeError()?.code == .timeout)
    // It looks as if it had not arrived, and the next one does not.
    script.read { path, bytes in path.hasSuffix(head) ? before : bytes }
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    script.read(nil)
    script.write(nil)
    if reopens {
      try a.close()
      a = try bench.open("a", script)
    }
    for _ in 0..<2 {
      let report = try await a.pull()
      #expect(report.problems == [] && !report.isRejoining)
    }
    #expect(a.device == device)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a", "later"])
  }
}
