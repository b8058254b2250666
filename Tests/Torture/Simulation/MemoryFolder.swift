import Cairn
import CairnBytes
import CairnLog
import TestSupport

/// A folder in memory as several devices see it: each through a view of its own, which a sync
/// engine brings up to date sooner or later, or all through one. It lies and fails on order.
///
/// Only one thing happens at a time in a simulation, so nothing is guarded.
final class MemoryFolder: @unchecked Sendable {
  struct File: Sendable {
    var bytes: [UInt8]
    /// Which of two contents of one path is the newer one.
    var order: Int
    /// Another one whenever the file looks different.
    var tick: Int
    var isPresent = true
  }

  /// A change that a view has not heard of: nil is a removal.
  struct Event: Sendable {
    var path: String
    var bytes: [UInt8]?
    var order: Int
  }

  struct View: Sendable {
    /// By directory, sorted by name.
    var directories: [String: [(name: String, file: File)]] = [:]
    var waiting: [Event] = []
    var orders: [String: Int] = [:]
    /// Requests for which it is as if nothing was there.
    var emptyFor = 0
    /// What faults have made of files, by path, until a request meets it or it is over.
    var traps: [String: [SimulationStep.Act]] = [:]
    /// A request has found nothing there.
    var isEmptyMet = false
  }

  /// A fault of a request or an arrival to come.
  struct Armed: Sendable {
    var act: SimulationStep.Act
    var countdown: Int
    var random: SeededRandom
  }

  let isShared: Bool
  /// A name was used by two devices, or is older on one than what others know of it.
  var hasTwins = false
  /// Files that were there are gone.
  var hasRolledBack = false
  var views: [View]
  /// By device.
  var armed: [[Armed]] = []
  /// By device and directory: what was listed the last time.
  var listings: [[String: [FolderEntry]]] = []
  /// Older contents of files that are replaced or removed, the newest last.
  var older: [(path: String, bytes: [UInt8], order: Int)] = []
  /// What the simulation itself put there under strange names.
  var strangers: Set<String> = []
  /// Those among them that no device has listed yet, and why they are there.
  var unmetStrangers: [String: SimulationStep.Act] = [:]
  /// What differs since everything went back, until somebody meets the first of it.
  var unmetRollBack: Set<String> = []
  private var kept: [View]?
  /// What is remembered of cairn.json, for a rollback.
  var keptIdentity: [UInt8]? { kept?.first?[FileName.folderIdentity]?.bytes }
  private(set) var clock = 0
  /// Files that devices have written or removed.
  private(set) var changes = 0
  private(set) var requests = 0
  /// Faults that have struck, by device.
  var troubles: [Int] = []
  private var commonTroubles = 0
  var counts: [Int]
  /// What a device did that it must not do.
  var violation: String?
  /// What happens before a request of a device.
  var before: (@Sendable (Int) async -> Void)?
  /// A device without power asks for nothing.
  var isOff: (@Sendable (Int) -> Bool)?
  /// Bytes that a device publishes, whatever becomes of them on the way.
  var onWrite: (@Sendable (Int, String, [UInt8]) -> Void)?
  /// Likewise, once they are there as they are.
  var onStored: (@Sendable (Int, String) -> Void)?

  init(isShared: Bool) {
    self.isShared = isShared
    views = isShared ? [View()] : []
    counts = Array(repeating: 0, count: SimulationStep.Act.allCases.count)
  }

  /// One more device. A view that is new hears of everything bit by bit.
  func add() {
    armed.append([])
    listings.append([:])
    troubles.append(commonTroubles)
    if isShared { return }
    views.append(View(hearingFrom: views.first))
    // Who came since goes back with the others: what is gone for them is gone for it.
    if let first = kept?.first { kept?.append(first) }
  }

  /// One more device, which sees what another one sees.
  func add(like device: Int) {
    armed.append([])
    listings.append([:])
    troubles.append(troubles[device])
    if isShared { return }
    views.append(views[device])
    if let view = kept?[device] { kept?.append(view) }
  }

