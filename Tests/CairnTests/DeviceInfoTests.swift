import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// What `devices()` says of each device.
@Suite struct DeviceInfoTests {
  private func info(_ device: Datastore, by other: Datastore) async throws -> DeviceInfo {
    try #require(try await other.devices().first { $0.id == device.device })
  }

  private func bytes(_ names: [String], _ bench: FolderWorkbench) throws -> UInt64 {
    try names.reduce(0) { try $0 + UInt64(bench.read(bench.shared + "/" + $1).count) }
  }

  @Test func `each has its own user and files, and says how much of it is visible here`()
    async throws
  {
    let bench = try FolderWorkbench()
    let a = try await bench.publisher("a")
    let b = try DatastoreManager(
      root: bench.root("b"), account: Account(user: "bob", folder: .directory(bench.folder)),
      options: bench.options
    ).openOrCreateDatastore(bench.id)
    try b.add("b")
    try await b.pull()
    for name in ["c", "d"] { try b.add(name) }
    try await b.exchange()
    // What was fetched is not visible yet.
    try await a.exchange()
    let fetched = try await info(b, by: a)
    #expect(fetched.user == "bob" && !fetched.isThisDevice)
    #expect(fetched.publishedDeltas == 3 && fetched.incorporatedDeltas == 0)
    let files = try bench.segments(b)
    #expect(files.count == 2 && fetched.files == 2)
    #expect(try fetched.bytes == bytes(files, bench))
    #expect(fetched.acknowledged == [a.device: 1, b.device: 3])
    try a.sync()
    #expect(try await info(b, by: a).incorporatedDeltas == 3)
    try b.add("e")
    try await b.exchange()
    let newer = try await info(b, by: a)
    #expect(newer.publishedDeltas == 4 && newer.incorporatedDeltas == 3)
  }

  /// Of what this device has only what is published counts.
  @Test func `the own device is told by what it has published`() async throws {
    let bench = try FolderWorkbench()
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    try a.add("later")
    let own = try await info(a, by: a)
    #expect(own.user == "ann" && own.isThisDevice && own.files == 1)
    #expect(own.publishedDeltas == 1 && own.incorporatedDeltas == 1)
    #expect(try own.bytes == bytes(bench.segments(a), bench))
    #expect(own.acknowledged == [a.device: 1])
    let all = try await a.devices()
    #expect(all.map(\.id) == [a.device, b.device].sorted())
    #expect(all.filter(\.isThisDevice).map(\.id) == [a.device])
  }

  private func refusal(_ datastore: Datastore) async -> CairnError? {
    do throws(CairnError) {
      _ = try await datastore.devices()
      return nil
    } catch { return error }
  }

  /// An app that goes on, one that is started anew, one that has only fetched, and a follower.
  @Test(arguments: [false, true])
  func `a folder that is away, or another one, tells of no devices`(isOther: Bool) async throws {
    let bench = try FolderWorkbench()
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let again = try await bench.publisher("again")
    try again.close()
    let reader = try bench.open("reader")
    try await reader.pull()
    try reader.close()
    let follower = try await bench.follow()
    try await follower.pull()
    let ids = try await a.devices().map(\.id)
    try #require(ids.count == 3)
    let away = bench.place.path + "/away"
    try bench.move(bench.folder, to: away)
    let other = try FolderWorkbench()
    if isOther {
      try await other.publisher("stranger").close()
      try bench.copyTree(other.folder, to: bench.folder)
    }
    let code: CairnError.Code = isOther ? .disallowed : .notFound
    let anew = try bench.open("again")
    for datastore in [a, b, anew, follower.datastore] {
      let error = await refusal(datastore)
      #expect(error?.code == code && error?.file == "cairn.json" && error?.id == "notes")
    }
    #expect(a.exchanger?.memory.withLock { $0.heads.count } == 2, "the stranger is not among them")
    let behind = try bench.open("reader")
    if isOther {
      try bench.remove(bench.folder)
    } else {
      // It has published nothing, and knows only that there was a folder.
      #expect(await refusal(behind)?.code == .notFound)
      #expect(try await bench.open("new").devices() == [])
      #expect(try bench.names(bench.folder) == [])
    }
    try bench.move(away, to: bench.folder)
    for datastore in [a, b, behind, follower.datastore] {
      #expect(try await datastore.devices().map(\.id) == ids)
    }
  }

  /// It may be lost, or still to arrive: rounds that know the folder go on, and others wait.
  @Test func `a folder that lacks nothing but its cairn.json tells of its devices`() async throws {
    let bench = try FolderWorkbench()
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let reader = try bench.open("reader")
    try await reader.pull()
    try reader.close()
    let follower = try await bench.follow()
    try await follower.pull()
    try bench.remove(bench.folder + "/cairn.json")
    #expect(await a.exchangeError() == nil)
    #expect(await follower.pullError() == nil)
    let behind = try bench.open("reader")
    #expect(await behind.exchangeError()?.code == .retryLater)
    let ids = [a.device, b.device].sorted()
    for datastore in [a, b, behind, follower.datastore] {
      #expect(try await datastore.devices().map(\.id) == ids)
    }
    try follower.close()
    let anew = try DatastoreFollower(
      root: bench.root("follower"), folder: .directory(bench.folder), options: bench.options)
    #expect(try await anew.datastore.devices().map(\.id) == ids)
    // Nor does another one that has none count as the folder.
    let other = try FolderWorkbench()
    try await other.publisher("stranger").close()
    try bench.remove(bench.folder)
    try bench.copyTree(other.folder, to: bench.folder)
    try bench.remove(bench.folder + "/cairn.json")
    for datastore in [a, b, anew.datastore] {
      let error = await refusal(datastore)
      #expect(error?.code == .notFound && error?.file == "cairn.json")
    }
  }
}
