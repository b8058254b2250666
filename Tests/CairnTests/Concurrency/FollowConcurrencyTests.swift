import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// A follower that is used by many at once.
@Suite(.timeLimit(.minutes(20)))
struct FollowConcurrencyTests {
  private let place: TemporaryDirectory
  private var options = Options()

  init() throws {
    place = try TemporaryDirectory()
    options.durability = .none
    options.pollSeconds = 0.01...0.01
  }

  private var folder: FolderLocation { .directory(place.path("folder")) }

  private func member() async throws -> Datastore {
    let member = try DatastoreManager(
      root: place.path("member"), account: Account(user: "ann", folder: folder), options: options
    ).openOrCreateDatastore("notes")
    try await add("first", to: member)
    return member
  }

  private func add(_ id: String, to member: Datastore) async throws {
    for table in ["t", "u"] { try member.table(table).insert(["n": 1], id: RecordID(id)) }
    try member.sync()
    try await member.exchange()
  }

  private func follow() async throws -> DatastoreFollower {
    try await DatastoreFollower.subscribe(
      to: "notes", in: folder, root: place.path("follower"),
      policy: FollowPolicy(tables: .except(["u"])), options: options)
  }

  private func ids(_ datastore: Datastore) throws -> Set<RecordID> {
    Set(try datastore.table("t").query().map(\.id))
  }

  /// What a pull ends with; nil: it came through.
  private static func end(of follower: DatastoreFollower) async -> CairnError.Code? {
    do throws(CairnError) {
      try await follower.pull()
      return nil
    } catch { return error.code }
  }

  private static func edit(_ copy: Datastore) -> CairnError.Code? {
    do throws(CairnError) {
      try copy.table("t").insert([:])
      return nil
    } catch { return error.code }
  }

  @Test func `pulls, readers, aborts and compactions at once end whole`() async throws {
    let member = try await member()
    let follower = try await follow()
    let copy = follower.datastore
    let isOver = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { isOver.raise() }
        for n in 0..<40 { try await add("r\(n)", to: member) }
      }
      for _ in 0..<2 {
        group.addTask {
          while !isOver.isUp {
            let code = await Self.end(of: follower)
            #expect(code == nil || code == .cancelled)
          }
        }
      }
      group.addTask { while !isOver.isUp { try await follower.follow() } }
      group.addTask {
        while !isOver.isUp {
          let (hidden, shown) = (try copy.table("u").count, try ids(copy).count)
          #expect(hidden == 0 && shown <= 41)
          #expect(Self.edit(copy) == .readOnly)
          await Task.yield()
        }
      }
      group.addTask {
        while !isOver.isUp {
          try copy.compact()
          follower.abort()
          await Task.yield()
        }
      }
      // Whoever follows ends by an abort, which may come before its last beginning.
      let ending = Task {
        while !Task.isCancelled {
          if isOver.isUp { follower.abort() }
          do { try await Task.sleep(for: .milliseconds(1)) } catch { return }
        }
      }
      defer { ending.cancel() }
      try await group.waitForAll()
    }
    try await follower.pull()
    #expect(try ids(copy) == ids(member) && ids(copy).count == 41)
    #expect(try copy.tables().map(\.id) == ["t"])
    try follower.close()
  }

  @Test func `a follower that is closed while it pulls ends all that wait`() async throws {
    let member = try await member()
    for round in 0..<10 {
      try await add("r\(round)", to: member)
      let follower = try await follow()
      await withTaskGroup(of: CairnError.Code?.self) { group in
        for _ in 0..<4 { group.addTask { await Self.end(of: follower) } }
        group.addTask {
          do throws(CairnError) { try follower.close() } catch { return error.code }
          return nil
        }
        for await code in group {
          #expect([nil, .cancelled, .closed, .shutdown].contains(code))
        }
      }
      #expect(!follower.isOpen)
    }
    let last = try await follow()
    try await last.pull()
    #expect(try ids(last.datastore) == ids(member))
    try last.close()
  }
}
