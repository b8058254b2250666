import Cairn
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// The second phase: nothing fails any more, everybody meets, and all must have the same.
extension SimulatedWorld {
  static let roundsMax = 8
  /// A decision shows what it comes to after `roundsMax`, and several devices may have to make one.
  static let roundsWithRetirements = 6 * roundsMax
  private static let isTooOld = "can't be compared with what is here"
  private static let isNowhere = "of the device are nowhere"
  private static let isLeftTwice = "this device has left its name"
  private static let isUnknownSum = "it takes that over as soon as its own deltas 1 to"

  func settle() async throws {
    let random = SeededRandom(profile.seed &+ 3)
    note("everything heals")
    try checkAgainstReference(devices[random.below(devices.count)], mayBeTwin: folder.hasTwins)
    folder.heal()
    forgetPlans()
    for device in devices {
      device.makesMarks = false
      if device.isOff {
        device.faults.disarm(device.disk)
        device.cutPower()
        try recover(device, random)
      }
      device.faults.disarm(device.disk)
      if device.copies.contains(where: { $0.isSick || $0.datastore == nil }) || random.coin() {
        try restart(device)
      }
      for copy in device.copies { try copy.check() }
    }
    if devices.count < 8, random.below(4) == 0 {
      try addDevice()
      devices[devices.count - 1].makesMarks = false
    }
    guard let first = try await meet() else { return }
    try checkAcknowledged()
    try checkEqual()
    try checkSnapshots()
    let second = try await rest()
    try checkEqual()
    sealedCuts = devices[0].copies.reduce(0) { sum, copy in
      sum + (copy.datastore?.core.cuts.cuts.count(where: \.isSealed) ?? 0)
    }
    try checkHomes()
    roundsToRest = (first, second)
  }

  /// All have compacted, which may bring snapshots into the folder, and the grace of merged files
  /// is over: after some rounds nothing happens any more, neither in the folder nor at home.
  /// Returns how many it takes.
  private func rest() async throws -> Int {
    pass(Int64(profile.graceSeconds + 86_400) * 1000)
    var moved: [String] = []
    for round in 0..<Self.roundsMax {
      (moved, obstacles, troubles) = ([], [], [])
      let changes = folder.changes
      for device in devices {
        let image = device.disk.imageHash()
        moved += try await lookAtList(device).map { "the list of \(device.number): \($0)" }
        for copy in device.copies {
          if try await !meet(copy, device) { moved.append("\(copy.id) on \(device.number)") }
        }
        if device.disk.imageHash() != image { moved.append("the disk of \(device.number)") }
      }
      moved += troubles
      if folder.changes != changes { moved.append("\(folder.changes - changes) files") }
      if moved.isEmpty, isEqual { return round }
    }
    throw TortureFailure(
      "no rest after \(Self.roundsMax) rounds: " + moved.joined(separator: ", ") + "; "
        + obstacles.joined(separator: "; "))
  }

  /// A look at the list by devices that may have left half a cairn.json at the last one: as long as
  /// its process runs, the exchange of a datastore need not find it so. What it can't do before all
  /// have met it has to do in the end.
  private func lookAtListBefore(_ device: SimulatedDevice) async {
    count()
    do { _ = try await device.manager.refresh() } catch { note("  \(error)") }
  }

  /// A device looks at the list of datastores. Returns what it can't use of it: what crashes have
  /// left half written goes when its owner looks.
  private func lookAtList(_ device: SimulatedDevice) async throws -> [String] {
    count()
    do {
      let report = try await device.manager.refresh()
      let waiting = report.waiting.filter { !isStranger($0.name) && !isOwnerless($0.name) }
      let problems = own(report.problems).filter { !isOwnerless($0.name) }
      return problems.map(\.reason) + waiting.map(\.reason)
    } catch {
      throw TortureFailure("device \(device.number): with no faults its refresh fails: \(error)")
    }
  }

  /// Those that are not about what the simulation itself has put there.
  private func own(_ problems: [ExchangeReport.Problem]) -> [ExchangeReport.Problem] {
    problems.filter { !isStranger($0.name) }
  }

