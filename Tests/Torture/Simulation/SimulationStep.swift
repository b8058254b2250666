/// One thing that happens in a simulation. Its seed decides every detail, so that a step does the
/// same kind of thing whatever other steps there are: that is what makes histories shrink.
struct SimulationStep: Hashable, Sendable {
  /// What happens, and to (or on) which device. Names are those of the ledger and of replay files.
  enum Act: String, CaseIterable, Sendable {
    // Work.
    case edit, commit, exchange, meet, refresh, rollback, compact, reopen, restart, check, deliver
    case wait, join
    /// A sync that takes whatever others delete.
    case consent

    // In the middle of the device's next round another device (or the app on this one) does this.
    case interleave

    // Faults of a device.
    case crash = "crash"
    case powerCut = "power-cut-in-a-step"
    case clockJump = "clock-jump"
    case twoOpens = "two-opens"
    case clone = "clone"
    case restore = "restore-from-backup"
    case backup = "backup"
    /// Somebody deletes most of what is there, and others are asked.
    case massDelete = "mass-delete"

    // Faults of a disk, in a step to come.
    case syncError = "disk-sync-error"
    case writeError = "disk-write-error"
    case nameError = "disk-name-error"
    case readError = "disk-read-error"
    case diskFull = "disk-full"

    // Faults of requests, in a round to come.
    case requestError = "request-error"
    case writePartial = "upload-partial"
    case writePartialError = "upload-partial-with-error"
    case writeStoredError = "upload-stored-with-error"
    case writeLate = "upload-stored-late"
    case sizeMismatch = "size-mismatch"
    case listStale = "listing-stale"
    case listPartial = "listing-partial"
    case readStale = "read-stale"
    case readShort = "read-short"
    case readMissing = "read-missing"
    case readGarbage = "read-garbage"

    // What a folder does to files by itself.
    case arrivalPartial = "arrival-partial"
    case arrivalEmpty = "arrival-zero-length"
    case arrivalLater = "arrival-out-of-order"
    case placeholder = "placeholder"
    case vanish = "vanished"
    case reappear = "reappeared"
    case damage = "damaged"
    case newerFormat = "newer-format"
    case conflictedCopy = "conflicted-copy"
    case duplicate = "duplicate"
    case junk = "junk-file"
    case folderEmptied = "folder-emptied"
    case folderRolledBack = "folder-rolled-back"

    // What people ask of the devices.
    case retire = "retire-device"
    case forget = "ask-to-forget"

    /// Work is what a device does by itself; everything else is a fault.
    var isWork: Bool {
      switch self {
      case .edit, .commit, .exchange, .meet, .refresh, .rollback, .compact, .reopen, .restart,
        .check, .deliver, .wait, .join, .backup, .consent:
        true
      default: false
      }
    }

    static let faults = allCases.filter { !$0.isWork }
    /// Only where the profile says so.
    static let ofMembership: [Self] = [.retire, .forget]
    /// By number, for tables.
    static let numbers = Dictionary(
      uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
  }

  var act: Act
  var device: Int
  var seed: UInt64
  /// For `interleave`.
  var inner: Act?
  var innerDevice = 0
}

extension SimulationStep: CustomStringConvertible {
  var description: String {
    "\(act.rawValue) \(device) \(seed)" + (inner.map { " \($0.rawValue) \(innerDevice)" } ?? "")
  }

  init?(_ line: some StringProtocol) {
    let words = line.split(separator: " ")
    guard words.count == 3 || words.count == 5, let act = Act(rawValue: String(words[0])),
      let device = Int(words[1]), let seed = UInt64(words[2])
    else { return nil }
    self.init(act: act, device: device, seed: seed)
    guard words.count == 5 else { return }
    guard let inner = Act(rawValue: String(words[3])), let number = Int(words[4]) else {
      return nil
    }
    self.inner = inner
    innerDevice = number
  }
}
