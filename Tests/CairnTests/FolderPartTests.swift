import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Files of which a part is there, or something else, or nothing, by the time they are read.
@Suite(.timeLimit(.minutes(20)))
struct FolderPartTests {
  private let bench: FolderWorkbench
  private let script = ScriptedFolder.Script()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  private func file(_ kind: String, of device: Datastore) throws -> String {
    kind == "head" ? bench.head(device) : try bench.segment(device)
  }

  @Test(arguments: ["head", "segment"])
  func `no beginning of a file is taken for the file`(kind: String) async throws {
    let a = try await bench.publisher("a")
    _ = try await bench.publisher("c")
    let name = try file(kind, of: a)
    let whole = try bench.read(bench.shared + "/" + name)
    let b = try bench.open("b")
    for length in 0..<whole.count {
      try bench.write(bench.shared + "/" + name, [UInt8](whole.prefix(length)))
      #expect(try await b.pull().complaints == [name], "\(length) bytes")
      #expect(try b.ids() == ["c"], "\(length) bytes")
    }
    try bench.write(bench.shared + "/" + name, whole)
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a", "c"])
  }

  @Test func `no beginning of a file of the list is taken for the file`() async throws {
    let bench = CatalogueBench()
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n")
    try await a.refresh()
    let name = try #require(bench.catalogues.first)
    let whole = try #require(bench.disk.bytes("/folder/catalogue/" + name))
    for length in 0..<whole.count {
      try bench.disk.setBytes("/folder/catalogue/" + name, [UInt8](whole.prefix(length)))
      let report = try await b.refresh()
      #expect(report.waiting.map(\.name) + report.problems.map(\.name) == [name], "\(length) bytes")
      #expect(try b.ids() == [], "\(length) bytes")
    }
    try bench.disk.setBytes("/folder/catalogue/" + name, whole)
    let report = try await b.refresh()
    #expect(report.waiting == [] && report.problems == [])
    #expect(try b.ids() == ["n"])
  }

  // MARK: gone

  @Test(arguments: ["head", "segment"])
  func `a file that goes away before it is read is waited for, and the others are taken`(
    kind: String
  ) async throws {
    let a = try await bench.publisher("a")
    _ = try await bench.publisher("c")
    let name = try file(kind, of: a)
    let b = try bench.open("b", script)
    script.hide(name)
    for _ in 0..<2 {
      let report = try await b.pull()
      #expect(report.waiting.map(\.name) == [name] && report.problems == [])
      #expect(try b.ids() == ["c"])
    }
    script.read(nil)
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a", "c"])
  }

  @Test func `a file of the list that goes away before it is read is waited for`() async throws {
    try await bench.manager("a").with("n")
    #expect(try await bench.manager("a").refreshError() == nil)
    let b = bench.manager("b", script)
    script.hide(".cat")
    for _ in 0..<2 {
      let report = try await b.refresh()
      #expect(report.waiting.count == 1 && report.problems == [])
      #expect(try b.ids() == [])
    }
    script.read(nil)
    try await b.refresh()
    #expect(try b.ids() == ["n"])
  }

  // MARK: not there yet

  /// What a provider lists that has yet to fetch it: reading it may block for long.
  @Test(arguments: [".head", ".seg", ".cat"])
  func `a placeholder is waited for, and not read`(suffix: String) async throws {
    try await bench.manager("a").with("n") { try $0.add("a") }
    #expect(try await bench.manager("a").refreshError() == nil)
    let manager = bench.manager("b", script)
    script.showPlaceholders(for: suffix)
    let b = try manager.openOrCreateDatastore("n")
    for _ in 0..<2 {
      let list = try await manager.refresh()
      let report = try await b.pull()
      #expect((list.waiting.map(\.name) + report.waiting.map(\.name)).count == 1)
      #expect(list.problems == [] && report.problems == [])
      // Its own head, which no listing has, is asked for.
      let read = script.reads.filter { $0.hasSuffix(suffix) && !$0.hasSuffix(bench.head(b)) }
      #expect(read == [])
    }
    #expect(try b.ids() == (suffix == ".cat" ? ["a"] : []))
    script.list(nil)
    try await manager.refresh()
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a"])
    #expect(try manager.ids() == ["n"])
  }

