import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What a doctor tells that nothing else does, and what it says to do about it.
@Suite struct DoctorAdviceTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var account: Account { Account(user: "ann", folder: .directory(bench.bench.folder)) }
  private var rootA: String { bench.bench.root("a") }
  private var folder: String { bench.bench.folder }

  private func makeLinked() async throws {
    _ = try await bench.exchangeTwo { try bench.fill($0, 60) } then: {
      try await $0.pull()
      try await $0.exchange()
      try await bench.linked("a").refresh()
    }
  }

  // MARK: the end of the log

  /// A log without its end is as whole as any: only INFO knows of more.
  @Test(arguments: ["last", "emptied", "all"])
  func `a log that has lost its newest files is told, until the datastore is opened`(
    what: String
  ) async throws {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(datastore, compacts: false)
    try datastore.close()
    let directory = bench.directory(bench.localRoot)
    let segments = try bench.files(directory + "/log", ".seg")
    let newest = try #require(segments.last)
    try #require(segments.count > 1)
    if what == "emptied" {
      try bench.bench.write(newest, [])
    } else {
      for path in what == "all" ? segments : [newest] { try bench.bench.remove(path) }
    }
    let found = await Doctor(root: bench.localRoot).examine().findings
    #expect(found.allSatisfy { $0.check == "log" }, "\(found)")
    let lost = try #require(found.first { $0.severity == .error })
    #expect(lost.file == directory + "/INFO" && lost.command == nil)
    #expect(lost.message.contains("notes 400 records in 40 deltas"), "\(lost)")
    #expect(lost.message.contains("have none of them") == (what == "all"))
    #expect(lost.message.contains("the log has lost its end (a power cut with a durability below"))
    #expect(lost.message.contains("or this directory was copied while it was open"))
    #expect(found.count == (what == "emptied" ? 2 : 1))
    let inspector = try DatastoreInspector(root: bench.localRoot, id: "notes")
    let damage = try inspector.verify().problems.filter(\.isDamage)
    inspector.close()
    #expect(damage.map(\.message) == [lost.message])
    let repair = try await bench.local().repairDatastore("notes", dryRun: true)
    #expect(repair.lostEnd == lost.message && !repair.wasNeeded)
    try bench.local().openDatastore("notes").close()
    #expect(await Doctor(root: bench.localRoot).examine().isHealthy)
    #expect(try await bench.local().repairDatastore("notes", dryRun: true).lostEnd == nil)
  }

  @Test func `what is committed while a doctor looks is no end that was lost`() async throws {
    try bench.local().openOrCreateDatastore("notes").close()
    let (root, options, count) = (bench.localRoot, bench.bench.options, Shared(0))
    var disk = ProbedDisk()
    disk.willOpen = { path in
      guard path.hasSuffix("/INFO") else { return }
      count.withLock { $0 += 1 }
      do {
        let manager = try DatastoreManager(root: root, options: options)
        let datastore = try manager.openDatastore("notes")
        try datastore.add("r\(count.withLock { $0 })")
        try datastore.close()
      } catch { Issue.record("\(error)") }
    }
    var machine = Machine.real
    machine.disk = disk
    let found = await Doctor(root: root, account: nil, folder: nil, machine: machine).examine()
    #expect(count.withLock { $0 } > 0 && found.findings == [], "\(found.findings)")
  }

  @Test func `what an exchange brings back is brought back by what a doctor says`() async throws {
    try await makeLinked()
    let newest = try #require(try bench.files(bench.directory(rootA) + "/log", ".seg").last)
    try bench.bench.remove(newest)
    let found = await Doctor(root: rootA, account: account).examine().findings
    let lost = try #require(found.first { $0.message.contains("lost its end") }, "\(found)")
    #expect(lost.severity == .error)
    #expect(lost.command == "cairn sync --datastore notes --root \(rootA)")
    #expect(lost.message.contains("an exchange brings back what was published"))
  }

  // MARK: the account

  @Test func `a root of which nobody says the account is told, and who was its user`()
    async throws
  {
    try await makeLinked()
    let found = await Doctor(root: rootA).examine().findings
    #expect(found.map(\.check) == ["account"] && found.first?.severity == .error, "\(found)")
    #expect(found.first?.message.contains("notes in \(rootA) belongs to an account") == true)
    let advice = "cairn sync --folder FOLDER --user ann --datastore notes --root \(rootA)"
    #expect(found.first?.message.contains(advice) == true, "\(found)")
    #expect(found.first?.file == rootA && found.first?.command == nil)
    #expect(LinkageCheck.user(of: rootA) == "ann")
    #expect(LinkageCheck.missingFolder(rootA, id: "others") == nil)
    #expect(LinkageCheck.missingFolder(rootA, id: "notes") == found.first?.message)
    // Of a local one there is nothing to be said.
    try bench.local().openOrCreateDatastore("notes").close()
    #expect(LinkageCheck.missingFolder(bench.localRoot) == nil)
    #expect(LinkageCheck.user(of: bench.localRoot) == nil)
    // Where there is more, it is the default one that is exchanged, and each is named once.
    try bench.linked("a").openOrCreateDatastore("default").close()
    try bench.bench.copyTree(rootA + "/p-notes", to: rootA + "/g1-p-notes")
    let both = try #require(LinkageCheck.missingFolder(rootA))
    #expect(both.hasPrefix("default, notes in \(rootA) belong to an account, "), "\(both)")
    #expect(both.contains("cairn sync --folder FOLDER --user ann --root \(rootA), "))
  }

  @Test func `the account of an app's root is named by the app's list`() throws {
    let accounts = try AccountManager(directory: bench.bench.place.path + "/app")
    let linked = try accounts.link(account)
    try accounts.openDefaultDatastore(for: linked).close()
    let message = try #require(LinkageCheck.missingFolder(linked.root))
    #expect(!message.contains("not known"), "\(message)")
    let options = "--folder \(folder) --user ann --root \(linked.root)"
    #expect(message.hasSuffix(": cairn sync " + options), "\(message)")
  }

  @Test func `a list of datastores that is damaged is moved away and fetched anew`() async throws {
    try await makeLinked()
    let path = rootA + "/CATALOGUE"
    try bench.spoil(path, at: 60)
    let found = await Doctor(root: rootA, account: account).examine().findings
    let damage = try #require(found.first { $0.check == "catalogue" }, "\(found)")
    #expect(
      damage.command == "mv -- \(path) \(path).damaged && cairn ls --refresh --root \(rootA)")
  }

  // MARK: the folder

  @Test func `a cairn.json that was cut off is written again by an exchange`() async throws {
    try await makeLinked()
    try bench.bench.write(folder + "/cairn.json", [])
    let found = await Doctor(root: rootA, account: account).examine().findings
    #expect(found.map(\.check) == ["folder"] && found.first?.severity == .warning, "\(found)")
    #expect(found.first?.message.contains("is not wholly there (0 bytes)") == true)
    #expect(found.first?.command == "cairn sync --datastore notes --root \(rootA)")
    let datastore = try bench.linked("a").openDatastore("notes")
    try await datastore.exchange()
    try datastore.close()
    #expect(await Doctor(root: rootA, account: account).examine().isHealthy)
  }

  @Test func `a folder that is full is told, also if there is room for the root`() async throws {
    try await makeLinked()
    var disk = ProbedDisk()
    disk.isFull = { [folder] in $0 == folder }
    var machine = Machine.real
    machine.disk = disk
    let doctor = Doctor(
      root: rootA, account: account, folder: DirectoryFolder(folder), machine: machine)
    let found = await doctor.examine().findings
    #expect(found.map(\.check) == ["space"] && found.first?.severity == .warning, "\(found)")
    #expect(found.first?.file == folder)
    #expect(found.first?.message.contains("0 bytes are free in the shared folder") == true)
  }

  @Test func `a disk that has the root and the folder is told once`() async throws {
    try await makeLinked()
    var disk = ProbedDisk()
    disk.free = 100
    var machine = Machine.real
    machine.disk = disk
    let doctor = Doctor(
      root: rootA, account: account, folder: DirectoryFolder(folder), machine: machine)
    let found = await doctor.examine().findings
    #expect(found.map(\.check) == ["space"] && found.first?.file == rootA, "\(found)")
  }

  // MARK: the root

  @Test func `a file in the place of a root is no directory, and nothing else`() async throws {
    let path = bench.bench.place.path + "/file"
    try bench.bench.write(path, [1, 2, 3])
    let found = await Doctor(root: path).examine()
    #expect(found.findings.map(\.message) == ["\(path): it is no directory; check --root"])
    #expect(found.roots == [path])
  }

  @Test func `commands for a root that begins like an option can be pasted`() {
    let root = ExaminedRoot(root: "-r", account: nil, folder: nil, machine: .real)
    #expect(root.command("ls") == "cairn ls '--root=-r'")
    #expect(root.command("sync", on: "-x") == "cairn sync '--datastore=-x' '--root=-r'")
    #expect(root.command("repair", of: "a") == "cairn repair a '--root=-r'")
    #expect(root.unfollow == "cairn unfollow '--root=-r'")
  }
}