  /// A file of the list is its installation's alone: only that writes it again when half of it is
  /// there, or when another device's identity of the folder has won. An installation that a restore
  /// has taken back, to before it had this name or to a state that doesn't know its own file any
  /// more, goes on under another name; its old file stays as it is, and is reported, until somebody
  /// removes it. As long as any device has the name this is no excuse.
  private func isOwnerless(_ name: String) -> Bool {
    guard let number = FileName.catalogueInstallation(name), leftInstallations.contains(number),
      !devices.contains(where: { $0.installation == number })
    else { return false }
    ownerlessFiles.insert(name)
    return true
  }

  /// Likewise a head: nobody writes it again whose only copy a restore has taken back to before it
  /// had that name. Who leaves a name by itself leaves the head whole, so that is no excuse, unless
  /// the folder has gone back to before that.
  private func isOwnerless(_ name: String, _ index: Int) -> Bool {
    guard let number = FileName.headDevice(name),
      folder.hasRolledBack || leftNames[index].contains(DeviceID(rawValue: number)),
      !devices.contains(where: { $0.copies[index].datastore?.core.device.rawValue == number })
    else { return false }
    ownerlessHeads.insert(name)
    return true
  }

  /// Too little of it is there to tell that the rest is missing.
  private func isHalf(_ file: ExchangeReport.Waiting) -> Bool {
    file.reason == "its content is not here yet" || file.reason.hasPrefix("not wholly there yet")
  }

  private func isStranger(_ name: String) -> Bool {
    folder.strangers.contains { MemoryFolder.View.split($0).name == name }
  }

  /// Returns after how many rounds nothing happened any more. nil if a copy of a device is older
  /// than what the folder still has of it: it says so, and publishes nothing; that is a known
  /// limit, and such a world does not come to rest.
  private func meet() async throws -> Int? {
    // What nobody's head tells of a name that was left is given after six looks, and its device
    // may take three rounds to leave it.
    let usual = folder.hasTwins ? 2 * Self.roundsMax : Self.roundsMax
    let limit = profile.retires ? Self.roundsWithRetirements : usual
    for round in 0..<limit {
      var isQuiet = true
      obstacles = []
      held = []
      let changes = folder.changes
      for device in devices {
        if round == 0 { await lookAtListBefore(device) }
        for copy in device.copies {
          if try await !meet(copy, device) { isQuiet = false }
        }
      }
      if isQuiet, isEqual, folder.changes == changes { return round }
      if profile.retires, round % Self.roundsMax == Self.roundsMax - 1 { try decide() }
    }
    if folder.hasTwins, obstacles.contains(where: { $0.contains(Self.isTooOld) }) {
      try checkMarksAnywhere()
      strandedCopies += 1
      return nil
    }
    try checkOwnMarks()
    if profile.retires, obstacles.contains(where: { $0.contains(Self.isLeftTwice) }) {
      ambiguousNames += 1
      return nil
    }
    if profile.retires, obstacles.contains(where: { $0.contains(Self.isNowhere) }) {
      // The folder has lost files of a device that had them no more itself. They are in its
      // snapshot, which those who it cut off can't join; that they were cut off was in the files.
      lostCuts += 1
      return nil
    }
    let isUnknown = obstacles.contains {
      $0.contains(Self.isUnknownSum) && $0.hasSuffix(" are in the folder")
    }
    if profile.retires, isUnknown {
      unknownSums += 1
      return nil
    }
    throw TortureFailure(
      "no convergence after \(limit) rounds: "
        + obstacles.joined(separator: "; ") + "; held: "
        + held.map { "\($0.device) by \($0.copy.id)" }.joined(separator: ", ") + "; " + vectors)
  }

  /// Devices have retired each other in a circle: one of them retires all that is held there, as a
  /// person would. If that has changed nothing, because something else that is not agreed on stands
  /// against it, it is for the next one to do so: the first one has nothing left to decide.
  private func decide() throws {
    for index in histories.indices where !isEqual(index) {
      let found = held.filter { $0.copy.index == index }
      let places = devices.map { $0.copies[index] }.filter { copy in
        found.contains { $0.copy === copy }
      }
      if places.isEmpty { continue }
      let turn = decisions[index, default: 0]
      let copy = places[turn % places.count]
      for name in Set(found.filter { $0.copy === copy }.map(\.device)).sorted() {
        note("  device \(copy.device.number) leaves out \(name)")
        do { try copy.datastore?.retireDevice(name, givingUp: true) } catch {
          // Its own name of before.
          try copy.demand(error.code == .illegalArgument, "\(name) stays: \(error)")
        }
      }
      decisions[index] = turn + 1
    }
  }