  /// Somebody else may have written it meanwhile: a copy of this device.
  @Test(arguments: ["placeholder", "gone"])
  func `while the own head can't be read nothing is published, and what others have is fetched`(
    kind: String
  ) async throws {
    var a = try await bench.publisher("a")
    let head = bench.head(a)
    try a.add("a2")
    try a.close()
    _ = try await bench.publisher("c")
    let files = try bench.names(bench.shared)
    a = try bench.open("a", script)
    if kind == "gone" { script.hide(head) } else { script.showPlaceholders(for: head) }
    for _ in 0..<2 {
      let report = try await a.pull()
      #expect(report.waiting.map(\.name) == [head] && report.problems == [])
      #expect(report.publishedFiles == 0 && !report.isRejoining)
      #expect(script.reads.contains { $0.hasSuffix(head) } == (kind == "gone"))
      #expect(try a.ids() == ["a", "a2", "c"] && bench.names(bench.shared) == files)
    }
    script.read(nil)
    script.list(nil)
    #expect(try await a.pull().publishedDeltas == 1)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try content(b) == content(a))
  }

  // MARK: something else

  /// A reader that is half-way through when the file is written over.
  @Test(arguments: ["head", "list"])
  func `a file that changes while it is read is not taken, and read again`(
    kind: String
  ) async throws {
    let manager = try bench.manager("a")
    try await manager.with("n") { try $0.add("a") }
    #expect(await manager.refreshError() == nil)
    let suffix = kind == "head" ? ".head" : ".cat"
    let directory = bench.folder + (kind == "head" ? "/p-n" : "/catalogue")
    let path = directory + "/" + (try #require(try bench.names(directory, suffix).first))
    let old = try bench.read(path)
    try await manager.with("n") { try $0.add("a2") }
    try await manager.with("other")
    #expect(await manager.refreshError() == nil)
    let new = try bench.read(path)
    #expect(old != new)
    let other = bench.manager("b", script)
    script.read { path, bytes in
      guard path.hasSuffix(suffix), let bytes else { return bytes }
      return [UInt8](old.prefix(bytes.count / 2)) + bytes.dropFirst(bytes.count / 2)
    }
    let b = try other.openOrCreateDatastore("n")
    let list = try await other.refresh()
    let report = try await b.pull()
    #expect(list.problems.count + report.problems.count == 1)
    let shown = kind == "head" ? Array(try b.ids()) : try other.ids()
    #expect(shown == (kind == "head" ? [] : ["n"]))
    script.read(nil)
    try await other.refresh()
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a", "a2"])
    #expect(try other.ids() == ["n", "other"])
  }

  /// What a network that wants a login first answers to everything.
  @Test func `a page in place of each file changes nothing`() async throws {
    let a = try await bench.publisher("a")
    let text = "<!DOCTYPE html><html><body>Log in to our network</body></html>\n"
    let page = Array(String(repeating: text, count: 9).utf8)
    let new = try bench.open("new", script)
    try new.add("new")
    let files = try bench.names(bench.shared)
    script.read { _, bytes in bytes == nil ? nil : page }
    #expect(await new.exchangeError()?.code == .corrupt)
    #expect(try bench.names(bench.shared) == files)
    script.read { path, bytes in bytes == nil || path == "cairn.json" ? bytes : page }
    let report = try await new.pull()
    #expect(report.problems.map(\.name) == [bench.head(a)])
    #expect(try new.ids() == ["new"])
    script.read(nil)
    #expect(try await new.pull().complaints == [])
    #expect(try new.ids() == ["a", "new"])
    try await a.pull()
    #expect(try content(a) == content(new))
  }

  @Test func `files of a device that were exchanged are refused by name`() async throws {
    let a = try await bench.publisher("a")
    try a.add("b")
    try await a.exchange()
    let names = try bench.segments(a).sorted()
    let paths = names.map { bench.shared + "/" + $0 }
    let bytes = try paths.map { try bench.read($0) }
    try #require(bytes.count == 2)
    try bench.write(paths[0], bytes[1])
    try bench.write(paths[1], bytes[0])
    let b = try bench.open("b")
    let report = try await b.pull()
    #expect(report.complaints == [names[0]])
    #expect(try b.ids() == [])
    for (path, bytes) in zip(paths, bytes) { try bench.write(path, bytes) }
    #expect(try await b.pull().complaints == [])
    #expect(try content(b) == content(a))
  }
}
