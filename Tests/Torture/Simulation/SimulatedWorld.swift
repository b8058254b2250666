import Cairn
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import Synchronization
import TestSupport

/// Devices, the folder that they meet in, and time. One thing happens at a time; what happens in
/// the middle of a round happens inside of it.
final class SimulatedWorld: @unchecked Sendable {
  let profile: SimulationProfile
  let folder: MemoryFolder
  private(set) var devices: [SimulatedDevice] = []
  var histories: [SimulatedHistory]
  var counts: [Int]
  /// Everything that happened, as one number.
  private(set) var digest = SimulationDigest()
  /// The last things that happened, for whoever has to find out what went wrong.
  private(set) var trace: [String] = []
  var isTracing = false
  /// Copies that were too old to be told apart.
  var strandedCopies = 0
  /// Devices that can't give way once more.
  var ambiguousNames = 0
  /// Worlds in which the folder has lost a cut that the other side would have to give way to.
  var lostCuts = 0
  /// Worlds in which a device that gives way can't find out how far a sum of its own had come.
  var unknownSums = 0
  /// Installations that a device was when it was restored: the backup may not know of them yet.
  var leftInstallations: Set<UInt64> = []
  /// By datastore: names that a restore took from the only copy that had them.
  var leftNames: [Set<DeviceID>]
  /// Heads that can't be used, and that nobody is left to write again.
  var ownerlessHeads: Set<String> = []
  /// Files of the list that can't be used, and that nobody is left to write again.
  var ownerlessFiles: Set<String> = []
  /// How often somebody had to choose between groups that had retired each other, by datastore.
  var decisions: [Int: Int] = [:]
  /// After how many rounds nothing happened any more: of the second phase, and again after all
  /// had compacted, refreshed, and waited for what has a grace. nil: it has not come to rest.
  var roundsToRest: (first: Int, second: Int)?
  /// Agreements that came about.
  var sealedCuts = 0
  /// How often what is shown was compared with what the reference makes of it.
  var referenceChecks = 0
  /// What the last round of the second phase could not use.
  var obstacles: [String] = []
  /// Files of devices that it could not use.
  var troubles: [String] = []
  /// What it held because of a cut, by who wrote it.
  var held: [(copy: SimulatedCopy, device: String)] = []
  private(set) var time: Int64 = 1_700_000_000_000
  private let start: Int64 = 1_700_000_000_000
  /// Work that was done: each call of a device, each delivery, each wait. Edits are counted by the
  /// copies, and faults by whom they strike.
  private(set) var events = 0
  /// Steps that wait for the middle of a round, by device.
  private var inner: [(device: Int, countdown: Int, step: SimulationStep)] = []
  private var depth = 0
  /// What went wrong where nothing could be thrown.
  private var failure: (any Error)?

  init(_ profile: SimulationProfile) {
    self.profile = profile
    folder = MemoryFolder(isShared: profile.isShared)
    histories = (0..<profile.datastores).map { _ in SimulatedHistory() }
    leftNames = Array(repeating: [], count: profile.datastores)
    counts = Array(repeating: 0, count: SimulationStep.Act.allCases.count)
    folder.before = { [unowned self] device in await middle(of: device) }
    folder.isOff = { [unowned self] device in devices[device].isOff }
    folder.onWrite = { [unowned self] device, path, bytes in
      do { try written(device, path, bytes) } catch { failure = failure ?? error }
    }
    folder.onStored = { [unowned self] device, path in stored(device, path) }
  }

  var simulatedHours: Int { Int((time - start) / 3_600_000) * devices.count }

  func note(_ text: @autoclosure () -> String) {
    if isTracing { trace.append(text()) }
  }

  func took(_ act: SimulationStep.Act) {
    counts[SimulationStep.Act.numbers[act] ?? 0] += 1
  }

  func count(_ number: Int = 1) { events += number }

  // MARK: running

  func run(_ steps: [SimulationStep]) async throws {
    for _ in 0..<profile.devices { try addDevice() }
    for step in steps {
      try await perform(step)
      try settleCrashes(step.seed)
      if let failure { throw failure }
      if let violation = folder.violation { throw TortureFailure(violation) }
    }
  }