  func number(of device: Int) -> Int { isShared ? 0 : device }

  func took(_ act: SimulationStep.Act, _ device: Int) {
    counts[SimulationStep.Act.numbers[act] ?? 0] += 1
    if isShared {
      for index in troubles.indices { troubles[index] += 1 }
    } else {
      troubles[device] += 1
    }
  }

  /// What a fault has done may reach everybody, also those who are to come.
  func troubleAll() {
    for index in troubles.indices { troubles[index] += 1 }
    commonTroubles += 1
  }

  func tick() -> Int {
    clock += 1
    return clock
  }

  // MARK: requests

  /// What comes before each request: other devices at work, and the fault that is due.
  func begin(
    _ device: Int, _ acts: [SimulationStep.Act]
  ) async throws(CairnError) -> Armed? {
    requests += 1
    await before?(device)
    if isOff?(device) == true {
      throw CairnError(.network, "the device has no power")
    }
    let number = number(of: device)
    if views[number].emptyFor > 0 { views[number].emptyFor -= 1 }
    var due: Armed?
    for index in armed[device].indices where acts.contains(armed[device][index].act) {
      if armed[device][index].countdown > 0 {
        armed[device][index].countdown -= 1
      } else {
        due = armed[device].remove(at: index)
        break
      }
    }
    if let due, due.act == .requestError {
      took(.requestError, device)
      let codes: [CairnError.Code] = [
        .network, .timeout, .noConnection, .server, .auth, .quota, .fileIO, .retryLater,
        .readOnly, .request,
      ]
      throw CairnError(codes[due.random.below(codes.count)], "a request failed as ordered")
    }
    return due
  }

  func isEmptied(_ device: Int) -> Bool {
    let number = number(of: device)
    guard views[number].emptyFor > 0 else { return false }
    if !views[number].isEmptyMet { took(.folderEmptied, device) }
    views[number].isEmptyMet = true
    return true
  }

  func file(_ device: Int, _ path: String) -> File? { views[number(of: device)][path] }

  /// Puts a file into the view of its writer, and on its way to the others.
  func publish(_ device: Int, _ path: String, _ bytes: [UInt8], isLate: Bool = false) {
    changes += 1
    let order = tick()
    let own = number(of: device)
    if let old = views[own][path] { remember(path, old) }
    for index in views.indices {
      let event = Event(path: path, bytes: bytes, order: order)
      if index == own, !isLate {
        apply(event, to: index)
      } else {
        views[index].waiting.append(event)
      }
    }
  }

  func withdraw(_ device: Int, _ path: String) {
    changes += 1
    let order = tick()
    let own = number(of: device)
    if let old = views[own][path] { remember(path, old) }
    for index in views.indices {
      let event = Event(path: path, bytes: nil, order: order)
      if index == own { apply(event, to: index) } else { views[index].waiting.append(event) }
    }
  }

  private func remember(_ path: String, _ file: File) {
    older.append((path, file.bytes, file.order))
    if older.count > 64 { older.removeFirst(32) }
  }

  // MARK: views

  func apply(_ event: Event, to number: Int) {
    guard event.order >= views[number].orders[event.path] ?? 0 else { return }
    views[number].orders[event.path] = event.order
    views[number].traps[event.path] = nil
    views[number][event.path] = event.bytes.map {
      File(bytes: $0, order: event.order, tick: tick())
    }
  }

  /// Makes a file look different for a time.
  func disturb(
    _ act: SimulationStep.Act, _ number: Int, _ path: String, _ change: (File) -> File?
  ) {
    guard let file = views[number][path] else { return }
    views[number].traps[path, default: []].append(act)
    // One that looks different already comes back as what it was before that.
    let isOnItsWay = views[number].waiting.contains {
      $0.path == path && $0.order >= file.order
    }
    if !isOnItsWay { views[number].waiting.append(Event(path, file)) }
    var changed = change(file)
    changed?.tick = tick()
    views[number][path] = changed
  }

