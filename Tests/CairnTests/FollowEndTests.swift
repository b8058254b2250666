import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Beginnings and ends of following that something comes in between of.
@Suite struct FollowEndTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  @Test func `an unsubscription that was interrupted can be brought to its end`() async throws {
    _ = try await bench.publisher("a")
    let root = bench.root("follower")
    let follower = try await bench.follow()
    try await follower.pull()
    try follower.close()
    try bench.remove(root + "/FOLLOWING")
    #expect(try bench.names(root) == ["followed"])
    try DatastoreFollower.unsubscribe(root: root)
    #expect(try bench.names(root) == [])
    let none = failure { try DatastoreFollower.unsubscribe(root: root) }
    #expect(none?.code == .notFound)
  }

  @Test func `of two that subscribe in one root at once the first stays`() async throws {
    let a = try await bench.publisher("a")
    let other = try a.manager.openOrCreateDatastore("other")
    try other.add("o")
    try await other.exchange()
    let (path, root, options) = (bench.folder, bench.root("follower"), bench.options)
    // While the one looks at the folder, the other one begins.
    let error = await #expect(throws: CairnError.self) {
      try await DatastoreFollower.subscribe(
        to: "notes", in: .directory(path), root: root, policy: FollowPolicy(), options: options,
        opener: {
          MeetingFolder(base: DirectoryFolder(path)) {
            let faster = try await DatastoreFollower.subscribe(
              to: "other", in: .directory(path), root: root, options: options)
            try await faster.pull()
            try faster.close()
          }
        }, machine: .real)
    }
    #expect(error?.code == .exists && error?.id == "other")
    let follower = try DatastoreFollower(root: root, folder: .directory(path), options: options)
    #expect(try follower.id == "other" && follower.datastore.ids() == ["o"])
    try follower.unsubscribe()
    // The same one twice is no conflict.
    let both = try await DatastoreFollower.subscribe(
      to: "notes", in: .directory(path), root: root, policy: FollowPolicy(), options: options,
      opener: {
        MeetingFolder(base: DirectoryFolder(path)) {
          let faster = try await DatastoreFollower.subscribe(
            to: "notes", in: .directory(path), root: root, options: options)
          try await faster.pull()
          try faster.close()
        }
      }, machine: .real)
    #expect(try content(both.datastore) == content(a), "what the other has pulled is there")
  }

  @Test func `abort ends a snapshot in its middle, and the next goes on there`() async throws {
    bench.options.compactsAutomatically = false
    let a = try bench.open("a")
    let random = SeededRandom(7)
    for index in 0..<400 {
      try a.table("t").insert(["bytes": .bytes(random.bytes(1000))], id: RecordID("r\(index)"))
    }
    try a.sync()
    try await a.exchange()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let (path, pieces, size) = (bench.folder, Told<UInt64>(), UInt64(10_000))
    let wish = Shared<DatastoreFollower?>(nil)
    let follower = try await DatastoreFollower.subscribe(
      to: "notes", in: .directory(path), root: bench.root("follower"), policy: FollowPolicy(),
      options: bench.options,
      opener: {
        PartedFolder(base: DirectoryFolder(path), size: size) { place throws(CairnError) in
          pieces.add(place)
          if pieces.all.count == 2 { wish.withLock { $0 }?.abort() }
        }
      }, machine: .real)
    wish.withLock { $0 = follower }
    #expect(await follower.pullError()?.code == .cancelled)
    #expect(pieces.all == [0, size], "nothing comes after that")
    #expect(try follower.datastore.ids() == [])
    let report = try await follower.pull()
    #expect(report.fetchedSnapshot)
    #expect(pieces.all.dropFirst(2).first == size, "and nothing comes twice")
    #expect(try content(follower.datastore) == content(a))
    wish.withLock { $0 = nil }
  }
}

/// A folder in which something happens before its list of datastores is read.
private struct MeetingFolder: Folder {
  let base: DirectoryFolder
  let meet: @Sendable () async throws -> Void
  private let isOver = Shared(false)

  init(base: DirectoryFolder, _ meet: @escaping @Sendable () async throws -> Void) {
    (self.base, self.meet) = (base, meet)
  }

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    if !isOver.exchange(true) {
      do { try await meet() } catch { throw CairnError(.memory, "\(error)") }
    }
    return try await base.list(directory)
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    try await base.read(path, limit: limit)
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    try await base.write(path, bytes)
  }

  func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }
}
