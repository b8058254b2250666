import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What a doctor finds around the datastores themselves: accounts, moves, other roots, and what has
/// come from other devices or is still to come.
@Suite struct DoctorSurroundingTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var account: Account { Account(user: "ann", folder: .directory(bench.bench.folder)) }
  private var rootA: String { bench.bench.root("a") }

  private func examine(_ check: String, _ root: String) async -> [Finding] {
    await Doctor(root: root).examine().findings.filter { $0.check == check }
  }

  private func makeLocal() throws {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try datastore.add("x")
    try datastore.close()
  }

  /// What `b` has published is in the inbox of `a`. Returns the device's id.
  private func makeWaiting() async throws -> String {
    try await bench.exchangeTwo { try $0.add("of-a") } then: { try await $0.exchange() }.other
  }

  // MARK: accounts

  @Test func `what is left of an unlinked account is a note, until it is gone`() async throws {
    let directory = bench.bench.place.path + "/app"
    let accounts = try AccountManager(directory: directory)
    let linked = try accounts.link(account)
    try accounts.openDefaultDatastore(for: linked).close()
    // Somebody else has it open.
    let lock = try bench.disk.lock(linked.root + "/p-default/LOCK")
    try linked.unlink()
    let report = await Doctor(root: directory).examine()
    #expect(report.findings.map(\.check) == ["accounts"] && report.isHealthy)
    let left = try #require(report.findings.first)
    #expect(left.severity == .note && left.file == linked.root)
    #expect(left.message.contains("at the app's next start"))
    lock.unlock()
    let again = try AccountManager(directory: directory)
    #expect(try again.linkedAccounts.isEmpty && bench.disk.info(linked.root) == nil)
    #expect(await Doctor(root: directory).examine().findings == [])
  }

  @Test func `a datastore that one account has is not missed in the others`() async throws {
    let place = bench.bench.place.path
    let accounts = try AccountManager(directory: place + "/app")
    for (id, folder) in [("notes", "/folder"), ("other", "/folder2")] {
      let linked = try accounts.link(Account(user: "ann", folder: .directory(place + folder)))
      let datastore = try DatastoreManager.manager(for: linked).openOrCreateDatastore(id)
      try datastore.add("x")
      try await datastore.exchange()
      try datastore.close()
    }
    let doctor = Doctor(root: place + "/app")
    for id in ["notes", "other"] {
      let report = await doctor.examine(id)
      #expect(report.findings == [] && report.datastores == [id] && report.roots.count == 2)
    }
    let missing = Finding(
      check: "place", severity: .error, datastore: "none",
      message: "there is no datastore none in \(place)/app", file: place + "/app")
    #expect(await doctor.examine("none").findings == [missing])
  }

  // MARK: what comes from others

  @Test func `a damaged file of the inbox is named, and does not count as waiting`() async throws {
    _ = try await makeWaiting()
    let inbox = bench.directory(rootA) + "/inbox"
    let waiting = await examine("inbox", rootA)
    #expect(waiting.map(\.severity) == [.note], "\(waiting)")
    #expect(waiting.first?.message.contains("1 delta in 1 fetched file waits for a sync") == true)
    let file = try #require(try bench.files(inbox, ".seg").first)
    try bench.spoil(file, at: 60)
    let found = await examine("inbox", rootA)
    #expect(found.map(\.severity) == [.warning], "\(found)")
    let damage = try #require(found.first)
    #expect(damage.file == file && damage.datastore == "notes" && damage.offset != nil)
    #expect(damage.message.contains("fetched anew by the next sync"))
    #expect(damage.command?.hasPrefix("cairn sync --datastore notes") == true)
  }

  @Test func `a directory in the place of an INFO has to be moved away by hand`() async throws {
    _ = try await makeWaiting()
    let path = bench.directory(rootA) + "/INFO"
    try bench.disk.remove(path)
    try bench.disk.createDirectory(path)
    let found = try #require(await examine("files", rootA).last)
    #expect(found.severity == .warning && found.file == path && found.command == nil)
    #expect(found.message.hasSuffix("lists show less as long as it is there"))
  }

  @Test(arguments: ["placeholder", "gone"])
  func `another device's head that has not come yet is told, and not asked for`(
    kind: String
  ) async throws {
    let head = try await makeWaiting() + ".head"
    let script = ScriptedFolder.Script()
    if kind == "gone" { script.hide(head) } else { script.showPlaceholders(for: head) }
    let folder = ScriptedFolder(base: DirectoryFolder(bench.bench.folder), script: script)
    let doctor = Doctor(root: rootA, account: account, folder: folder, machine: .real)
    let found = await doctor.examine().findings.filter { $0.check == "devices" }
    #expect(found.map(\.severity) == [.warning], "\(found)")
    #expect(found.first?.file == head && found.first?.datastore == "notes")
    #expect(found.first?.message.contains("is listed, but its content is not here yet") == true)
    // Reading one that has to be fetched first may block for long.
    #expect(script.reads.contains { $0.hasSuffix(head) } == (kind == "gone"))
  }

  // MARK: moves

  @Test(arguments: [
    (UInt32(0), "/other", "were being moved to /other when it was interrupted"),
    (1, "/other", "were being moved from /other when it was interrupted"),
    (1, "", "were being moved when it was interrupted"),
  ])
  func `a move that was interrupted is told as what it was`(
    flags: UInt32, other: String, words: String
  ) async throws {
    try makeLocal()
    let journal = MigrationJournal(
      flags: flags, token: 7, other: other,
      items: [MigrationJournal.Item(directory: "p-moved", source: "")])
    let path = bench.localRoot + "/MIGRATION"
    try bench.bench.write(path, journal.encoded())
    let found = await examine("migration", bench.localRoot)
    #expect(found.map(\.severity) == [.warning] && found.first?.file == path, "\(found)")
    #expect(found.first?.message.contains(words) == true, "\(found)")
    #expect(found.first?.message.contains("p-moved") == true)
    #expect(found.first?.command == "cairn ls --root \(bench.localRoot)")
  }

  /// The use of this root changes nothing there.
  @Test func `a root that has not been told of its move is named, and how it is`() async throws {
    try makeLocal()
    let place = bench.bench.place.path + "/around"
    let other = place + "/other"
    let journal = MigrationJournal(
      flags: 3, token: 7, other: other,
      items: [MigrationJournal.Item(directory: "p-moved", source: "")])
    let path = bench.localRoot + "/MIGRATION"
    try bench.bench.write(path, journal.encoded())
    let what = "datastores were moved here from \(other), which has not been told"
    let steps: [(Finding.Severity, String, String?)] = [
      (.warning, " and is not there just now: p-moved. ", nil),
      (.note, " and is not there any more: p-moved. Nothing waits for it", nil),
      (.warning, ": p-moved. Its next use does that. ", "cairn ls --root \(other)"),
    ]
    for (step, directory) in zip(steps, ["", place, other]) {
      if !directory.isEmpty { try bench.bench.makeDirectory(directory) }
      if directory == other {
        let intent = MigrationJournal(
          flags: 0, token: 7, other: bench.localRoot, items: journal.items)
        try bench.bench.write(other + "/MIGRATION", intent.encoded())
      }
      let found = await examine("migration", bench.localRoot)
      #expect(found.map(\.severity) == [step.0] && found.first?.file == path, "\(found)")
      #expect(found.first?.message.hasPrefix(what + step.1) == true, "\(found)")
      #expect(found.first?.command == step.2)
    }
    try bench.bench.remove(other + "/MIGRATION")
    let found = await examine("migration", bench.localRoot)
    #expect(found.map(\.severity) == [.note])
    #expect(found.first?.message.contains("from \(other), which knows: p-moved. ") == true)
  }

  @Test func `a damaged note of a move is an error, for nothing can be opened`() async throws {
    try makeLocal()
    let path = bench.localRoot + "/MIGRATION"
    try bench.bench.write(path, MigrationSample.bytes)
    try bench.spoil(path, at: 20)
    #expect(code { _ = try bench.local().openDatastore("notes") } == .corrupt)
    let found = await examine("migration", bench.localRoot)
    #expect(found.map(\.severity) == [.error] && found.first?.file == path, "\(found)")
    #expect(found.first?.offset == 0 && found.first?.command == nil)
    #expect(found.first?.message.contains("no datastore of the root can be opened") == true)
  }

  // MARK: places

  @Test(arguments: ["CATALOGUE", "CURRENT"])
  func `a root somewhere below another one is told`(name: String) async throws {
    try makeLocal()
    let hand = bench.bench
    try hand.makeDirectory(hand.place.path + "/deep")
    let root = hand.place.path + "/deep/local"
    try hand.move(bench.localRoot, to: root)
    #expect(await examine("place", root) == [])
    try hand.write(hand.place.path + "/" + name, [])
    let found = await examine("place", root)
    #expect(found.map(\.severity) == [.warning] && found.first?.file == root, "\(found)")
    let words = "the root lies inside another root, \(hand.place.path);"
    #expect(found.first?.message.contains(words) == true, "\(found)")
  }

  // MARK: the folder

  /// Its list was never exchanged: only the datastore knows.
  @Test func `another folder than the one a datastore was exchanged with is an error`()
    async throws
  {
    _ = try await makeWaiting()
    try bench.bench.write(bench.bench.folder + "/cairn.json", FolderIdentity.encode(7))
    let report = await Doctor(root: rootA, account: account).examine()
    let found = report.findings.filter { $0.check == "folder" }
    #expect(found.map(\.severity) == [.error], "\(report.findings)")
    let words = "it is another one than that which notes was exchanged with"
    #expect(found.first?.message.contains(words) == true, "\(found)")
  }
}