  /// Whether nothing was new to anybody.
  private func meet(_ copy: SimulatedCopy, _ device: SimulatedDevice) async throws -> Bool {
    guard let datastore = copy.datastore else {
      throw TortureFailure("device \(device.number) is not open")
    }
    let committed = try copy.commit(allowingMassDelete: true)
    let report: ExchangeReport
    do {
      report = try await datastore.exchange()
      copy.countExchange()
    } catch where error.isOfHalfIdentity {
      // Whoever wrote it has gone before it was whole: it has to be replaced after some rounds, and
      // one that is lost after ten minutes.
      device.clock.set(device.clock.now() + 200_000, isJump: false)
      obstacles.append("\(device.number): \(error.message)")
      return false
    } catch {
      throw TortureFailure(
        "device \(device.number): with no faults its exchange fails: \(error); it sees "
          + folder.names(device.number).joined(separator: ", "))
    }
    note(
      "  \(device.number): published \(report.publishedDeltas), fetched \(report.fetchedDeltas), "
        + "waiting \(report.waiting.map(\.name)), problems \(report.problems.map(\.name))")
    obstacles +=
      report.waiting.map { "\(device.number) waits for \($0.name): \($0.reason)" }
      + report.problems.map { "\(device.number) can't use \($0.name): \($0.reason)" }
    troubles += own(report.problems).filter { !isOwnerless($0.name, copy.index) }
      .map { "\(device.number) can't use \($0.name): \($0.reason)" }
    try copy.commit(allowingMassDelete: true)
    // As of that sync: who has given way with it knows nobody before it looks again.
    held += datastore.heldFiles.map { (copy, String($0.name.prefix(16))) }
    folder.settle()
    // Two syncs and a round between them.
    count(3)
    var known = report
    known.waiting.removeAll { isHalf($0) && isOwnerless($0.name, copy.index) }
    return !committed && known.isIdle
  }

  private var isEqual: Bool { histories.indices.allSatisfy(isEqual) }

  private func isEqual(_ index: Int) -> Bool {
    let all = devices.map { $0.copies[index].datastore?.core.vector }
    return all.allSatisfy { $0 == all[0] }
  }

  private var vectors: String {
    devices.map { device in
      device.copies.map { "\($0.datastore?.core.vector ?? VersionVector())" }
        .joined(separator: " ")
    }.joined(separator: " | ")
  }

  // MARK: checks

  /// Everything that a device was told to be safe is still there.
  private func checkAcknowledged() throws {
    try checkMarks()
    if folder.hasTwins { return }
    for (index, history) in histories.enumerated() {
      guard let vector = devices[0].copies[index].datastore?.core.vector else { continue }
      for device in devices {
        for dot in device.copies[index].memory.acknowledged.entries
        where !vector.contains(dot) {
          throw TortureFailure("the acknowledged delta \(dot) is nowhere: \(vector)")
        }
      }
      guard vector == history.vector else {
        throw TortureFailure("devices have \(vector), published was \(history.vector)")
      }
    }
  }

  private func checkMarks() throws {
    for index in histories.indices {
      let found = devices[0].copies[index].memory.shown.tables["marks"] ?? [:]
      for device in devices {
        for mark in device.copies[index].memory.marks where found[mark.id] == nil {
          throw TortureFailure(
            "device \(device.number) committed \(mark.id) with \(mark.dot), and it is nowhere")
        }
      }
    }
  }

  /// In a world that does not come to rest every device has at least what it has committed itself.
  /// What it had committed before it became two at least one of the two has: who takes another name
  /// leaves to the other one what both had published, and others have gone on without.
  private func checkOwnMarks() throws {
    for index in histories.indices {
      let copies = devices.map { $0.copies[index] }
      var kept: Set<String> = []
      for copy in copies {
        let found = copy.memory.shown.tables["marks"] ?? [:]
        for mark in copy.memory.marks where found[mark.id] != nil { kept.insert(mark.id) }
      }
      for copy in copies {
        for mark in copy.memory.marks {
          try copy.demand(
            kept.contains(mark.id), "it committed \(mark.id) with \(mark.dot), and has lost it")
        }
      }
    }
  }

