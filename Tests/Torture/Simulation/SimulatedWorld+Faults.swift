import Cairn
import CairnBytes
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

extension SimulatedWorld {
  func fault(
    _ step: SimulationStep, _ device: SimulatedDevice, _ random: SeededRandom
  ) async throws {
    switch step.act {
    case .interleave: plan(step, in: device.number, after: random.below(8))
    case .crash: device.cutPower()
    case .clockJump:
      let years = 365 * 86_400_000 as Int64
      device.skewClock(by: (Int64(random.below(101)) - 50) * years / 7)
    case .twoOpens: try openTwice(device, random)
    case .massDelete:
      let copy = device.copies[random.below(device.copies.count)]
      if !device.isOff { try copy.deleteMany(random) }
    case .powerCut, .syncError, .writeError, .nameError, .readError, .diskFull:
      if !device.isOff { device.faults.arm(step.act, on: device.disk, random) }
    case .folderEmptied: empty(device, random)
    case .placeholder, .vanish, .reappear, .damage, .newerFormat, .conflictedCopy, .duplicate,
      .junk:
      folder.spoil(step.act, device.number, random)
    case .clone:
      guard devices.count < 8, !device.isOff else { return }
      try addTwin(of: device)
      folder.hasTwins = true
      took(.clone)
    case .restore: try restore(device)
    case .folderRolledBack: rollBackFolder(device)
    case .retire, .forget: try changeMembership(step.act, device, random)
    default:
      folder.armed[device.number].append(
        MemoryFolder.Armed(
          act: step.act, countdown: random.below(6), random: SeededRandom(random.next())))
    }
  }

  /// The disk as it was at the last backup. What was only here since is gone; what was published
  /// since has to come back.
  private func restore(_ device: SimulatedDevice) throws {
    guard let backup = device.backup, device.rounds == 0 else { return }
    let isOlder = backup.disk.imageHash() != device.disk.imageHash()
    if let name = device.installation { leftInstallations.insert(name) }
    for copy in device.copies { copy.datastore = nil }
    // What a restore has written it has synced.
    device.start(on: backup.disk.crash(keep: .everything))
    for (copy, memory) in zip(device.copies, backup.copies) {
      let left = copy.memory.device
      let listed = copy.memory.listed
      let safe = copy.memory.marks.filter { mark in
        mark.dot.device != copy.memory.device || mark.dot.sequence <= listed
      }.filter { _ in !folder.hasRolledBack }
      copy.memory = memory
      copy.memory.awaited.formUnion(Set(safe.map(\.id)).subtracting(memory.marks.map(\.id)))
      copy.memory.marks += safe
      let isOpen = try copy.open(afterCrash: true, keepsMarks: true)
      noteLeft(left, by: copy)
      guard isOpen else { return }
    }
    folder.hasTwins = true
    if isOlder { took(.restore) }
  }

  /// A copy was taken back to before it had a name. A copy of the device that goes on under it, or
  /// one that is taken back to it again, is there to write its head.
  private func noteLeft(_ left: DeviceID?, by copy: SimulatedCopy) {
    if let name = copy.memory.device { leftNames[copy.index].remove(name) }
    guard let left, !devices.contains(where: { $0.copies[copy.index].memory.device == left }) else {
      return
    }
    leftNames[copy.index].insert(left)
  }

  /// What a device sees of the folder is what it saw some time ago.
  private func rollBackFolder(_ device: SimulatedDevice) {
    guard let bytes = folder.keptIdentity,
      let identity = try? FolderIdentity.decode(bytes, path: FileName.folderIdentity),
      devices.allSatisfy({ belongs($0, to: identity) }), folder.rollBack(device.number)
    else { return }
    folder.hasTwins = true
    folder.hasRolledBack = true
    // What a restored device had not fetched yet may be gone with the folder's newer state: its own
    // numbers are free then, and of two deltas of one name the older one is left out.
    for copy in devices.flatMap(\.copies) {
      // One that is off has at least what a power cut leaves.
      let vector = copy.datastore?.core.vector ?? copy.memory.states[0].vector
      let awaited = copy.memory.awaited
      let shown = copy.memory.shown.tables["marks"] ?? [:]
      copy.memory.marks.removeAll {
        // A commit whose sync then failed may have taken the number already.
        awaited.contains($0.id) && (!vector.contains($0.dot) || shown[$0.id] == nil)
      }
    }
  }

  /// Of two devices that made the folder at once one goes on with an identity that has lost, until
  /// it is asked the next time. If the folder has gone back by then it is for that device what a
  /// folder is that was left for another one: it has another identity, and less than was published
  /// since. That is refused, and rightly so.
  private func belongs(_ device: SimulatedDevice, to identity: UInt128) -> Bool {
    let names = ["/" + FileName.publication, "/" + FileName.installation]
    return device.disk.paths().filter { path in names.contains { path.hasSuffix($0) } }
      .allSatisfy { path in
        // Both say it first.
        guard let bytes = device.disk.bytes(path), bytes.count >= 32 else { return true }
        let known = UInt128(bytes.u64(at: 24)) << 64 | UInt128(bytes.u64(at: 16))
        return known == 0 || known == identity
      }
  }

  /// Somebody retires a device that this one knows, or asks to forget.
  private func changeMembership(
    _ act: SimulationStep.Act, _ device: SimulatedDevice, _ random: SeededRandom
  ) throws {
    let copy = device.copies[random.below(device.copies.count)]
    guard let datastore = copy.datastore, !device.isOff else { return }
    let store = datastore.core
    let others = store.vector.entries.map(\.device).filter { $0 != store.device }
    do {
      if act == .retire {
        guard !others.isEmpty else { return }
        try datastore.retireDevice(
          "\(others[random.below(others.count)])", givingUp: true)
      } else {
        try datastore.askToForget()
      }
    } catch { return try copy.excuse(error, act.rawValue) }
    // Who is left out takes another name.
    folder.hasTwins = true
    took(act)
  }

  /// Somebody else wants the same datastore.
  private func openTwice(_ device: SimulatedDevice, _ random: SeededRandom) throws {
    let copy = device.copies[random.below(device.copies.count)]
    guard copy.datastore != nil, !device.isOff else { return }
    let other = SimulatedDevice.manager(like: device)
    let before = copy.faultCount
    do {
      let manager = random.coin() ? device.manager : other
      _ = try manager.openOrCreateDatastore(copy.id)
      throw TortureFailure("device \(device.number) has \(copy.id) open twice")
    } catch let error as CairnError {
      try copy.demand(
        error.code == .alreadyOpen || copy.faultCount != before || device.isOff,
        "the second open fails with \(error)")
      if error.code == .alreadyOpen { took(.twoOpens) }
    }
  }

  /// The folder seems to be empty for a while: a volume that is not mounted. A device that has
  /// never seen it would take it for a new one, and rightly so.
  private func empty(_ device: SimulatedDevice, _ random: SeededRandom) {
    let number = folder.number(of: device.number)
    let viewers = profile.isShared ? devices : [device]
    for viewer in viewers {
      for copy in viewer.copies {
        guard let store = copy.datastore?.core,
          folder.views[number]["p-\(copy.id)/\(store.device).head"] != nil
        else { return }
      }
    }
    folder.views[number].emptyFor = 1 + random.below(12)
    folder.views[number].isEmptyMet = false
  }
}
