import Cairn
import CairnDisk
import CairnLog
import CairnStore
import TestSupport

/// A shared scenario under way.
final class SharedLife: Life {
  let scenario: SharedScenario
  var place: Place
  let recorder: Recorder
  private var manager: DatastoreManager
  private var local: DatastoreManager
  /// The one that is worked with.
  private var open: Datastore? {
    didSet { if let open { last = (open.id, open.manager.isLocal) } }
  }
  /// The one that was opened last, also if it is closed by now.
  private var last: (id: String, isLocal: Bool)?
  private var peer: Datastore?
  /// The name that this device had in the datastore that was opened first, and the one of now.
  var firstName: String?
  var name: String?
  /// In the last round of the folder something failed.
  private var hasMetFault = false
  private var lacksFetched = false
  private static let roundsAfterFault = 12
  /// What each datastore showed last, by place and id.
  private var parts: [String: UInt64] = [:]

  init(_ scenario: SharedScenario, _ place: Place, _ recorder: Recorder) {
    self.scenario = scenario
    var place = place
    place.process = ProcessDisk(place.home)
    self.place = place
    self.recorder = recorder
    manager = scenario.manager(place)
    local = scenario.local(place)
  }

  var stepNames: [String] { scenario.steps.map { "\($0)" } }

  func content() throws -> UInt64 {
    if let open {
      parts[key(open.id, isLocal: open.manager.isLocal)] = SharedScenario.part(
        open.id, isLocal: open.manager.isLocal, try scenario.shown(open))
    }
    return parts.values.reduce(0, &+)
  }

  private func key(_ id: String, isLocal: Bool) -> String {
    SharedScenario.key(id, isLocal: isLocal)
  }

  func opened() throws -> Datastore {
    guard let open else { throw TortureFailure("\(scenario.name): nothing is open") }
    return open
  }

  func perform(_ step: Int) async throws {
    place.clock.advance(by: 1)
    switch scenario.steps[step] {
    case .open(let id): open = try reuse(id, isLocal: false) ?? manager.openOrCreateDatastore(id)
    case .openLocal(let id): open = try reuse(id, isLocal: true) ?? local.openOrCreateDatastore(id)
    case .commit:
      try change(try opened(), step)
      try await commit()
    case .lists:
      try editLists(try opened(), step)
      try await commit()
    case .title:
      try opened().setTitle("title \(step)")
      try await commit()
    case .load(let count, let bytes):
      try load(try opened(), step, count, bytes)
      try await commit()
    case .exchange: try await exchange()
    case .incorporate: try await incorporate()
    case .compact: try opened().compact()
    case .close: try close()
    case .reopen: try reopen()
    case .kill: try kill()
    case .peer: try await others { try await peerWrites(step) }
    case .peerLoad(let count, let bytes):
      try await others { try await peerLoads(step, count, bytes) }
    case .peerDeletes: try await others { try await peerDeletes() }
    case .peerMeets, .peerDeletesRecords, .peerRetires, .peerReturns:
      try await others { try await peerActs(scenario.steps[step]) }
    case .retirePeer, .forget, .restoreTrash, .emptyTrash: try await act(scenario.steps[step])
    case .expectCuts, .expectRenamed, .expectTrash: try expect(scenario.steps[step])
    case .refresh: try await refresh()
    case .refreshDeleting(let id): try await refresh(deleting: id)
    case .expectCopies, .restoreCopy, .emptyCopies: try handleCopies(scenario.steps[step])
    case .delete(let id): try remove(id, isLocal: false) { try manager.deleteDatastore(id) }
    case .uncache(let id): try remove(id, isLocal: false) { try manager.uncacheDatastore(id) }
    case .deleteLocal(let id): try remove(id, isLocal: true) { try local.deleteDatastore(id) }
    case .migrate: try migrate()
    case .advance(let milliseconds): try advance(by: milliseconds)
    }
  }

  private func reuse(_ id: String, isLocal: Bool) throws -> Datastore? {
    if let open, open.id == id, open.manager.isLocal == isLocal, open.isOpen { return open }
    try close()
    return nil
  }

  // MARK: changes

  func commit() async throws {
    recorder.begin(try content())
    try await incorporate()
  }

