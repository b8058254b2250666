import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// What can go wrong while somebody else's datastore is followed.
@Suite struct FollowFaultTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  // MARK: ends in the middle

  @Test func `a pull that ends at any request goes on there`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for n in 0..<3 {
      for device in [a, b] {
        try device.add("\(device === a ? "a" : "b")\(n)")
        try await device.exchange()
      }
    }
    try a.addPhoto("p", sample(1))
    for device in [a, b, a] { try await device.pull() }
    let wanted = try content(a)
    for code in [CairnError.Code.noConnection, .cancelled] {
      var rounds = 0
      let reads = Told<String>()
      let hook = HookedFolder.Switch()
      let root = "follower-\(code)"
      var follower = try await bench.follow(root, FollowPolicy(), hook)
      func isThrough() throws -> Bool {
        try content(follower.datastore) == wanted && follower.datastore.content(of: "p") != nil
      }
      while try !isThrough() {
        rounds += 1
        try #require(rounds < 60)
        let left = Shared(2 + rounds)
        hook.set { request, path throws(CairnError) in
          let isOver = left.withLock { left in
            left -= 1
            return left < 0
          }
          if isOver { throw CairnError(code, "\(request) of \(path)") }
          if path.hasSuffix(".seg") || path.hasSuffix(".blob") { reads.add(path) }
        }
        do throws(CairnError) { try await follower.pull() } catch {
          #expect(error.code == code)
        }
        if rounds % 3 == 0 {
          try follower.close()
          follower = try await bench.follow(root, FollowPolicy(), hook)
        }
      }
      #expect(rounds > 2)
      #expect(try reads.all.count == bench.names(bench.shared, ".seg").count + 1)
      #expect(Set(reads.all).count == reads.all.count, "nothing comes twice")
      hook.set(nil)
      #expect(try await follower.pull().fetchedDeltas == 0)
      try follower.close()
    }
  }

  @Test func `abort ends a pull, and the next goes on behind what has come`() async throws {
    let a = try bench.open("a")
    for n in 0..<4 {
      try a.add("a\(n)")
      try await a.exchange()
    }
    let hook = HookedFolder.Switch()
    let follower = try await bench.follow("follower", FollowPolicy(), hook)
    let read = Shared(0)
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(".seg") else { return }
      if read.withLock({ $0 += 1; return $0 }) == 2 { follower.abort() }
    }
    #expect(await follower.pullError()?.code == .cancelled)
    #expect(read.withLock { $0 } == 2)
    try await follower.pull()
    #expect(read.withLock { $0 } == 4, "nothing is fetched twice")
    #expect(try content(follower.datastore) == content(a))
    // What is not under way is not ended.
    follower.abort()
    #expect(try await follower.pull().isIdle)
  }

  @Test func `abort ends a rebuild and the fetching of contents, too`() async throws {
    let a = try bench.open("a")
    for n in 0..<4 {
      try a.addPhoto("p\(n)", sample(UInt64(n)))
      try await a.exchange()
    }
    let first = try await bench.follow("follower", FollowPolicy(attachments: .never))
    try await first.pull()
    try first.close()
    let hook = HookedFolder.Switch()
    let second = try await bench.follow("follower", FollowPolicy(tables: .only(["t"])), hook)
    for kind in [".seg", ".blob"] {
      let read = Shared(0)
      hook.set { request, path throws(CairnError) in
        guard request == .read, path.hasSuffix(kind) else { return }
        if read.withLock({ $0 += 1; return $0 }) == 2 { second.abort() }
      }
      #expect(await second.pullError()?.code == .cancelled)
      #expect(read.withLock { $0 } == 2, "\(kind)")
    }
    hook.set(nil)
    try await second.pull()
    #expect(try content(second.datastore) == content(a))
    for n in 0..<4 { #expect(try second.datastore.content(of: "p\(n)") == sample(UInt64(n))) }
  }

  @Test(.timeLimit(.minutes(20)))
  func `what is wrong here is not waited for`() async throws {
    bench.options.pollSeconds = 0.01...0.02
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.pull()
    try a.add("more")
    try await a.exchange()
    let inbox = bench.root("follower") + "/followed/inbox"
    try bench.remove(inbox)
    try bench.write(inbox, [1])
    let codes = Told<CairnError.Code?>()
    let error = await #expect(throws: CairnError.self) {
      try await follower.follow { result in
        if case .failure(let error) = result { codes.add(error.code) }
      }
    }
    #expect(error?.code == .fileIO && error?.file?.hasPrefix(inbox) == true)
    #expect(codes.all == [.fileIO], "told once")
    for code in [CairnError.Code.corrupt, .fileIO, .readOnly, .notFound] {
      let file = follower.root + "/followed/log/1.seg"
      #expect(!follower.passes(CairnError(code, "here", file: file)))
      #expect(follower.passes(CairnError(code, "there", file: "p-notes/1.seg")))
      #expect(follower.passes(CairnError(code, "anywhere")))
    }
  }

  @Test(.timeLimit(.minutes(20)))
  func `following goes on until it is aborted, and waits for the folder`() async throws {
    bench.options.pollSeconds = 0.01...0.02
    let a = try await bench.publisher("a")
    let hook = HookedFolder.Switch()
    let follower = try await bench.follow("follower", FollowPolicy(), hook)
    let codes = Told<CairnError.Code?>()
    let (pulls, told) = AsyncStream.makeStream(of: Bool.self)
    let task = Task {
      try await follower.follow { result in
        switch result {
        case .success: codes.add(nil)
        case .failure(let error): codes.add(error.code)
        }
        told.yield(true)
      }
    }
    func wait(_ isDone: () throws -> Bool) async throws {
      if try isDone() { return }
      for await _ in pulls where try isDone() { return }
    }
    try await wait { try follower.datastore.ids() == ["a"] }
    hook.fail([.list, .read], .noConnection)
    try await wait { codes.all.contains(.noConnection) }
    hook.set(nil)
    try a.add("more")
    try await a.exchange()
    try await wait { try follower.datastore.ids() == ["a", "more"] }
    follower.abort()
    try await task.value
    // What waiting can't mend ends it.
    hook.fail([.list, .read], .auth)
    let error = await #expect(throws: CairnError.self) { try await follower.follow() }
    #expect(error?.code == .auth)
    hook.set(nil)
    let cancelled = Task { try await follower.follow() }
    cancelled.cancel()
    try await cancelled.value
  }

  /// A folder, or who is asked for credentials, may say so of itself.
  @Test(.timeLimit(.minutes(20)))
  func `what nobody here has cancelled is told, and ends following with an error`() async throws {
    let a = try await bench.publisher("a")
    let hook = HookedFolder.Switch()
    let follower = try await bench.follow("follower", FollowPolicy(), hook)
    try await follower.pull()
    hook.fail([.list, .read], .cancelled)
    let codes = Told<CairnError.Code?>()
    let error = await #expect(throws: CairnError.self) {
      try await follower.follow { result in
        switch result {
        case .success: codes.add(nil)
        case .failure(let error): codes.add(error.code)
        }
      }
    }
    #expect(error?.code == .cancelled)
    #expect(codes.all == [.cancelled])
    hook.set(nil)
    try a.add("more")
    try await a.exchange()
    try await follower.follow { _ in follower.abort() }
    #expect(try follower.datastore.ids() == ["a", "more"])
  }

  // MARK: what is followed goes away

  @Test func `a datastore that is deleted stays here, and says so`() async throws {
    let a = try await bench.publisher("a")
    _ = try await a.manager.refresh()
    let follower = try await bench.follow()
    try await follower.pull()
    let before = try content(follower.datastore)
    try a.close()
    try a.manager.deleteDatastore("notes")
    _ = try await a.manager.refresh()
    let error = await follower.pullError()
    #expect(error?.code == .deleted && error?.id == "notes")
    #expect(try content(follower.datastore) == before && follower.isOpen)
    #expect(await bench.followError("late")?.code == .notFound)
    try follower.close()
    let again = try await bench.follow()
    #expect(try content(again.datastore) == before)
    #expect(await again.pullError()?.code == .deleted)

    let new = try a.manager.openOrCreateDatastore("notes")
    try new.add("new")
    try await new.exchange()
    _ = try await a.manager.refresh()
    #expect(await again.pullError()?.message.contains("another one of that name") == true)
    #expect(try content(again.datastore) == before)
    try again.unsubscribe()
    let other = try await bench.follow()
    try await other.pull()
    #expect(try other.datastore.ids() == ["new"])
  }

  @Test func `another folder at the address changes nothing`() async throws {
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.pull()
    let before = try content(follower.datastore)
    let (here, gone) = (bench.folder, bench.folder + ".gone")
    try bench.move(here, to: gone)
    #expect(await follower.pullError()?.code == .notFound)
    try bench.makeDirectory(here)
    #expect(await follower.pullError()?.code == .notFound, "an empty one")
    let stranger = try bench.open("stranger")
    try stranger.add("stranger")
    try await stranger.exchange()
    for _ in 0..<2 { #expect(await follower.pullError()?.code == .disallowed) }
    #expect(try content(follower.datastore) == before)
    try follower.close()
    let again = try await bench.follow()
    #expect(await again.pullError()?.code == .disallowed)
    #expect(try content(again.datastore) == before)
    try bench.remove(here)
    try bench.move(gone, to: here)
    try a.add("more")
    try await a.exchange()
    try await again.pull()
    #expect(try content(again.datastore) == content(a))
  }

  @Test func `a folder that got another cairn json goes on being the same`() async throws {
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.pull()
    try bench.write(bench.folder + "/cairn.json", FolderIdentity.encode(77))
    try a.add("more")
    try await a.exchange()
    try follower.close()
    for _ in 0..<2 {
      let again = try await bench.follow()
      #expect(try await again.pull().complaints == [])
      #expect(try content(again.datastore) == content(a))
      try again.close()
    }
    try bench.write(bench.folder + "/cairn.json", [UInt8](FolderIdentity.encode(77).prefix(20)))
    let half = try await bench.follow()
    #expect(await half.pullError()?.code == .retryLater)
    #expect(try bench.read(bench.folder + "/cairn.json").count == 20, "it mends nothing")
  }

  // MARK: files

  @Test func `a damaged file is put aside, and nothing of it counts`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let name = try bench.segment(a)
    let path = bench.shared + "/" + name
    let good = try bench.read(path)
    let bad = good.flipped(at: good.count / 2)
    try bench.write(path, bad)
    let follower = try await bench.follow()
    let report = try await follower.pull()
    #expect(report.problems.map(\.name) == [name])
    #expect(try follower.datastore.ids() == ["b"])
    let quarantine = bench.root("follower") + "/followed/quarantine"
    let kept = try bench.names(quarantine, ".bad")
    #expect(try kept.map { try bench.read(quarantine + "/" + $0) } == [bad])
    try bench.write(path, good)
    try await follower.pull()
    #expect(try follower.datastore.ids() == ["a", "b"])
    // Half of a file is waited for.
    try b.add("b2")
    try await b.exchange()
    let next = bench.shared + "/" + (try bench.segments(b).sorted().last ?? "")
    let whole = try bench.read(next)
    try bench.write(next, [UInt8](whole.dropLast(9)))
    #expect(try await follower.pull().waiting.count == 1)
    #expect(try follower.datastore.ids() == ["a", "b"])
    try bench.write(next, whole)
    #expect(try await follower.pull().complaints == [])
    #expect(try follower.datastore.ids() == ["a", "b", "b2"])
  }

  @Test func `what only a newer version can read is waited for`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let path = bench.shared + "/" + bench.head(a)
    let good = try bench.read(path)
    var newer = good
    newer[10] = 9
    try bench.write(path, newer.resummed())
    let follower = try await bench.follow()
    let report = try await follower.pull()
    #expect(report.waiting.map(\.name) == [bench.head(a)] && report.problems == [])
    #expect(try follower.datastore.ids() == ["b"])
    try bench.write(path, good)
    try await follower.pull()
    #expect(try follower.datastore.ids() == ["a", "b"])
    _ = try await b.manager.refresh()
    let list = bench.folder + "/catalogue/" + (try bench.names(bench.folder + "/catalogue")[0])
    var unread = try bench.read(list)
    unread[10] = 9
    try bench.write(list, unread.resummed())
    let again = try await follower.pull()
    #expect(again.waiting.count == 1 && again.problems == [])
    try bench.write(list, unread)
    #expect(try await follower.pull().problems.count == 1)
  }

  @Test func `a history that lost is given up for the one that the folder has`() async throws {
    let a = try bench.open("a")
    try a.add("x1")
    try await a.exchange()
    try a.close()
    for place in ["a", "folder"] {
      try bench.copyTree(bench.place.path + "/" + place, to: bench.place.path + "/old-" + place)
    }
    let first = try bench.open("a")
    try first.add("x2")
    try await first.exchange()
    let all = try await bench.follow("all")
    let some = try await bench.follow("some", FollowPolicy(tables: .only(["u"])))
    for follower in [all, some] { try await follower.pull() }
    #expect(try all.datastore.ids() == ["x1", "x2"] && some.datastore.ids() == [])
    try first.close()
    for place in ["a", "folder"] {
      try bench.remove(bench.place.path + "/" + place)
      try bench.move(bench.place.path + "/old-" + place, to: bench.place.path + "/" + place)
    }
    let second = try bench.open("a")
    try second.add("y2")
    try second.add("u1", to: "u")
    try await second.exchange()
    let before = try bench.tree(bench.folder)
    for follower in [all, some] {
      for _ in 0..<2 { try await follower.pull() }
      #expect(try await follower.pull().complaints == [])
    }
    #expect(try content(all.datastore) == content(second))
    #expect(try content(some.datastore) == chosen(try content(second)) { $0 == "u" })
    #expect(try bench.tree(bench.folder) == before, "nothing is written, whatever the folder has")
  }

  @Test func `a lost inbox and a killed process lose nothing`() async throws {
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.datastore.exchange()
    try follower.close()
    let copy = bench.root("follower") + "/followed"
    #expect(try bench.names(copy + "/inbox", ".seg").count == 1)
    try bench.remove(copy + "/inbox")
    let again = try await bench.follow()
    try await again.pull()
    #expect(try content(again.datastore) == content(a))
    try again.close()
    try bench.remove(copy)
    let empty = try await bench.follow()
    #expect(try content(empty.datastore).isEmpty)
    try await empty.pull()
    #expect(try content(empty.datastore) == content(a))
  }

  // MARK: FOLLOWING

  private func reason(_ bytes: [UInt8]) -> LogError.Reason? {
    do throws(LogError) {
      _ = try FollowFile(bytes, path: "FOLLOWING")
      return nil
    } catch { return error.reason }
  }

  @Test func `FOLLOWING is as the page says`() throws {
    let bytes = try FormatPage.example("following")
    let file = FollowFile(
      id: "notes", generation: 1, folder: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF,
      tables: .only(["t", "u"]))
    #expect(file.encoded() == bytes)
    #expect(try FollowFile(bytes, path: "FOLLOWING") == file)
    for choice in [TableChoice.all, .only([]), .except(["t"])] {
      var other = file
      other.tables = choice
      #expect(try FollowFile(other.encoded(), path: "FOLLOWING") == other)
    }
  }

  @Test func `a FOLLOWING that is cut, bent or newer is refused`() throws {
    let bytes = try FormatPage.example("following")
    for length in bytes.indices { #expect(reason(Array(bytes[..<length])) != nil) }
    for index in bytes.indices { #expect(reason(bytes.flipped(at: index)) != nil) }
    func changed(_ change: (inout [UInt8]) -> Void) -> LogError.Reason? {
      var copy = Array(bytes.dropLast(8))
      change(&copy)
      copy.put(XXH3.hash64(copy))
      return reason(copy)
    }
    #expect(changed { _ in } == nil)
    #expect(changed { $0[10] = 9 } == .needsNewerVersion(9))
    #expect(changed { $0 += [0] } == .corrupt)
    #expect(changed { $0[39] = 7 } != nil, "another way to choose")
    #expect(changed { $0[44] = UInt8(ascii: "a") } == .corrupt, "out of order")
    #expect(changed { $0[34] = UInt8(ascii: "N") } == .corrupt, "no id of a datastore")
  }
}