  func addDevice() throws {
    let device = SimulatedDevice(
      number: devices.count, profile: profile, folder: folder, time: time)
    devices.append(device)
    folder.add()
    prepare(device)
    for copy in device.copies {
      guard try copy.open(afterCrash: true) else { throw TortureFailure("a new one won't open") }
    }
  }

  private func prepare(_ device: SimulatedDevice) {
    device.reference = { [unowned self] index, vector in reference(index, vector) }
    device.onHeld = { [unowned self] in took(.massDelete) }
    guard isTracing else { return }
    for index in histories.indices { histories[index].tell = { [unowned self] in note($0) } }
    device.tell = { [unowned self] text in note("  device \(device.number)\(text)") }
    device.faults.listener.withLock {
      $0 = { [unowned self] text in note("    device \(device.number)\(text)") }
    }
  }

  /// Another device that has all that this one has, its name among it.
  func addTwin(of device: SimulatedDevice) throws {
    let twin = SimulatedDevice(
      number: devices.count, profile: profile, folder: folder, time: time,
      disk: device.disk.snapshot())
    devices.append(twin)
    prepare(twin)
    folder.add(like: device.number)
    for (copy, other) in zip(twin.copies, device.copies) {
      copy.memory = other.memory
      guard try copy.open(afterCrash: true) else { throw TortureFailure("a clone won't open") }
    }
  }

  func pass(_ milliseconds: Int64) {
    time += milliseconds
    for device in devices { device.setClock(time) }
  }

  func perform(_ step: SimulationStep) async throws {
    let random = SeededRandom(step.seed)
    let device = devices[step.device % devices.count]
    note("\(step)")
    pass(Int64(random.below(profile.pace * 2 + 1)))
    if step.act.isWork {
      try await work(step, device, random)
    } else {
      try await fault(step, device, random)
    }
    digest.add(SimulationStep.Act.numbers[step.act] ?? 0)
    digest.add(device.disk.operations)
    digest.add(folder.requests)
    for copy in device.copies {
      guard let store = copy.datastore?.core else { continue }
      digest.add(store.vector.total)
      digest.add(store.totals.size)
    }
  }

  private func work(
    _ step: SimulationStep, _ device: SimulatedDevice, _ random: SeededRandom
  ) async throws {
    let copy = device.copies[random.below(device.copies.count)]
    if device.isOff { return }
    if copy.datastore == nil || (copy.isSick && random.below(3) == 0) {
      try copy.close()
      guard try copy.open(afterCrash: false) else { return }
    }
    // Edits count one by one.
    if step.act != .edit { count() }
    switch step.act {
    case .edit: try copy.edit(profile, random)
    case .commit: try copy.commit()
    case .consent: try copy.commit(allowingMassDelete: true)
    case .exchange, .meet:
      try await exchange(copy, device, random)
      if step.act == .meet, !device.isOff { try copy.commit() }
    case .refresh: try await refresh(device)
    case .rollback: try copy.rollBack()
    case .compact: try copy.compact()
    case .reopen:
      try copy.close()
      _ = try copy.open(afterCrash: false)
    case .restart: try restart(device)
    case .check: try copy.check()
    case .deliver: folder.deliver(to: device.number, random)
    case .wait: pass(Int64(random.below(30 * 86_400_000)))
    case .join: if devices.count < 8 { try addDevice() }
    case .backup:
      device.backup = SimulatedDevice.Backup(
        disk: device.disk.snapshot(), copies: device.copies.map(\.memory))
      if random.below(3) == 0 { folder.keep() }
    default: break
    }
  }

  func restart(_ device: SimulatedDevice) throws {
    if device.rounds > 0 { return }
    for copy in device.copies { try copy.close() }
    do { try device.manager.shutDown() } catch {
      try device.copies[0].excuse(error, "shutDown")
    }
    device.start()
    for copy in device.copies { _ = try copy.open(afterCrash: false) }
  }