  /// Remembers everything as it is, for a rollback. Not while there is nothing: a folder that is
  /// empty again is refused for good, and rightly so. Nor while two devices have made the folder at
  /// once, and one of the two files is still to win: one that is rolled back to then has nothing of
  /// a device that had published since, and another identity, as a different folder has.
  func keep() {
    let path = FileName.folderIdentity
    guard let first = views.first?[path] else { return }
    let isSettled = views.allSatisfy { view in
      view[path]?.bytes == first.bytes
        && view.waiting.allSatisfy { $0.path != path || $0.bytes == first.bytes }
    }
    if isSettled { kept = views }
  }

  /// Everything is as it was; what was under way since has been lost as well.
  func rollBack(_ device: Int) -> Bool {
    guard let kept else { return false }
    for number in kept.indices {
      var view = kept[number]
      view.emptyFor = 0
      view.traps = [:]
      unmetRollBack.formUnion(view.differences(from: views[number]))
      for directory in view.directories.keys.sorted() {
        for index in view.directories[directory]?.indices ?? 0..<0 {
          view.directories[directory]?[index].file.tick = tick()
        }
      }
      views[number] = view
    }
    self.kept = nil
    return true
  }

  /// The paths that a device sees, and what is not there whole, for a message.
  func names(_ device: Int) -> [String] {
    views[number(of: device)].files.map { $0.file.isPresent ? $0.path : $0.path + " (elsewhere)" }
  }

  /// Everything that is on its way arrives, and nothing fails any more.
  func heal() {
    for device in armed.indices { armed[device] = [] }
    for number in views.indices {
      views[number].emptyFor = 0
      views[number].traps = [:]
    }
    unmetStrangers = [:]
    unmetRollBack = []
    settle()
  }

  /// Everything that is on its way arrives.
  func settle() {
    for number in views.indices {
      let events = views[number].waiting
      views[number].waiting = []
      for event in events { apply(event, to: number) }
    }
  }
}

extension MemoryFolder.Event {
  /// The file as it is to be again.
  init(_ path: String, _ file: MemoryFolder.File) {
    self.init(path: path, bytes: file.bytes, order: file.order)
  }
}

extension MemoryFolder.View {
  /// One that has nothing yet, and hears of all that another one has.
  init(hearingFrom other: Self?) {
    self.init()
    guard let other else { return }
    for (path, file) in other.files { waiting.append(MemoryFolder.Event(path, file)) }
    waiting += other.waiting
  }

  static func split(_ path: String) -> (directory: String, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
    return (String(path[..<slash]), String(path[path.utf8.index(after: slash)...]))
  }

  private func place(_ directory: String, _ name: String) -> (index: Int, isThere: Bool) {
    guard let entries = directories[directory] else { return (0, false) }
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return (low, low < entries.count && entries[low].name == name)
  }

  subscript(path: String) -> MemoryFolder.File? {
    get {
      let (directory, name) = Self.split(path)
      let (index, isThere) = place(directory, name)
      return isThere ? directories[directory]?[index].file : nil
    }
    set {
      let (directory, name) = Self.split(path)
      let (index, isThere) = place(directory, name)
      switch (newValue, isThere) {
      case (let file?, true): directories[directory]?[index].file = file
      case (let file?, false):
        directories[directory, default: []].insert((name, file), at: index)
      case (nil, true): directories[directory]?.remove(at: index)
      case (nil, false): break
      }
    }
  }

  /// The paths at which another one has something else, or only one of them anything.
  func differences(from other: Self) -> Set<String> {
    let mine = Dictionary(files.map { ($0.path, $0.file.order) }, uniquingKeysWith: { $1 })
    let theirs = Dictionary(other.files.map { ($0.path, $0.file.order) }, uniquingKeysWith: { $1 })
    return Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }
  }

  /// All files, sorted by path.
  var files: [(path: String, file: MemoryFolder.File)] {
    directories.keys.sorted().flatMap { directory in
      (directories[directory] ?? []).map {
        (directory.isEmpty ? $0.name : directory + "/" + $0.name, $0.file)
      }
    }
  }
}