  /// What was fetched shows afterwards, too; on the way there the commit alone may.
  private func incorporate() async throws {
    let datastore = try opened()
    // A fetched file that the disk here does not give is given up, and the next round has it again.
    if lacksFetched {
      try await exchange()
      lacksFetched = false
    }
    let before = place.home.strikeCount
    if !datastore.manager.isLocal {
      name = datastore.device
      firstName = firstName ?? name
    }
    _ = try datastore.sync()
    if let name { noteName(datastore, before: name) }
    lacksFetched = place.home.strikes.dropFirst(before).contains {
      $0.isRead && $0.path.contains("/inbox/")
    }
    if lacksFetched {
      throw ToldFault(
        description: "a sync that could not read what was fetched, and went on", isPartial: true)
    }
    recorder.begin(try content())
    if scenario.options.durability == .full { recorder.acknowledge() }
  }

  private func change(_ datastore: Datastore, _ step: Int) throws {
    let table = try datastore.table("t")
    // Done, if this is another try.
    if try table.record(RecordID("new\(step)")) != nil { return }
    let id = RecordID("r\(step % 3)")
    if let record = try table.record(id) {
      if step % 5 == 4 {
        try record.delete()
      } else {
        try record.update(["a": .int(Int64(step)), "s": nil, "x\(step)": 0.5])
      }
    } else {
      try table.insert(["a": .int(Int64(step)), "s": .string("text \(step)")], id: id)
    }
    let bulk = place.bytes(step, below: 300)
    try insertOnce(table, RecordID("new\(step)"), ["bulk": .bytes(bulk)])
  }

  func insertOnce(
    _ table: Table, _ id: RecordID, _ fields: [String: Value]
  ) throws {
    if try table.record(id) == nil { try table.insert(fields: fields, id: id) }
  }

  private func load(_ datastore: Datastore, _ step: Int, _ count: Int, _ bytes: Int) throws {
    let table = try datastore.table("l")
    let random = SeededRandom(UInt64(step) &+ place.variant << 32)
    for number in 0..<count {
      let value = Value.bytes(random.bytes(bytes))
      try insertOnce(table, RecordID("\(step)-\(number)"), ["bytes": value])
    }
  }

  private func editLists(_ datastore: Datastore, _ step: Int) throws {
    let table = try datastore.table("t")
    // Likewise.
    if try table.record(RecordID("list\(step)")) != nil { return }
    try insertOnce(table, RecordID("list\(step)"), [:])
    try insertOnce(table, "list", [:])
    guard let record = try table.record("list") else { return }
    let list = try record.list("l")
    try list.append(.string("item \(step)"))
    try list.insert(.int(Int64(step)), at: 0)
    if try record.listValues("l")?.count ?? 0 > 3 {
      try list.move(from: 0, to: 2)
      try list.remove(at: 1)
    }
  }

  // MARK: the folder

  /// A round in which nothing has failed; or else it is to be gone through again. What was read
  /// badly once is read again some rounds later.
  private func exchange() async throws {
    let datastore = try opened()
    let before = place.folder.strikeCount
    for _ in 0..<Self.roundsAfterFault {
      let report = try await datastore.exchange()
      if let name { noteName(datastore, before: name) }
      guard place.folder.strikeCount == before else {
        hasMetFault = true
        throw ToldFault(
          description: "a round in which the folder's disk failed: \(report.problems), "
            + "\(report.waiting)")
      }
      if !hasMetFault || report.problems.isEmpty && report.waiting.isEmpty {
        hasMetFault = false
        return
      }
    }
    throw TortureFailure("the exchange does not get over an error of the folder's disk")
  }

  private func refresh(deleting id: String) async throws {
    // The copy is in the trash from then on.
    let copies = scenario.hasCopies ? SharedScenario.copies(1) : 0
    var rest = parts
    rest[key(id, isLocal: false)] = nil
    // A power cut may leave half of a rename from one directory to another: a known limit.
    recorder.begin(rest.values.reduce(0, &+))
    recorder.begin(rest.values.reduce(copies, &+))
    try await refresh()
    if scenario.hasCopies { parts[SharedScenario.copies] = copies }
    forget(id, isLocal: false)
  }

  private func refresh() async throws {
    let before = place.folder.strikeCount
    let report = try await manager.refresh()
    guard place.folder.strikeCount == before else {
      throw ToldFault(
        description: "a refresh in which the folder's disk failed: \(report.problems), "
          + "\(report.waiting)")
    }
  }

  // MARK: others