  func exchange(
    _ copy: SimulatedCopy, _ device: SimulatedDevice, _ random: SeededRandom
  ) async throws {
    guard let datastore = copy.datastore, !copy.isExchanging else { return }
    if random.below(3) > 0 { folder.deliver(to: device.number, random) }
    device.rounds += 1
    copy.isExchanging = true
    defer {
      device.rounds -= 1
      copy.isExchanging = false
    }
    do {
      let report = try await datastore.exchange()
      copy.countExchange()
      note(
        "  published \(report.publishedDeltas), fetched \(report.fetchedDeltas), waiting "
          + "\(report.waiting.count), problems \(report.problems.count)")
    } catch {
      note("  \(error)")
      // A device in the middle of whose round the app closed it, too.
      if copy.datastore !== datastore { return }
      if error.code == .closed { return }
      if folder.troubles[device.number] > 0 || isPassing(error, device) {
        return copy.count(error, "exchange")
      }
      try copy.excuse(error, "exchange")
    }
  }

  /// The device has files of the folder, and cairn.json is not among them yet: that it waits for.
  /// Or this is the middle of a round that was cancelled: who asks for another one there gets none.
  private func isPassing(_ error: CairnError, _ device: SimulatedDevice) -> Bool {
    if error.code == .cancelled, Task.isCancelled { return true }
    return error.isOfHalfIdentity
      && !folder.names(device.number).contains(FileName.folderIdentity)
  }

  private func refresh(_ device: SimulatedDevice) async throws {
    if device.isRefreshing { return }
    device.rounds += 1
    device.isRefreshing = true
    defer {
      device.rounds -= 1
      device.isRefreshing = false
    }
    do { _ = try await device.manager.refresh() } catch {
      note("  \(error)")
      if folder.troubles[device.number] > 0 || isPassing(error, device) {
        return device.copies[0].count(error, "refresh")
      }
      try device.copies[0].excuse(error, "refresh")
    }
  }

  // MARK: the middle of a round

  func plan(_ step: SimulationStep, in device: Int, after countdown: Int) {
    guard let act = step.inner else { return }
    inner.append(
      (
        device, countdown,
        SimulationStep(act: act, device: step.innerDevice, seed: step.seed &+ 1)
      ))
  }

  func forgetPlans() { inner = [] }

  /// Before a request of a device: what others do meanwhile.
  private func middle(of device: Int) async {
    guard depth < 3, failure == nil,
      let index = inner.firstIndex(where: { $0.device == device })
    else { return }
    if inner[index].countdown > 0 {
      inner[index].countdown -= 1
      return
    }
    let step = inner.remove(at: index).step
    took(.interleave)
    depth += 1
    defer { depth -= 1 }
    do { try await perform(step) } catch { failure = failure ?? error }
  }

  // MARK: what devices put into the folder

  private func written(_ device: Int, _ path: String, _ bytes: [UInt8]) throws {
    try FolderGrammar.check(path)
    guard path.hasSuffix(".seg") else { return }
    for copy in devices[device].copies where path.hasPrefix("p-\(copy.id)/") {
      histories[copy.index].mayFork = folder.hasTwins
      let last = try histories[copy.index].add(bytes, path, copy.identity)
      copy.notePublished(last)
    }
  }

  /// It is in the folder as a whole. A head comes after all that it names.
  private func stored(_ device: Int, _ path: String) {
    guard path.hasSuffix(".head") else { return }
    for copy in devices[device].copies where path.hasPrefix("p-\(copy.id)/") { copy.noteListed() }
  }

  // MARK: crashes

  /// Devices that lost their power start again, with what is left on their disks.
  private func settleCrashes(_ seed: UInt64) throws {
    for device in devices where device.isOff && device.rounds == 0 {
      try recover(device, SeededRandom(seed &+ 99))
    }
  }

  func recover(_ device: SimulatedDevice, _ random: SeededRandom) throws {
    let model: CrashModel =
      switch random.below(5) {
      case 0: .nothingUnsynced
      case 1: .everything
      case 2: .subset(random.next())
      default: .torn(random.next())
      }
    note("  device \(device.number) starts again: \(model)")
    took(device.wasCutBetweenSteps ? .crash : .powerCut)
    for copy in device.copies { copy.datastore = nil }
    let ended = device.manager
    device.start(on: device.disk.crash(keep: model))
    // What is open keeps itself until it is closed. Its disk has no power: it can't do anything.
    do { try ended.shutDown() } catch {}
    for copy in device.copies {
      if try !copy.open(afterCrash: true), device.isOff {
        // Once more without power, while it was recovering.
        return try recover(device, random)
      }
    }
  }
}
