import Cairn
import CairnDisk
import CairnLog
import CairnStore
import TestSupport

/// Work with datastores of an account, with the real exchange and a folder that is a directory on
/// a disk of its own, and with local ones that become the account's.
struct SharedScenario: Scenario {
  /// One step; numbers make the changes of one step differ from those of another.
  enum Step: Sendable {
    /// Opens a datastore, creating it if need be.
    case open(String)
    case openLocal(String)
    /// Some changes of the open datastore, one commit.
    case commit
    case lists
    case title
    /// So many records of about so many bytes each, one commit.
    case load(Int, Int)
    case exchange
    /// A sync that takes what was fetched.
    case incorporate
    case compact
    case close
    case reopen
    case kill
    /// Another device joins if it has not, takes what is there, and publishes something.
    case peer
    /// So many deltas of the other device at once, and a snapshot.
    case peerLoad(Int, Int)
    /// The other device deletes the datastore, and says so.
    case peerDeletes
    /// Another device's side of a meeting, three times.
    case peerMeets
    /// It takes what is there, deletes some of the records, and says so.
    case peerDeletesRecords
    /// It retires this device, as it is now.
    case peerRetires
    /// This device retires it.
    case retirePeer
    /// It writes without having heard that it was retired, says so, and hears of it: it comes back
    /// under another name.
    case peerReturns
    /// This device asks what may be forgotten.
    case forget
    /// All have agreed so often, and so many devices are retired.
    case expectCuts(Int, retired: Int)
    /// This device has another name than it had when it was opened first.
    case expectRenamed
    /// So many records are in the trash, in so many files.
    case expectTrash(Int, files: Int)
    /// All of the trash is inserted again, one commit.
    case restoreTrash
    case emptyTrash
    /// So many copies of datastores are in the trash.
    case expectCopies(Int)
    /// The datastore of the copy that came last is there again.
    case restoreCopy
    case emptyCopies
    case refresh
    /// One that hears of the delete of a datastore.
    case refreshDeleting(String)
    case delete(String)
    case deleteLocal(String)
    case uncache(String)
    case migrate
    case advance(Int64)
  }

  static let root = "/a"
  static let localRoot = "/l"
  static let folder = "/folder"

  let name: String
  let steps: [Step]
  var options = Options()

  init(_ name: String, _ steps: [Step], configure: (inout Options) -> Void = { _ in }) {
    self.name = name
    self.steps = steps
    options.compactsAutomatically = false
    options.graceSeconds = 0
    configure(&options)
  }

  var isDurable: Bool { options.durability == .full }

  var hasComings: Bool {
    steps.contains { step in
      switch step {
      case .delete, .deleteLocal, .uncache, .migrate, .peerDeletes: true
      // What was to leave the trash, and no call had returned, may be in it again.
      case .emptyTrash: true
      default: false
      }
    }
  }

  /// What is in the trash shows as well: what others have deleted has to be there or in it.
  var hasTrash: Bool {
    steps.contains { step in
      switch step {
      case .expectTrash, .restoreTrash, .emptyTrash: true
      default: false
      }
    }
  }

  /// The copies of datastores that are in the trash show as well.
  var hasCopies: Bool {
    steps.contains { step in
      switch step {
      case .expectCopies, .restoreCopy, .emptyCopies: true
      default: false
      }
    }
  }

  /// The key of these copies among what datastores show, and what they are there.
  static let copies = "trash"
  static func copies(_ count: Int) -> UInt64 { UInt64(count) &* 0xA076_1D64_78BD_642F }

  /// How much longer than others it takes, roughly.
  var weight: Int {
    let hasLoads = steps.contains { step in
      if case .peerLoad = step { true } else { false }
    }
    if hasLoads { return 20 }
    // Each call that fails takes the whole script.
    return steps.count > 24 ? 3 : 1
  }

  // MARK: managers

