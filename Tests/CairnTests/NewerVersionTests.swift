import Cairn
import CairnBytes
import CairnLog
import CairnStore
import TestSupport
import Testing

/// What an app does that was put back to an older version: a file of the newer one is whole as far
/// as anybody knows, and nothing that mends damage is for it.
@Suite struct NewerVersionTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var hand: FolderWorkbench { bench.bench }
  private var rootA: String { hand.root("a") }
  private var storeA: String { bench.directory(rootA) }

  /// Two devices that have exchanged all they have; what they are called.
  private func makeLinked() async throws -> (own: String, other: String) {
    try await bench.exchangeTwo { try $0.add("of-a") } then: {
      try await $0.pull()
      try await $0.exchange()
    }
  }

  private func examine() async -> [Finding] {
    let account = Account(user: "ann", folder: .directory(hand.folder))
    return await Doctor(root: rootA, account: account).examine().findings
  }

  private func makeNewer(_ path: String, _ summed: ([UInt8]) -> [UInt8]) throws {
    try bench.bend(path) { bytes in
      (bytes[8], bytes[10]) = (9, 9)
      bytes = summed(bytes)
    }
  }

  /// A file of deleted records in the trash; its path.
  private func plantTrash() throws -> String {
    let path = storeA + "/trash/" + FileName.deleted(7)
    try hand.makeDirectory(storeA + "/trash")
    try hand.write(path, DeletedFile(datastore: 1, time: 7, notKept: 0, records: []).encoded())
    try makeNewer(path) { bytes in
      var copy = bytes
      copy.set(XXH3.hash64(bytes, 0..<(bytes.count - 8)), at: bytes.count - 8)
      return copy
    }
    return path
  }

  private func reason(_ known: Int = 1) -> String {
    "written by a newer version: it needs format 9, this is \(known); update the app"
  }

  @Test func `its file in the trash is not to be removed`() async throws {
    _ = try await makeLinked()
    let path = try plantTrash()
    let found = await examine()
    #expect(found.map(\.check) == ["trash"] && found.first?.severity == .warning, "\(found)")
    #expect(found.first?.message == "\(path): \(reason())" && found.first?.file == path)
    #expect(found.first?.command == nil)
    let inspector = try DatastoreInspector(root: rootA, id: "notes")
    defer { inspector.close() }
    let problems = try inspector.verify().problems
    #expect(problems.map(\.file) == [path] && problems.map(\.message) == [reason()])
    #expect(problems.map(\.isUnread) == [true] && problems.map(\.isDamage) == [false])
  }

  @Test func `a repair ends at its file in the trash, and changes nothing`() async throws {
    _ = try await makeLinked()
    let path = try plantTrash()
    try bench.spoil(storeA + "/CURRENT", at: 30)
    let before = try bench.image(storeA)
    let manager = try bench.linked("a")
    for dryRun in [true, false] {
      let error = await #expect(throws: CairnError.self) {
        _ = try await manager.repairDatastore("notes", dryRun: dryRun)
      }
      #expect(error?.code == .needsNewerVersion && error?.file == path)
    }
    #expect(try bench.image(storeA) == before)
    try hand.remove(path)
    #expect(try await manager.repairDatastore("notes").records == 2)
  }

  @Test func `the newest file of another device waits for an update`() async throws {
    let other = try await makeLinked().other
    let name = try #require(try hand.names(hand.shared, ".seg").first { $0.hasPrefix(other) })
    try makeNewer(hand.shared + "/" + name) { $0.resummedSegment() }
    let found = await examine()
    #expect(found.map(\.check) == ["devices"] && found.first?.severity == .warning, "\(found)")
    #expect(
      found.first?.message
        == "the newest file of device \(other) (ann) can't be used: \(name): \(reason(2)). What is "
        + "in it waits until then")
    #expect(found.first?.file == name && found.first?.command == nil)
  }

  @Test func `an own head of its is not written again`() async throws {
    let own = try await makeLinked().own
    let name = own + ".head"
    try makeNewer(hand.shared + "/" + name) { $0.resummed() }
    let found = await examine()
    #expect(found.map(\.check) == ["identity"] && found.first?.severity == .warning, "\(found)")
    #expect(found.first?.message == "\(name): \(reason()); until then nothing is published")
    #expect(found.first?.file == name && found.first?.command == nil)
  }
}