  /// What a restored copy had published before, and can't get back, at least another device has.
  private func checkMarksAnywhere() throws {
    for index in histories.indices {
      let copies = devices.map { $0.copies[index] }
      for copy in copies {
        for mark in copy.memory.marks {
          try copy.demand(
            copies.contains { $0.memory.shown.tables["marks"]?[mark.id] != nil },
            "it committed \(mark.id) with \(mark.dot), and nobody has it")
        }
      }
    }
  }

  private func checkEqual() throws {
    for index in histories.indices {
      let wanted = devices[0].copies[index].memory.shown
      for device in devices {
        let copy = device.copies[index]
        try copy.check()
        try copy.demand(
          copy.memory.shown == wanted,
          "it differs from device 0: \(copy.memory.shown.differences(from: wanted))")
      }
    }
    try checkAgainstReference(devices[0], mayBeTwin: false)
  }

  /// A device shows what the naive reference makes of what it has seen, if all of that is known.
  ///
  /// - Parameter mayBeTwin: What it has not published may be something else than what a copy of it
  ///   has published under the same names.
  private func checkAgainstReference(_ device: SimulatedDevice, mayBeTwin: Bool) throws {
    if device.isOff { return }
    for copy in device.copies {
      guard let store = copy.datastore?.core, store.totals.pending == 0, !copy.isSick,
        let wanted = reference(copy.index, store.vector)
      else { continue }
      if mayBeTwin, copy.memory.published < store.vector[store.device] { continue }
      referenceChecks += 1
      try copy.demand(
        copy.memory.shown == wanted,
        "it is not what the reference says: \(copy.memory.shown.differences(from: wanted))")
    }
  }

  /// What the reference makes of these deltas; nil if not all of them are known.
  func reference(_ index: Int, _ vector: VersionVector) -> SimulatedContent? {
    if histories.contains(where: \.isForked) || !histories[index].vector.covers(vector) {
      return nil
    }
    return histories[index].content(seen: vector)
  }

  /// The same state is the same bytes.
  private func checkSnapshots() throws {
    for index in histories.indices {
      var first: [UInt8]?
      for device in devices {
        let copy = device.copies[index]
        try copy.compact()
        let bytes = copy.datastore?.core.snapshotFile().flatMap { device.disk.bytes($0.path) }
        try copy.demand(bytes != nil, "it has no snapshot")
        try copy.demand(bytes == first ?? bytes, "its snapshot is not that of device 0")
        first = first ?? bytes
      }
    }
  }

  /// Closed and opened once more: nothing to mend, nothing too much.
  private func checkHomes() throws {
    for device in devices {
      let shown = device.copies.map(\.memory.shown)
      try restart(device)
      for (copy, content) in zip(device.copies, shown) {
        try copy.check()
        try copy.demand(copy.memory.shown == content, "it shows something else when reopened")
        let notes = copy.datastore?.recoveryNotes ?? []
        try copy.demand(notes.isEmpty, "it had to mend \(notes)")
        try copy.compact()
        try copy.close()
      }
      let disk = device.disk
      guard disk.openFiles == 0, disk.heldLocks == 0 else {
        throw TortureFailure(
          "device \(device.number) leaves \(disk.openFiles) files and \(disk.heldLocks) locks")
      }
      let size = device.copies.reduce(0) { $0 + $1.memory.shown.size }
      // Snapshots without their padding, logs without their room; quarantine is not ours to clear.
      for path in disk.paths() {
        let name = String(path.dropFirst(SimulatedDevice.root.utf8.count + 1))
        guard FolderGrammar.isHome(name) else {
          throw TortureFailure("device \(device.number) leaves \(path)")
        }
      }
      guard disk.usedBytes < (1 << 20) + size * 64 else {
        throw TortureFailure(
          "device \(device.number) takes \(disk.usedBytes) bytes for content of \(size)")
      }
    }
  }
}

extension CairnError {
  /// cairn.json is missing or there in part, and nobody knows yet that nothing more comes.
  var isOfHalfIdentity: Bool {
    code == .retryLater && file == FileName.folderIdentity
  }
}