  private func others(_ body: () async throws -> Void) async throws {
    recorder.pause()
    defer { recorder.resume() }
    try await body()
  }

  func joined() throws -> Datastore {
    if let peer { return peer }
    let other = Place(
      home: MemoryDisk(clock: place.clock), folder: place.folder, clock: place.clock, seed: 991)
    let new = try scenario.manager(other).openOrCreateDatastore("n")
    peer = new
    let device = UInt64(new.device, radix: 16) ?? 0
    recorder.notePeer(device)
    return new
  }

  private func peerWrites(_ step: Int) async throws {
    let peer = try joined()
    try await peer.exchange()
    try peer.sync()
    try change(peer, step)
    try insertOnce(try peer.table("t"), RecordID("peer\(step)"), ["step": .int(Int64(step))])
    try peer.sync()
    try await peer.exchange()
  }

  private func peerLoads(_ step: Int, _ count: Int, _ bytes: Int) async throws {
    let peer = try joined()
    try load(peer, step, count, bytes)
    try peer.sync()
    try await peer.exchange()
    try peer.compact()
    try await peer.exchange()
  }

  private func peerDeletes() async throws {
    let peer = try joined()
    let manager = peer.manager
    try peer.close()
    try manager.deleteDatastore("n")
    try await manager.refresh()
    self.peer = nil
  }

  // MARK: places

  private func remove(_ id: String, isLocal: Bool, _ body: () throws -> Void) throws {
    if open?.id == id { try close() }
    let there = try (isLocal ? local : manager).listDatastores()
    guard there.contains(where: { $0.id == id && $0.isOnDevice }) else {
      return forget(id, isLocal: isLocal)
    }
    try body()
    forget(id, isLocal: isLocal)
  }

  private func forget(_ id: String, isLocal: Bool) {
    parts[key(id, isLocal: isLocal)] = nil
    recorder.begin(parts.values.reduce(0, &+))
    recorder.acknowledge()
  }

  private func migrate() throws {
    try close()
    if local.isShutDown { local = scenario.local(place) }
    try local.migrate(to: manager)
    local = scenario.local(place)
    try noteAll()
  }

  /// What is there now is safe.
  private func noteAll() throws {
    recorder.pause()
    defer { recorder.resume() }
    var left = Place(
      home: place.home.snapshot(), folder: place.folder, clock: place.clock, seed: 5)
    left.peers = recorder.peers
    parts = try scenario.found(left).parts
    recorder.begin(parts.values.reduce(0, &+))
    recorder.acknowledge()
  }

  private func handleCopies(_ step: SharedScenario.Step) throws {
    switch step {
    case .restoreCopy:
      try close()
      guard let copy = try manager.trashedDatastores().last else {
        throw TortureFailure("the trash has no datastore")
      }
      try manager.restore(copy)
      try noteAll()
    case .emptyCopies:
      var rest = parts
      rest[SharedScenario.copies] = nil
      recorder.begin(rest.values.reduce(0, &+))
      try manager.emptyTrash()
      parts = rest
      recorder.acknowledge()
    case .expectCopies(let count):
      let found = try manager.trashedDatastores().count
      guard found == count else {
        throw TortureFailure("\(found) datastores are in the trash")
      }
    default: break
    }
  }

  private func reopen() throws {
    try close()
    guard let last else { return }
    open = try (last.isLocal ? local : manager).openOrCreateDatastore(last.id)
  }

  /// The handles of a killed process are gone, and its locks; the disk goes on.
  private func kill() throws {
    place.process?.kill()
    // None of it arrives at the disk any more; it only lets go.
    try? manager.shutDown()
    try? local.shutDown()
    place.process = ProcessDisk(place.home)
    open = nil
    manager = scenario.manager(place)
    local = scenario.local(place)
    if let last { open = try (last.isLocal ? local : manager).openOrCreateDatastore(last.id) }
  }

  func close() throws {
    guard let datastore = open else { return }
    _ = try? content()
    open = nil
    try datastore.close()
    if scenario.options.durability != .none { recorder.acknowledge() }
  }

  func mend(_ error: any Error) throws {
    guard let datastore = open else { return }
    if (error as? CairnError)?.code == .syncFailed {
      let isLocal = datastore.manager.isLocal
      // It may say once more that it could not make everything durable.
      try? close()
      open = try (isLocal ? local : manager).openOrCreateDatastore(datastore.id)
    } else {
      try datastore.rollback()
    }
  }
}
