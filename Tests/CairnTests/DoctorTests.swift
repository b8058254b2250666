import Cairn
import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@Suite struct DoctorTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private func examine(
    _ root: String, folder: String? = nil, _ id: String? = nil
  ) async -> DoctorReport {
    let account = folder.map { Account(user: "ann", folder: .directory($0)) }
    return await Doctor(root: root, account: account).examine(id)
  }

  private func makeLocal(compacts: Bool = true) throws {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(datastore, compacts: compacts)
    try datastore.close()
  }

  /// Two devices that have exchanged all they have.
  private func makeLinked() async throws {
    _ = try await bench.exchangeTwo { try bench.fill($0, 60) } then: {
      try await $0.pull()
      try await $0.exchange()
      try await bench.linked("a").refresh()
    }
  }

  private var localStore: String { bench.directory(bench.localRoot) }
  private var rootA: String { bench.bench.root("a") }
  private var storeA: String { bench.directory(rootA) }

  // MARK: healthy

  @Test func `nothing is found on healthy local datastores`() async throws {
    try makeLocal()
    let other = try bench.local().openOrCreateDatastore("other")
    try other.close()
    let report = await examine(bench.localRoot)
    #expect(report.findings == [] && report.isHealthy)
    #expect(report.datastores == ["notes", "other"] && report.roots == [bench.localRoot])
  }

  @Test func `nothing is found on healthy exchanged datastores`() async throws {
    try await makeLinked()
    for device in ["a", "b"] {
      let report = await examine(bench.bench.root(device), folder: bench.bench.folder)
      #expect(report.findings == [])
      #expect(report.datastores == ["notes"])
    }
  }

  @Test func `nothing is found on accounts`() async throws {
    let directory = bench.bench.place.path + "/app"
    let accounts = try AccountManager(directory: directory)
    let account = try accounts.link(Account(user: "ann", folder: .directory(bench.bench.folder)))
    let datastore = try DatastoreManager.manager(for: account).openOrCreateDatastore("notes")
    try datastore.add("x")
    try await datastore.exchange()
    try datastore.close()
    let report = await Doctor(root: directory).examine()
    #expect(report.findings == [])
    #expect(report.datastores == ["notes"] && report.roots.count == 1)
  }

  @Test func `it changes no byte, and makes no file`() async throws {
    try await makeLinked()
    try bench.spoil(bench.files(storeA, ".seg")[0], at: 200)
    try bench.spoil(storeA + "/INFO", at: 20)
    let (before, folder) = (try bench.image(rootA), try bench.image(bench.bench.folder))
    let report = await examine(rootA, folder: bench.bench.folder)
    #expect(!report.isHealthy)
    #expect(try bench.image(rootA) == before && bench.image(bench.bench.folder) == folder)
  }

  @Test func `one that is open is looked at, too`() async throws {
    try makeLocal()
    let datastore = try bench.local().openDatastore("notes")
    try datastore.add("more")
    let report = await examine(bench.localRoot)
    #expect(report.isHealthy)
    #expect(report.findings.map(\.check) == ["lock"])
    #expect(report.findings.first?.message.contains("by this very process") == true)
    try datastore.add("works-on")
    try datastore.close()
  }

  @Test func `a root or datastore that is not there is a finding`() async throws {
    let nowhere = await examine(bench.bench.place.path + "/nowhere")
    #expect(!nowhere.isHealthy && nowhere.findings.first?.check == "place")
    try makeLocal()
    let report = await examine(bench.localRoot, "nothing")
    #expect(!report.isHealthy && report.findings.first?.datastore == "nothing")
  }

  // MARK: planted at home

  /// What is done to a local datastore, and which check must find it.
  enum Planted: String, CaseIterable {
    case currentMissing, currentBent, currentCut, currentNewer, snapshotMissing, snapshotBlock
    case snapshotCut, segmentBent, segmentMissing, segmentCut, segmentNewer, strayFile, straySegment
    case infoBent, quarantined, leftover, nestedRoot, inFolder, oldSnapshot, tornTail, trashBent

    var check: String {
      switch self {
      case .currentMissing, .currentBent, .currentCut, .currentNewer: "current"
      case .snapshotMissing, .snapshotBlock, .snapshotCut: "snapshot"
      case .segmentBent, .segmentMissing, .segmentCut, .segmentNewer, .tornTail: "log"
      case .strayFile, .straySegment, .infoBent, .leftover, .oldSnapshot: "files"
      case .quarantined: "quarantine"
      case .trashBent: "trash"
      case .nestedRoot, .inFolder: "place"
      }
    }

    var severity: Finding.Severity {
      switch self {
      case .strayFile, .straySegment, .quarantined, .leftover, .oldSnapshot: .note
      case .infoBent, .nestedRoot, .tornTail, .trashBent: .warning
      default: .error
      }
    }
  }

  @Test(arguments: Planted.allCases)
  func `each planted problem is found, and nothing else`(planted: Planted) async throws {
    try makeLocal()
    try plant(planted)
    let report = await examine(bench.localRoot)
    let found = try #require(
      report.findings.first { $0.check == planted.check && $0.severity == planted.severity },
      "\(report.findings)")
    #expect(!found.message.isEmpty && found.file != nil)
    #expect(report.isHealthy == (planted.severity == .note))
    // Damage of one file may be seen from others, but not from other kinds of checks.
    #expect(Set(report.findings.map(\.check)) == [planted.check])
    if planted.severity == .error, planted.check != "place", !planted.rawValue.hasSuffix("Newer") {
      #expect(found.command == "cairn repair notes --root \(bench.localRoot)")
    }
  }

  private func plant(_ planted: Planted) throws {
    let store = localStore
    let segments = try bench.files(store + "/log", ".seg")
    let snapshot = try #require(try bench.files(store + "/snap", ".snap").first)
    let hand = bench.bench
    switch planted {
    case .currentMissing: try hand.remove(store + "/CURRENT")
    case .currentBent: try bench.spoil(store + "/CURRENT", at: 30)
    case .currentCut: try bench.bend(store + "/CURRENT") { $0.removeLast(3) }
    case .currentNewer:
      try bench.bend(store + "/CURRENT") { bytes in
        (bytes[8], bytes[10]) = (9, 9)
        bytes.set(XXH3Sum.of(bytes, 0..<88), at: 88)
      }
    case .snapshotMissing: try hand.remove(snapshot)
    case .snapshotBlock: try bench.spoil(snapshot, at: 400)
    case .snapshotCut: try bench.bend(snapshot) { $0.removeLast($0.count / 2) }
    case .segmentBent: try bench.spoil(segments[0], at: 300)
    case .segmentMissing: try hand.remove(segments[0])
    case .segmentCut: try bench.bend(segments[0]) { $0.removeLast($0.count / 2) }
    case .segmentNewer:
      try bench.bend(segments[0]) { bytes in
        (bytes[8], bytes[10]) = (9, 9)
        bytes.set(XXH3Sum.of(bytes, 0..<56), at: 56)
      }
    case .strayFile: try hand.write(store + "/notes.txt", [1, 2, 3])
    case .straySegment: try hand.write(store + "/log/copy of 1.seg", [1, 2, 3])
    case .infoBent: try bench.spoil(store + "/INFO", at: 20)
    case .quarantined:
      try hand.makeDirectory(store + "/quarantine")
      try hand.write(store + "/quarantine/0000000000000001-64.torn", [1, 2])
    case .leftover: try hand.write(bench.localRoot + "/0123456789abcdef.tmp", [])
    case .nestedRoot:
      try hand.makeDirectory(bench.localRoot + "/inner")
      try hand.write(bench.localRoot + "/inner/CATALOGUE", [])
    case .inFolder: try hand.write(hand.place.path + "/cairn.json", [])
    case .oldSnapshot: try hand.write(store + "/snap/0000000000000099.snap", [1])
    case .tornTail: try bench.bend(segments[segments.count - 1]) { $0 += [7, 7, 7] }
    case .trashBent:
      try hand.makeDirectory(store + "/trash")
      try hand.write(store + "/trash/" + FileName.deleted(7), [1, 2, 3])
    }
  }

  // MARK: planted around the folder

  /// What happens to the folder or to a copy, which check must find it, and a word of its message.
  enum Around: String, CaseIterable {
    case emptied, other, identityBent, headLost, headBent, ownFileLost, rolledBack, clone, restored
    case publishedBent, othersFileLost, othersHeadBent, othersHeadNewer, waiting, deleted
    case catalogueBent, migrating, unpublishedLost, ownFileBent, ownSnapshotLost, othersNewestBent

    var expected: (check: String, word: String) {
      switch self {
      case .emptied: ("folder", "is missing")
      case .other: ("folder", "another one")
      case .identityBent: ("folder", "which folder")
      case .headLost: ("identity", "lost this device's head")
      case .headBent: ("identity", "writes it again")
      case .ownFileLost: ("identity", "own files")
      case .rolledBack: ("identity", "rolled back")
      case .clone: ("identity", "another copy")
      case .restored: ("identity", "another copy")
      case .publishedBent: ("identity", "know its own files")
      case .othersFileLost: ("devices", "not in the folder")
      case .othersHeadBent: ("devices", "checksum")
      case .othersHeadNewer: ("devices", "newer version")
      case .waiting: ("inbox", "for a sync")
      case .deleted: ("catalogue", "deleted on another device")
      case .catalogueBent: ("catalogue", "checksum")
      case .migrating: ("migration", "being moved")
      case .unpublishedLost: ("identity", "not published")
      case .ownFileBent: ("identity", "own files in the folder is damaged")
      case .ownSnapshotLost: ("identity", "own snapshot")
      case .othersNewestBent: ("devices", "newest file")
      }
    }
  }

  @Test(arguments: Around.allCases)
  func `what happens around the folder is found`(around: Around) async throws {
    if around == .ownSnapshotLost { bench.bench.options.tuning.smallFileBytes = 1 }
    try await makeLinked()
    try await plant(around)
    let report = await examine(rootA, folder: bench.bench.folder)
    let (check, word) = around.expected
    let found = report.findings.filter { $0.check == check }
    #expect(found.contains { $0.message.contains(word) }, "\(report.findings)")
    // What another device has to write again is here, too.
    #expect(report.isHealthy == [.waiting, .othersFileLost].contains(around))
  }

  private func plant(_ around: Around) async throws {
    let hand = bench.bench
    let heads = try hand.names(hand.shared, ".head")
    let a = try bench.linked("a").openDatastore("notes")
    let own = a.device
    try a.close()
    let other = try #require(heads.first { !$0.hasPrefix(own) })
    let ownFile = try #require(try hand.names(hand.shared, ".seg").first { $0.hasPrefix(own) })
    let othersFile = try #require(try hand.names(hand.shared, ".seg").first { !$0.hasPrefix(own) })
    let head = hand.shared + "/" + own + ".head"
    switch around {
    case .emptied:
      try hand.remove(hand.folder)
      try hand.makeDirectory(hand.folder)
    case .other: try hand.write(hand.folder + "/cairn.json", FolderIdentity.encode(7))
    case .identityBent: try hand.write(hand.folder + "/cairn.json", Array("{}".utf8))
    case .headLost: try hand.remove(head)
    case .headBent: try bench.spoil(head, at: 30)
    case .ownFileLost: try hand.remove(hand.shared + "/" + ownFile)
    case .rolledBack:
      let old = try hand.read(head)
      try await commit("a", "later")
      try hand.write(head, old)
    case .clone:
      try hand.copyTree(rootA, to: hand.root("clone"))
      try await commit("clone", "of-the-clone")
    case .restored:
      try hand.copyTree(rootA, to: hand.place.path + "/backup")
      try await commit("a", "after-the-backup")
      try hand.remove(rootA)
      try hand.move(hand.place.path + "/backup", to: rootA)
    case .publishedBent: try bench.spoil(storeA + "/PUBLISHED", at: 60)
    case .othersFileLost: try hand.remove(hand.shared + "/" + othersFile)
    case .othersHeadBent: try bench.spoil(hand.shared + "/" + other, at: 30)
    case .othersHeadNewer:
      try bench.bend(hand.shared + "/" + other) { bytes in
        (bytes[8], bytes[10]) = (9, 9)
        bytes = bytes.resummed()
      }
    case .waiting:
      try await commit("b", "new-of-b")
      let again = try bench.linked("a").openDatastore("notes")
      try await again.exchange()
      try again.close()
    default: try await plantMore(around)
    }
  }

  private func plantMore(_ around: Around) async throws {
    switch around {
    case .deleted:
      let (a, b) = (try bench.linked("a"), try bench.linked("b"))
      try await b.refresh()
      try b.deleteDatastore("notes")
      try await b.refresh()
      let copy = bench.bench.place.path + "/copy"
      try bench.bench.copyTree(storeA, to: copy)
      try await a.refresh()
      try bench.bench.move(copy, to: storeA)
    case .catalogueBent: try bench.spoil(rootA + "/CATALOGUE", at: 60)
    case .migrating:
      try bench.bench.write(rootA + "/MIGRATION", MigrationSample.bytes)
    case .unpublishedLost:
      let a = try bench.linked("a").openDatastore("notes")
      try a.add("only-here")
      try a.compact()
      try a.close()
      // The snapshot has it, but the segment that publishing needs is gone.
      try bench.bend(storeA + "/CURRENT") { bytes in
        bytes.set(bytes.u64(at: 48), at: 56)
        bytes.set(XXH3Sum.of(bytes, 0..<88), at: 88)
      }
      for path in try bench.files(storeA + "/log", ".seg") { try bench.bench.remove(path) }
    default: try plantInFolder(around)
    }
  }

  private func plantInFolder(_ around: Around) throws {
    let hand = bench.bench
    let a = try bench.linked("a").openDatastore("notes")
    let own = a.device
    try a.close()
    let files = try hand.names(hand.shared, ".seg").sorted()
    switch around {
    case .ownFileBent:
      // The oldest one, which nobody reads any more who is here already.
      let file = try #require(files.first { $0.hasPrefix(own) })
      try bench.spoil(hand.shared + "/" + file, at: 200)
    case .ownSnapshotLost:
      let snapshots = try hand.names(hand.shared, ".snap")
      #expect(!snapshots.isEmpty)
      for name in snapshots { try hand.remove(hand.shared + "/" + name) }
    case .othersNewestBent:
      let file = try #require(files.last { !$0.hasPrefix(own) })
      try bench.spoil(hand.shared + "/" + file, at: 200)
    default: break
    }
  }

  @Test func `a snapshot that another device names is missed`() async throws {
    bench.bench.options.tuning.smallFileBytes = 1
    try await makeLinked()
    let hand = bench.bench
    for name in try hand.names(hand.shared, ".snap") { try hand.remove(hand.shared + "/" + name) }
    let found = await examine(hand.root("b"), folder: hand.folder).findings
    let lost = found.first { $0.check == "devices" && $0.message.contains("names a snapshot") }
    #expect(lost?.severity == .warning, "\(found)")
    #expect(lost?.message.contains("have to read all deltas") == true)
  }

  @Test(arguments: ["placeholder", "gone"])
  func `an own head that can't be read is told`(kind: String) async throws {
    try await makeLinked()
    let a = try bench.linked("a").openDatastore("notes")
    let head = bench.bench.head(a)
    try a.close()
    let script = ScriptedFolder.Script()
    if kind == "gone" { script.hide(head) } else { script.showPlaceholders(for: head) }
    let folder = ScriptedFolder(base: DirectoryFolder(bench.bench.folder), script: script)
    let account = Account(user: "ann", folder: .directory(bench.bench.folder))
    let doctor = Doctor(root: rootA, account: account, folder: folder, machine: .real)
    let found = await doctor.examine().findings
    #expect(found.map(\.check) == ["identity"] && found.first?.severity == .warning, "\(found)")
    #expect(found.first?.message.contains("nothing is published") == true)
    #expect(kind == "gone" || !script.reads.contains { $0.hasSuffix(head) })
  }

  @Test(arguments: [CairnError.Code.timeout, .auth, .fileIO])
  func `own files that can't be read now are not called damaged`(
    code: CairnError.Code
  ) async throws {
    try await makeLinked()
    for id in ["two", "three", "four"] { try await commit("a", id) }
    let (hook, reads) = (HookedFolder.Switch(), Told<String>())
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix(".seg") else { return }
      reads.add(path)
      throw CairnError(code, "no", file: path)
    }
    let account = Account(user: "ann", folder: .directory(bench.bench.folder))
    let folder = HookedFolder(base: DirectoryFolder(bench.bench.folder), hook: hook)
    let doctor = Doctor(root: rootA, account: account, folder: folder, machine: .real)
    let found = await doctor.examine().findings
    let isDamage = code == .fileIO
    let mine = found.filter { $0.check == "identity" }
    #expect(mine.allSatisfy { $0.severity == (isDamage ? .error : .warning) }, "\(found)")
    #expect(mine.allSatisfy { $0.message.contains("damaged") == isDamage })
    #expect(mine.allSatisfy { ($0.command != nil) == isDamage })
    // A server that stalls is not waited for once a file.
    // One file of each other device is read, too.
    let names = mine.compactMap { $0.file?.split(separator: "/").last.map(String.init) }
    let device = try #require(names.first).prefix(16)
    let read = reads.all.compactMap { $0.split(separator: "/").last.map(String.init) }
    #expect(read.filter { $0.hasPrefix(device) }.sorted() == names.sorted())
    #expect(isDamage ? mine.count > 3 : mine.count == (code == .auth ? 2 : 1), "\(found)")
  }

  private func commit(_ device: String, _ id: String) async throws {
    let datastore = try bench.linked(device).openDatastore("notes")
    try datastore.add(id)
    try await datastore.exchange()
    try datastore.close()
  }

  @Test func `clocks and silence of other devices are mentioned`() async throws {
    let clock = ManualClock(1_800_000_000_000)
    let real = Machine.real
    let machine = Machine(disk: real.disk, clock: clock, random: real.random)
    let account = Account(user: "ann", folder: .directory(bench.bench.folder))
    func manager(_ device: String) -> DatastoreManager {
      let folder = bench.bench.folder
      return DatastoreManager(
        root: bench.bench.root(device), account: account,
        folder: { DirectoryFolder(folder) }, options: Options(), machine: machine)
    }
    for (device, days) in [("old", -200), ("fast", 3), ("a", 0)] {
      clock.set(1_800_000_000_000 + Int64(days) * 86_400_000)
      let datastore = try manager(device).openOrCreateDatastore("notes")
      try datastore.add(device)
      try await datastore.exchange()
      try datastore.close()
    }
    let folder = DirectoryFolder(bench.bench.folder)
    let doctor = Doctor(root: rootA, account: account, folder: folder, machine: machine)
    let found = await doctor.examine().findings.filter { $0.check == "devices" }
    #expect(found.map(\.severity) == [.warning, .note])
    #expect(found.first?.message.contains("3 days in the future") == true)
    #expect(found.last?.message.contains("nothing for 200 days") == true)
    let command = try #require(found.last?.command)
    #expect(command.contains("devices --datastore notes --retire "))
    let datastore = try manager("a").openDatastore("notes")
    try datastore.sync()
    try await datastore.exchange()
    try datastore.sync()
    for device in try await datastore.devices() where command.contains(device.id) {
      try datastore.retireDevice(device.id)
    }
    try datastore.sync()
    try await datastore.exchange()
    try datastore.close()
    let later = await doctor.examine().findings.filter { $0.check == "devices" }
    // The one that is ahead has not heard of that.
    #expect(later.map(\.severity) == [.note, .warning])
    #expect(later.first?.message.contains("has not said yet") == true)
  }

  @Test func `who keeps the devices from agreeing is named`() async throws {
    try await makeLinked()
    let a = try bench.linked("a").openDatastore("notes")
    try await a.pull()
    try a.askToForget()
    try a.sync()
    try await a.exchange()
    let other = try #require(try await a.devices().first { !$0.isThisDevice })
    try a.close()
    for compacts in [false, true] {
      if compacts {
        let a = try bench.linked("a").openDatastore("notes")
        try a.compact()
        try a.close()
      }
      let found = await examine(rootA, folder: bench.bench.folder).findings
      #expect(found.map(\.check) == ["devices"], "\(found)")
      #expect(found.first?.severity == .note)
      #expect(found.first?.message.contains("device \(other.id) has not said yet") == true)
      // It has just been there: nobody is told to leave it out.
      #expect(found.first?.message.contains("Let it sync") == true)
      #expect(found.first?.command == nil)
    }
    let later = Machine.real.clock.now() + 31 * 86_400_000
    let folder = DirectoryFolder(bench.bench.folder)
    var machine = Machine.real
    machine.clock = ManualClock(later)
    let account = Account(user: "ann", folder: .directory(bench.bench.folder))
    let silent = await Doctor(root: rootA, account: account, folder: folder, machine: machine)
      .examine().findings.first { $0.message.contains("has not said yet") }
    #expect(silent?.command?.contains("--retire \(other.id)") == true, "\(silent as Any)")
    #expect(silent?.message.contains("what it wrote last is 31 days old") == true)
    let b = try bench.linked("b").openDatastore("notes")
    try await b.pull()
    try await b.exchange()
    try b.close()
    let left = await examine(rootA, folder: bench.bench.folder).findings
    #expect(!left.contains { $0.message.contains("has not said yet") }, "\(left)")
  }

  @Test func `a damaged list of accounts is found`() async throws {
    let directory = bench.bench.place.path + "/app"
    let accounts = try AccountManager(directory: directory)
    _ = try accounts.link(Account(user: "ann", folder: .directory(bench.bench.folder)))
    try bench.spoil(directory + "/ACCOUNTS", at: 20)
    let report = await Doctor(root: directory).examine()
    #expect(report.findings.map(\.check) == ["accounts"])
  }
}
