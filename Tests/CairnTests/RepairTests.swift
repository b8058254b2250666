import Cairn
import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@Suite struct RepairTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var store: String { bench.directory(bench.localRoot) }

  // MARK: local datastores

  /// A local datastore of 400 records, half of them in the snapshot; its content.
  private func makeLocal(_ count: Int = 400, compacts: Bool = true) throws -> [String: String] {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(datastore, count, compacts: compacts)
    let content = try content(datastore)
    try datastore.close()
    return content
  }

  /// Everything that a datastore shows, a line a record.
  private func content(_ datastore: Datastore) throws -> [String: String] {
    var result: [String: String] = [:]
    for table in try datastore.tables() {
      for record in try table.query() {
        let fields = try record.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        result["\(table.id)/\(record.id)"] = fields.joined(separator: " ")
      }
    }
    return result
  }

  private func snapshot() throws -> String {
    try #require(try bench.files(store + "/snap", ".snap").first)
  }

  /// The older one of two behind the snapshot, which is closed.
  private func segment() throws -> String {
    try #require(try bench.files(store + "/log", ".seg").first)
  }

  /// Repairs, and checks what holds after every repair: the original is kept byte for byte, the
  /// result verifies, a second repair does nothing.
  private func repair(_ manager: DatastoreManager) async throws -> RepairReport {
    let directory = bench.directory(manager.root)
    let before = try bench.image(directory)
    let dry = try await manager.repairDatastore("notes", dryRun: true)
    #expect(dry.wasNeeded && dry.original == nil)
    #expect(try bench.image(directory) == before, "a dry run changes nothing")
    #expect(try bench.disk.list(manager.root).allSatisfy { !$0.name.hasPrefix("m") })
    let report = try await manager.repairDatastore("notes")
    #expect(report.losses == dry.losses && report.records == dry.records)
    let original = try #require(report.original)
    #expect(try bench.image(original) == before, "the original is as it was")
    #expect(try bench.disk.list(manager.root).allSatisfy { !$0.name.hasPrefix("m") })
    let inspector = try DatastoreInspector(root: manager.root, id: "notes")
    #expect(try inspector.verify().problems == [])
    inspector.close()
    let image = try bench.image(directory)
    let again = try await manager.repairDatastore("notes")
    #expect(!again.wasNeeded && again.original == nil)
    #expect(try bench.image(directory) == image, "a second repair does nothing")
    return report
  }

  enum Damage: String, CaseIterable {
    case block, index, directoryPage, footer, header, blockBit, segmentMiddle, segmentFirst
    case segmentBit, segmentHeader, currentMissing, currentBent, currentCut, zeroedPage
    case zeroedSegmentPage, snapshotCut, segmentCut, snapshotDeleted, segmentDeleted
    case sealBit, sealSpoilt, firstPageZeroed

    /// Nothing at all may be lost.
    var isHarmless: Bool {
      switch self {
      case .index, .directoryPage, .header, .blockBit, .segmentBit, .segmentHeader, .currentMissing,
        .currentBent, .currentCut, .sealBit, .sealSpoilt:
        true
      default: false
      }
    }
  }

  @Test(arguments: Damage.allCases)
  func `what is not in the damaged part is kept`(damage: Damage) async throws {
    let before = try makeLocal()
    // What only the log has, and what only the snapshot has.
    let folded = Set((0..<200).flatMap { ["t/r\($0)", "odd/r\($0)"] })
    try inflict(damage)
    let manager = try bench.local()
    #expect(throws: (any Error).self) { try open(manager) }
    let report = try await repair(manager)
    let datastore = try manager.openDatastore("notes")
    let after = try content(datastore)
    try datastore.close()
    // Where nothing tells the name of a table, its records have another one.
    let unnamed = after.filter { $0.key.hasPrefix("recovered-") }
    let named = after.filter { !$0.key.hasPrefix("recovered-") }
    for (id, fields) in named { #expect(before[id] == fields, "\(id) is not what it was") }
    let known = Set(before.values)
    #expect(unnamed.values.allSatisfy(known.contains))
    #expect(unnamed.isEmpty || damage == .snapshotCut)
    let lost = Set(before.keys).subtracting(after.keys)
    if damage.isHarmless {
      #expect(lost == [], "\(report.losses)")
    } else {
      #expect(!report.losses.isEmpty)
      #expect(lost.count < before.count, "\(report.losses)")
    }
    switch damage {
    case .block, .zeroedPage, .snapshotCut, .snapshotDeleted, .firstPageZeroed:
      #expect(lost.isSubset(of: folded), "the log is whole")
      // The first table's block comes first.
      if damage == .firstPageZeroed { #expect(lost.allSatisfy { $0.hasPrefix("odd/") }) }
    case .sealBit, .sealSpoilt: #expect(report.losses == [])
    case .segmentMiddle, .segmentFirst, .zeroedSegmentPage, .segmentCut, .segmentDeleted:
      #expect(lost.isDisjoint(with: folded), "the snapshot is whole")
      if damage == .segmentMiddle || damage == .segmentFirst { #expect(lost.count == 10) }
    default: break
    }
    let bits: [Damage] = [.blockBit, .segmentBit, .sealBit]
    #expect(report.mendedBits == (bits.contains(damage) ? 1 : 0))
  }

  /// Opening may be lazy about a snapshot; reading everything is not.
  private func open(_ manager: DatastoreManager) throws {
    let datastore = try manager.openDatastore("notes")
    do { _ = try content(datastore) } catch {
      try datastore.close()
      throw error
    }
    try datastore.close()
    let inspector = try DatastoreInspector(root: manager.root, id: "notes")
    defer { inspector.close() }
    if let problem = try inspector.verify().problems.first { throw Damaged(text: problem.message) }
  }

  private struct Damaged: Error { var text: String }

  private func inflict(_ damage: Damage) throws {
    switch damage {
    case .block: try bench.spoil(snapshot(), at: 600, count: 40)
    case .index: try bend { $0.spoil(at: Int($0.u64(at: 56)) + 100) }
    case .directoryPage: try bend { $0.spoil(at: Int($0.u64(at: 48)) + 10) }
    case .footer: try bend { $0.spoil(at: $0.count - 20) }
    case .header: try bend { $0.spoil(at: 20) }
    case .blockBit: try bend { $0[700] ^= 0x04 }
    case .zeroedPage: try bend { bytes in for index in 4096..<8192 { bytes[index] = 0 } }
    case .snapshotCut: try bend { $0.removeLast($0.count / 2) }
    case .snapshotDeleted: try bench.bench.remove(snapshot())
    case .segmentMiddle:
      let path = try segment()
      try bench.spoil(path, at: try bench.bench.read(path).count / 2, count: 20)
    case .segmentFirst: try bench.spoil(segment(), at: 300, count: 20)
    case .segmentBit: try bench.bend(segment()) { $0[400] ^= 0x20 }
    case .segmentHeader: try bench.spoil(segment(), at: 20)
    case .firstPageZeroed: try bend { bytes in for index in 0..<4096 { bytes[index] = 0 } }
    case .sealBit: try bench.bend(segment()) { $0[seal($0) + 45] ^= 0x10 }
    case .sealSpoilt:
      try bench.bend(segment()) { bytes in
        let start = seal(bytes) + 44
        for index in start..<(start + 16) { bytes[index] ^= 0x5A }
      }
    case .zeroedSegmentPage:
      try bench.bend(segment()) { bytes in for index in 4096..<8192 { bytes[index] = 0 } }
    case .segmentCut:
      try bench.bend(segment()) { $0.removeLast($0.count / 2) }
    case .segmentDeleted: try bench.bench.remove(segment())
    case .currentMissing: try bench.bench.remove(store + "/CURRENT")
    case .currentBent: try bench.spoil(store + "/CURRENT", at: 30, count: 40)
    case .currentCut: try bench.bend(store + "/CURRENT") { $0.removeLast(30) }
    }
  }

  /// Where a closed segment's seal begins: its trailer says so.
  private func seal(_ segment: [UInt8]) -> Int { Int(segment.u64(at: segment.count - 16)) }

  private func bend(_ change: (inout [UInt8]) -> Void) throws {
    try bench.bend(snapshot(), change)
  }

  @Test func `a healthy datastore is left alone`() async throws {
    let before = try makeLocal()
    let image = try bench.image(bench.localRoot)
    let report = try await bench.local().repairDatastore("notes")
    #expect(!report.wasNeeded && report.losses == [])
    #expect(try bench.image(bench.localRoot) == image)
    #expect(before.count == 400)
  }

  @Test func `an open datastore is refused, and one that is not there`() async throws {
    _ = try makeLocal(20)
    let manager = try bench.local()
    let datastore = try manager.openDatastore("notes")
    func refusal(_ id: String) async -> CairnError.Code? {
      let error = await #expect(throws: CairnError.self) { try await manager.repairDatastore(id) }
      return error?.code
    }
    #expect(await refusal("notes") == .alreadyOpen)
    try datastore.close()
    #expect(await refusal("none") == .notFound)
    #expect(await refusal("../notes") == .illegalArgument)
  }

  @Test func `files of a newer version are not guessed at`() async throws {
    _ = try makeLocal(20, compacts: false)
    try bench.spoil(segment(), at: 300, count: 20)
    try bench.bend(store + "/CURRENT") { bytes in
      (bytes[8], bytes[10]) = (9, 9)
      bytes.set(XXH3Sum.of(bytes, 0..<88), at: 88)
    }
    let image = try bench.image(bench.localRoot)
    let manager = try bench.local()
    let error = await #expect(throws: CairnError.self) {
      try await manager.repairDatastore("notes")
    }
    #expect(error?.code == .needsNewerVersion)
    #expect(try bench.image(bench.localRoot) == image)
  }

  // MARK: datastores of an account

  @Test(arguments: [false, true])
  func `what was published comes back from the folder`(loses: Bool) async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 200)
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    try b.table("t").record("r1")?.set("n", -1)
    try b.add("of-b")
    try await b.exchange()
    try await a.pull()
    // Not published: a new record, a change, and a delete.
    try a.add("only-here")
    try a.table("t").record("r2")?.set("n", -2)
    try a.table("t").record("r4")?.delete()
    try a.sync()
    let before = try content(a)
    let (old, manager) = (a.device, a.manager)
    try a.close()
    let directory = bench.directory(manager.root)
    if loses {
      for path in try bench.files(directory + "/snap", ".snap") { try bench.bench.remove(path) }
    } else {
      for path in try bench.files(directory + "/snap", ".snap") {
        try bench.spoil(path, at: 500, count: 50)
      }
    }
    let report = try await repair(manager)
    #expect(report.oldDevice == old && report.device != old)
    #expect(report.fetchedDeltas > 0 && report.reinserted == 2)
    let repaired = try manager.openDatastore("notes")
    #expect(try content(repaired) == before)
    // The others get what was only here, and the two go on as ever.
    try await repaired.exchange()
    try await b.pull()
    #expect(try content(b) == before)
    try repaired.add("later")
    try await repaired.exchange()
    try await b.pull()
    try b.add("later-of-b")
    try await b.exchange()
    try await repaired.pull()
    #expect(try content(b) == content(repaired))
    try repaired.close()
  }

  @Test func `a newer change in the folder is not taken back`() async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60)
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    try b.table("t").record("r1")?.set("n", 1000)
    try b.table("t").record("r2")?.delete()
    try b.sync()
    try await b.exchange()
    try a.close()
    try bench.spoil(
      try #require(bench.files(bench.directory(a.manager.root) + "/snap", ".snap").first), at: 500)
    let report = try await repair(a.manager)
    #expect(report.reinserted == 0)
    let repaired = try a.manager.openDatastore("notes")
    #expect(try content(repaired) == content(b))
    try repaired.close()
  }

  @Test func `without its folder an account's datastore waits, unless that is gone`() async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60, compacts: false)
    try await a.exchange()
    let before = try content(a)
    let manager = a.manager
    try a.close()
    let directory = bench.directory(manager.root)
    try bench.bench.remove(directory + "/CURRENT")
    try bench.bench.move(bench.bench.folder, to: bench.bench.place.path + "/away")
    let image = try bench.image(manager.root)
    let error = await #expect(throws: CairnError.self) {
      try await manager.repairDatastore("notes")
    }
    #expect(error?.code == .notFound && error?.message.contains("Nothing was changed") == true)
    #expect(try bench.image(manager.root) == image)
    let report = try await manager.repairDatastore("notes", usingFolder: false)
    #expect(report.reinserted == before.count)
    let repaired = try manager.openDatastore("notes")
    #expect(try content(repaired) == before)
    try repaired.close()
  }

  @Test func `what others have deleted is in the trash as before`() async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60)
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    for id: RecordID in ["r1", "r2"] {
      try b.table("t").record(id)?.delete()
      try b.sync()
      try await b.exchange()
      try await a.pull()
    }
    #expect(try a.trash.list().map(\.id) == ["r1", "r2"])
    let manager = a.manager
    try a.close()
    let directory = bench.directory(manager.root)
    let files = try bench.files(directory + "/trash", ".del")
    try #require(files.count == 2)
    try bench.spoil(files[0], at: 40)
    try bench.spoil(try #require(bench.files(directory + "/snap", ".snap").first), at: 500)
    let report = try await repair(manager)
    #expect(report.losses.contains { $0.file == files[0] && $0.message.contains("are lost here") })
    let repaired = try manager.openDatastore("notes")
    #expect(try repaired.trash.list().map(\.id) == ["r2"])
    #expect(try repaired.trash.problems == [])
    #expect(try repaired.trash.restoreAll() == 1)
    #expect(try repaired.table("t").record("r2")?.int("n") == 2)
    try repaired.close()
  }

  @Test(arguments: [false, true])
  func `what was deleted and forgotten does not come back`(changed: Bool) async throws {
    // Each compaction is published.
    bench.bench.options.tuning.smallFileBytes = 1
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60)
    try a.compact()
    try await a.exchange()
    let b = try bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    try b.table("t").record("r1")?.delete()
    try b.sync()
    try await bench.bench.meet(b, a)
    try a.askToForget()
    for _ in 0..<2 { try await bench.bench.meet(a, b) }
    try b.compact()
    try await b.exchange()
    try await a.pull()
    let manager = a.manager
    #expect(try a.table("t").record("r1") == nil)
    try a.add("only-here")
    if changed { try a.table("t").record("r2")?.set("n", -2) }
    try a.sync()
    let before = try content(a)
    try a.close()
    // The snapshot has the record, and the log no delete any more.
    let inspector = try DatastoreInspector(root: manager.root, id: "notes")
    let found = try inspector.deltas().first { $0.device == b.device && $0.tables == ["t"] }
    inspector.close()
    let delta = try #require(found)
    try bench.spoil(
      bench.directory(manager.root) + "/log/" + FileName.segment(delta.segment),
      at: delta.offset + 20)
    let report = try await repair(manager)
    #expect(!report.losses.isEmpty && report.reinserted == (changed ? 2 : 1))
    // The agreement that settled it had been seen: it was made on top of what the others have.
    #expect(!report.losses.contains { $0.message.contains("t/r2.n: it was") })
    let repaired = try manager.openDatastore("notes")
    #expect(try repaired.table("t").record("r1") == nil)
    #expect(try content(repaired) == before)
    try await bench.bench.meet(repaired, b)
    #expect(try content(b) == before)
    try repaired.close()
  }

  // MARK: what devices agree on

  enum Wish: CaseIterable { case askedAlone, asked, sealed, retired }

  /// Another device that has written something, which the first one has.
  private func joined(_ name: String, _ a: Datastore) async throws -> Datastore {
    let other = try bench.linked(name).openOrCreateDatastore("notes")
    try await other.pull()
    try other.add("of-\(name)")
    try await other.exchange()
    try await a.pull()
    return other
  }

  /// Lets the first device say with its next delta, at the latest, what others have to agree on, or
  /// that they have. Returns the others.
  private func ask(_ wish: Wish, _ a: Datastore) async throws -> [Datastore] {
    var others: [Datastore] = []
    if wish != .askedAlone { others.append(try await joined("b", a)) }
    if wish == .retired {
      let lost = try await joined("c", a)
      try lost.close()
      try a.retireDevice(lost.device)
      return others + [lost]
    }
    try a.askToForget()
    if wish == .sealed {
      try a.sync()
      try await a.exchange()
      try await others[0].pull()
      try await others[0].exchange()
      try await a.pull()
    }
    return others
  }

  @Test(arguments: Wish.allCases)
  func `what was said of agreements and not published is left out`(wish: Wish) async throws {
    let a = try bench.linked("a").openOrCreateDatastore("notes")
    try bench.fill(a, 60)
    try await a.exchange()
    let others = try await ask(wish, a)
    try a.add("only-here")
    let isAgreed = wish == .askedAlone || wish == .sealed
    let agreement: Datastore.Agreement = isAgreed ? .agreed : .waiting([others[0].device])
    #expect(a.agreement == agreement)
    let before = try content(a)
    let (old, manager) = (a.device, a.manager)
    try a.close()
    let snap = bench.directory(manager.root) + "/snap"
    try bench.spoil(try #require(bench.files(snap, ".snap").first), at: 500)
    #expect(try await repair(manager).reinserted == 1)

    let repaired = try manager.openDatastore("notes")
    #expect(try content(repaired) == before)
    // That it was asked for was published before it was sealed.
    let left: Datastore.Agreement = wish == .sealed ? .waiting([]) : .none
    #expect(repaired.agreement == left)
    try repaired.add("later")
    try await repaired.exchange()
    let b = try others.first ?? bench.linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    #expect(try content(b) == content(repaired))
    try b.add("later-of-b")
    let report = try await b.exchange()
    #expect(report.problems.isEmpty && report.held.isEmpty)
    try await repaired.pull()
    #expect(try content(repaired) == content(b))

    // Whoever still wants it asks anew.
    for device in [old] + others.dropFirst().map(\.device) { try repaired.retireDevice(device) }
    try await bench.bench.meet(repaired, b)
    #expect(repaired.agreement == .agreed && b.agreement == .agreed)
    try repaired.close()
  }

  @Test func `the original can be had back from the trash`() async throws {
    _ = try makeLocal(40)
    try bench.spoil(snapshot(), at: 500, count: 40)
    let image = try bench.image(store)
    let manager = try bench.local()
    _ = try await manager.repairDatastore("notes")
    let kept = try #require(try manager.trashedDatastores().first)
    #expect(kept.id == "notes" && kept.reason?.contains("block 0 is damaged") == true)
    #expect(code { try manager.restore(kept) } == .exists)
    try manager.deleteDatastore("notes")
    try manager.restore(kept)
    #expect(try bench.image(store) == image)
    #expect(try manager.trashedDatastores() == [])
  }
}

extension [UInt8] {
  fileprivate mutating func spoil(at offset: Int) {
    for index in offset..<(offset + 8) { self[index] ^= 0x5A }
  }
}
