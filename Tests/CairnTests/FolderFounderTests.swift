import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Two devices make the folder at the same moment, and one of their two files wins. The other one
/// finds another identity than the one it knows, in a folder that is its own all the same.
@Suite struct FolderFounderTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  private var identity: String { bench.folder + "/cairn.json" }

  /// Somebody else's file takes the place of what is there.
  private func win() throws { try bench.write(identity, FolderIdentity.encode(7)) }

  /// A device whose first head never arrives, and which is closed then.
  private func founder(_ device: String, fetches: Bool = false) async throws {
    let script = ScriptedFolder.Script()
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    let datastore = try bench.open(device, script)
    if fetches {
      #expect(await datastore.exchangeError() == nil)
      try datastore.sync()
    } else {
      try datastore.add(device)
    }
    #expect(await datastore.exchangeError()?.code == .timeout)
    try datastore.close()
  }

  @Test func `a device whose first head did not arrive finds its folder by its files`()
    async throws
  {
    try await founder("a")
    try win()
    let a = try bench.open("a")
    #expect(await a.exchangeError() == nil)
    #expect(try FolderIdentity.decode(try bench.read(identity), path: identity) == 7)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a"])
  }

  /// A sync engine may rename the only file that is there.
  @Test func `so does one whose file is a conflicted copy by now`() async throws {
    try await founder("a")
    let files = try bench.names(bench.folder + "/p-notes")
    #expect(files.count == 1 && files[0].hasSuffix(".seg"))
    let file = bench.folder + "/p-notes/" + files[0]
    try bench.write(String(file.dropLast(4)) + " (Case Conflict).seg", try bench.read(file))
    try PosixDisk().remove(file)
    try win()
    let a = try bench.open("a")
    #expect(await a.exchangeError() == nil)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a"])
  }

  @Test func `one that has only fetched finds it by those whom it knows`() async throws {
    let a = try await bench.publisher("a")
    try await founder("b", fetches: true)
    try win()
    let b = try bench.open("b")
    #expect(try b.ids() == ["a"])
    try b.add("b")
    #expect(await b.exchangeError() == nil)
    try await a.pull()
    #expect(try a.ids() == ["a", "b"])
  }

  @Test func `a copy that has a new name, and no head yet, finds it by those whom it knows`()
    async throws
  {
    var a = try await bench.publisher("a")
    try a.close()
    try bench.copyTree(bench.root("a"), to: bench.root("clone"))
    let clone = try bench.open("clone")
    try clone.add("of-the-clone")
    try await clone.exchange()
    a = try bench.open("a")
    #expect(try await a.exchange().isRejoining)
    #expect(try a.sync().newDevice == a.device)
    try a.close()
    try win()
    a = try bench.open("a")
    try a.add("of-the-original")
    #expect(await a.exchangeError() == nil)
    try await clone.pull()
    #expect(try clone.ids() == ["a", "of-the-clone", "of-the-original"])
  }

  @Test(arguments: [false, true])
  func `where nothing of it lies the folder is another one`(fetches: Bool) async throws {
    if fetches { _ = try await bench.publisher("a") }
    try await founder("b", fetches: fetches)
    let other = bench.place.path + "/other"
    let stranger = try bench.open("stranger", folder: other)
    try stranger.add("stranger")
    try await stranger.exchange()
    let files = try bench.names(other + "/p-notes")
    let moved = try bench.open("b", folder: other)
    #expect(await moved.exchangeError()?.code == .disallowed)
    try moved.sync()
    #expect(try moved.ids() == [fetches ? "a" : "b"])
    #expect(try bench.names(other + "/p-notes") == files)
  }

  // MARK: the list of datastores

  /// A published datastore of a device whose part of the list never arrives.
  private func lister(_ device: String) async throws {
    try await bench.manager(device).with(device) { try $0.add(device) }
    let script = ScriptedFolder.Script()
    script.write { path, _ in path.hasSuffix(".cat") ? .lost : .whole }
    #expect(await bench.manager(device, script).refreshError()?.code == .timeout)
  }

  @Test func `a list that did not arrive is put into the folder that the datastores know`()
    async throws
  {
    try await lister("a")
    try win()
    #expect(try await bench.manager("a").refreshError() == nil)
    let b = try bench.manager("b")
    #expect(await b.refreshError() == nil)
    #expect(try b.ids() == ["a"])
  }

  @Test func `a copy of a root is in the folder in which the other one has gone on`() async throws {
    let a = try bench.manager("a")
    try await a.with("x")
    #expect(await a.refreshError() == nil)
    try bench.copyTree(bench.root("a"), to: bench.root("copy"))
    try await a.with("y")
    #expect(await a.refreshError() == nil)
    try win()
    let copy = try bench.manager("copy")
    #expect(await copy.refreshError() == nil)
    #expect(try Set(copy.ids()) == ["x", "y"])
  }

  /// As an exchange that goes on while the list is looked at: what it knew of the head is past.
  @Test func `a copy of a datastore whose head has gone on puts its list into the same folder`()
    async throws
  {
    var a = try await bench.publisher("a")
    try a.close()
    try bench.copyTree(bench.root("a"), to: bench.root("copy"))
    a = try bench.open("a")
    for number in 1...2 {
      try a.add("more-\(number)")
      try await a.exchange()
    }
    try win()
    #expect(try await bench.manager("copy").refreshError() == nil)
    #expect(try bench.names(bench.folder + "/catalogue", ".cat").count == 1)
  }

  /// One that was left for another one, and has its files still.
  @Test func `a list is not put into a folder in which a head is older than it was`()
    async throws
  {
    let a = try await bench.publisher("a")
    let head = bench.shared + "/" + bench.head(a)
    let old = try bench.read(head)
    try a.add("more")
    try await a.exchange()
    try a.close()
    try bench.write(head, old)
    try win()
    #expect(try await bench.manager("a").refreshError()?.code == .disallowed)
    #expect(try bench.names(bench.folder + "/catalogue", ".cat") == [])
    #expect(try bench.read(head) == old)
  }

  @Test(arguments: [false, true])
  func `a list of a copy that has a new name, and no head yet, goes by those whom it knows`(
    isLeft: Bool
  ) async throws {
    var a = try await bench.publisher("a")
    let head = bench.shared + "/" + bench.head(a)
    let old = try bench.read(head)
    try a.close()
    try bench.copyTree(bench.root("a"), to: bench.root("clone"))
    let clone = try bench.open("clone")
    try clone.add("of-the-clone")
    try await clone.exchange()
    a = try bench.open("a")
    #expect(try await a.exchange().isRejoining)
    #expect(try a.sync().newDevice == a.device)
    try a.close()
    // A folder that was left for this one has less.
    if isLeft { try bench.write(head, old) }
    try win()
    #expect(try await bench.manager("a").refreshError()?.code == (isLeft ? .disallowed : nil))
    if isLeft { #expect(try bench.names(bench.folder + "/catalogue", ".cat") == []) }
  }

  @Test func `a list that says nothing yet belongs to no folder`() async throws {
    #expect(try await bench.manager("a").refreshError() == nil)
    try win()
    let a = try bench.manager("a")
    try await a.with("x")
    #expect(await a.refreshError() == nil)
    let b = try bench.manager("b")
    #expect(await b.refreshError() == nil)
    #expect(try b.ids() == ["x"])
  }

  @Test func `a list that did not arrive is not put into another folder`() async throws {
    try await lister("a")
    let other = bench.place.path + "/other"
    let stranger = try bench.manager("stranger", folder: other)
    try await stranger.with("x")
    #expect(await stranger.refreshError() == nil)
    let files = try bench.names(other + "/catalogue")
    let moved = try bench.manager("a", folder: other)
    #expect(await moved.refreshError()?.code == .disallowed)
    #expect(try moved.ids() == ["a"])
    #expect(try bench.names(other + "/catalogue") == files)
  }
}