  func manager(_ place: Place) -> DatastoreManager {
    let machine = place.folderMachine
    return DatastoreManager(
      root: SharedScenario.root,
      account: Account(user: "ann", folder: .directory(SharedScenario.folder)),
      folder: { DirectoryFolder(SharedScenario.folder, machine: machine) }, options: options,
      machine: place.machine)
  }

  func local(_ place: Place) -> DatastoreManager {
    DatastoreManager(
      root: SharedScenario.localRoot, account: nil, folder: nil, options: options,
      machine: place.machine)
  }

  /// Whether local datastores are part of it.
  private var hasLocal: Bool {
    steps.contains { step in
      if case .openLocal = step { true } else { false }
    }
  }

  private func managers(_ place: Place) -> [DatastoreManager] {
    hasLocal ? [local(place), manager(place)] : [manager(place)]
  }

  /// Of what datastores show, it is part of which one they are, and where.
  static func part(_ id: String, isLocal: Bool, _ content: UInt64) -> UInt64 {
    if content == 0 { return 0 }
    return content &* (isLocal ? 3 : 1) &+ UInt64(id.utf8.reduce(0) { $0 &* 31 &+ Int($1) })
  }

  /// What a datastore shows: its content, how many devices are retired in it, and its trash.
  func shown(_ datastore: Datastore) throws -> UInt64 {
    var content = try ContentHash(datastore).value
    content &+= UInt64(datastore.core.retired.count) &* 0xD6E8_FEB8_6659_FD93
    if hasTrash {
      for record in try datastore.trash.list() { content &+= ContentHash(record).value &* 31 }
    }
    return content
  }

  // MARK: looking

  func begin(_ place: Place, _ recorder: Recorder) throws -> any Life {
    SharedLife(self, place, recorder)
  }

  func look(_ place: Place) throws -> Look {
    let (parts, hasMended) = try found(place)
    let detail = parts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    return Look(
      content: parts.values.reduce(0, &+), hasMended: hasMended,
      detail: detail.joined(separator: ", "))
  }

  /// What each datastore on the device shows, by its key.
  func found(_ place: Place) throws -> (parts: [String: UInt64], hasMended: Bool) {
    var parts: [String: UInt64] = [:]
    var hasMended = false
    for manager in managers(place) {
      // It must not stay open if there is an error on the way.
      defer { try? manager.shutDown() }
      for info in try manager.listDatastores() where info.isOnDevice {
        let datastore = try manager.openDatastore(info.id)
        let content = try shown(datastore)
        let key = SharedScenario.key(info.id, isLocal: manager.isLocal)
        parts[key] = SharedScenario.part(info.id, isLocal: manager.isLocal, content)
        if !datastore.recoveryNotes.isEmpty { hasMended = true }
        if !manager.isLocal { try checkFolder(place, datastore) }
        try datastore.close()
      }
      if hasCopies, !manager.isLocal {
        // One that is deleted, and was not moved there yet, counts with them.
        let copies = try manager.trashedDatastores().count + stores(place).count
        parts[Self.copies] = Self.copies(copies - parts.count)
      }
    }
    return (parts, hasMended)
  }

  static func key(_ id: String, isLocal: Bool) -> String { (isLocal ? "l " : "a ") + id }

  /// The folder must not have of this device what it has lost.
  private func checkFolder(_ place: Place, _ datastore: Datastore) throws {
    let own = UInt64(datastore.device, radix: 16) ?? 0
    let committed = datastore.committedDeltas
    for path in place.folder.paths() {
      let parts = path.split(separator: "/").map(String.init)
      guard parts.count == 3, FileName.generation(directory: parts[1])?.id == datastore.id,
        place.home.bytes("\(SharedScenario.root)/\(parts[1])/\(FileName.current)") != nil
      else { continue }
      let published = FileName.published(parts[2])
      guard let device = published?.device ?? FileName.headDevice(parts[2]) else { continue }
      if device == own {
        if let last = published?.last, last > committed {
          throw TortureFailure("\(path) is in the folder; home has \(committed) deltas")
        }
      } else if !place.peers.contains(device), !forgetsDevices {
        throw TortureFailure("\(path) is in the folder; home has lost that it was that device")
      }
    }
  }

  /// Copies are removed in it, and with them who wrote them.
  private var forgetsDevices: Bool {
    steps.contains { step in
      switch step {
      case .uncache, .delete, .peerDeletes: true
      default: false
      }
    }
  }

  func resume(_ place: Place, _ recorder: Recorder) throws {
    let before = try look(place)
    recorder.begin(before.content)
    recorder.acknowledge()
    let manager = manager(place)
    let datastore = try manager.openOrCreateDatastore("n")
    let content = try shown(datastore)
    try datastore.table("after").insert(["a": 1], id: RecordID("r\(place.random.next())"))
    let rest = before.content &- SharedScenario.part("n", isLocal: false, content)
    recorder.begin(
      rest &+ SharedScenario.part("n", isLocal: false, try shown(datastore)))
    // What was fetched before shows now, too.
    try datastore.sync()
    recorder.begin(
      rest &+ SharedScenario.part("n", isLocal: false, try shown(datastore)))
    if options.durability == .full { recorder.acknowledge() }
    try datastore.close()
    if options.durability != .none { recorder.acknowledge() }
    try manager.shutDown()
    recorder.endStep()
  }

  // MARK: going on

  func goOn(_ place: Place) async throws {
    _ = try look(place)
    let manager = manager(place)
    try await refresh(manager)
    let datastore = try manager.openOrCreateDatastore("n")
    try datastore.table("after").insert(["a": 1], id: RecordID("r\(place.random.next())"))
    for _ in 0..<3 {
      try datastore.sync()
      let report = try await datastore.exchange()
      guard report.problems.isEmpty else { throw TortureFailure("problems: \(report.problems)") }
    }
    let content = try ContentHash(datastore).value
    try datastore.compact()
    guard try ContentHash(datastore).value == content else {
      throw TortureFailure("a compaction after the recovery changes what shows")
    }
    try datastore.close()
    try await refresh(manager)
    try manager.shutDown()
    for store in stores(place) {
      try Verification.check(place, store)
    }
    let left = Place(
      home: place.home.crash(keep: .nothingUnsynced), folder: place.folder, clock: place.clock,
      seed: place.random.next())
    let again = self.manager(left)
    let reopened = try again.openDatastore("n")
    guard try ContentHash(reopened).value == content else {
      throw TortureFailure("what came after the recovery does not survive a power cut")
    }
    try reopened.close()
    try await checkNewDevice(place, content)
  }

  private func refresh(_ manager: DatastoreManager) async throws {
    let report = try await manager.refresh()
    guard report.problems.isEmpty else { throw TortureFailure("problems: \(report.problems)") }
  }

  private func stores(_ place: Place) -> [String] {
    place.home.paths().filter { $0.hasSuffix("/" + FileName.current) }.map(WriteOrder.parent)
      .filter { path in
        let name = WriteOrder.last(path)
        return WriteOrder.parent(path) == SharedScenario.root && !FileName.isTemporary(name)
          && FileName.stagingToken(name) == nil
      }
  }

  /// One that joins now gets everything.
  private func checkNewDevice(_ place: Place, _ content: UInt64) async throws {
    let other = Place(
      home: MemoryDisk(clock: place.clock), folder: place.folder, clock: place.clock,
      seed: place.random.next())
    let manager = manager(other)
    // What was deleted has another name in the folder since.
    try await refresh(manager)
    let datastore = try manager.openOrCreateDatastore("n")
    for _ in 0..<2 {
      let report = try await datastore.exchange()
      guard report.problems.isEmpty, report.waiting.isEmpty else {
        throw TortureFailure("a new device meets \(report.problems) \(report.waiting)")
      }
      try datastore.sync()
    }
    guard try ContentHash(datastore).value == content else {
      throw TortureFailure("a new device has something else")
    }
    try manager.shutDown()
  }
}
