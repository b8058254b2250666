import Cairn
import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// A device of a simulation: a disk, a clock, a source of random numbers, and the real code on it.
final class SimulatedDevice: @unchecked Sendable {
  let number: Int
  let clock: SimulatedClock
  let random: SeededRandom
  let faults = SimulatedDiskFaults()
  let folder: MemoryFolder
  let profile: SimulationProfile
  private(set) var disk: MemoryDisk
  private(set) var manager: DatastoreManager
  private(set) var copies: [SimulatedCopy] = []
  /// By how much its clock is wrong.
  private(set) var skew: Int64 = 0
  /// Since it was set the last time.
  private var isSkewNew = false
  /// Rounds with the folder that are under way.
  var rounds = 0
  var isRefreshing = false
  var backup: Backup?

  /// The number of its installation, as its disk has it; nil before it has said anything.
  var installation: UInt64? {
    guard let bytes = disk.bytes(SimulatedDevice.root + "/" + FileName.installation),
      bytes.count >= 40
    else { return nil }
    // After the folder's identity.
    let number = bytes.u64(at: 32)
    return number == 0 ? nil : number
  }

  struct Backup {
    var disk: MemoryDisk
    var copies: [SimulatedCopy.Memory]
  }

  static let root = "/app"

  /// Where what happens is written down.
  var tell: ((String) -> Void)?

  func note(_ text: @autoclosure () -> String) {
    if let tell { tell(text()) }
  }

  /// What the naive reference says of a datastore that has seen so much; nil if not all of that is
  /// known.
  var reference: ((Int, VersionVector) -> SimulatedContent?)?
  /// Called when deletes of others wait for consent.
  var onHeld: (() -> Void)?

  /// How many marks it has made.
  var marks = 0
  var makesMarks = true

  init(
    number: Int, profile: SimulationProfile, folder: MemoryFolder, time: Int64,
    disk given: MemoryDisk? = nil
  ) {
    self.number = number
    self.profile = profile
    self.folder = folder
    clock = SimulatedClock(time)
    random = SeededRandom(profile.seed &* 1_000_003 &+ UInt64(number))
    disk = given ?? MemoryDisk(clock: clock)
    manager = SimulatedDevice.manager(number, profile, folder, disk, clock, random)
    copies = (0..<profile.datastores).map { SimulatedCopy(["notes", "work"][$0], $0, self) }
    faults.install(on: disk)
  }

  private static func manager(
    _ number: Int, _ profile: SimulationProfile, _ folder: MemoryFolder, _ disk: MemoryDisk,
    _ clock: SimulatedClock, _ random: SeededRandom
  ) -> DatastoreManager {
    DatastoreManager(
      root: root,
      account: Account(user: "user\(number)", folder: .directory("/nowhere")),
      folder: { MemoryFolderClient(folder: folder, device: number) },
      options: Options(profile),
      machine: Machine(disk: disk, clock: clock, random: random))
  }

  /// Another process on the same files.
  static func manager(like device: SimulatedDevice) -> DatastoreManager {
    manager(
      device.number, device.profile, device.folder, device.disk, device.clock, device.random)
  }

  /// From the next time on that it is set its clock is wrong by so much.
  func skewClock(by milliseconds: Int64) {
    isSkewNew = isSkewNew || milliseconds != skew
    skew = milliseconds
  }

  func setClock(_ time: Int64) {
    clock.set(time + skew, isJump: isSkewNew)
    isSkewNew = false
  }

  var isOff: Bool { disk.isOff }
  /// It was cut off between two steps, and not by its disk within one.
  private(set) var wasCutBetweenSteps = false

  /// The same process, or the next one, starts anew on this disk.
  func start(on disk: MemoryDisk) {
    if disk !== self.disk { faults.leave(self.disk) }
    wasCutBetweenSteps = false
    self.disk = disk
    faults.install(on: disk)
    manager = SimulatedDevice.manager(number, profile, folder, disk, clock, random)
  }

  func start() { start(on: disk) }

  /// From the next step of the disk on nothing works.
  func cutPower() {
    wasCutBetweenSteps = !isOff
    disk.powerOff(before: disk.operations + 1)
    // Whatever it is, it is the first that fails.
    _ = try? disk.syncDirectory("/")
  }
}

extension Options {
  init(_ profile: SimulationProfile) {
    self.init()
    durability = [.full, .periodic(seconds: 600), .none][profile.durability]
    cacheBytes = profile.cacheBytes
    graceSeconds = Double(profile.graceSeconds)
    compactsAutomatically = profile.compactsItself
    massDeleteLimit = MassDeleteLimit()
    massDeleteLimit?.records = profile.massDelete
    if profile.isTight {
      limits = Limits(
        recordBytes: 1500, recordCount: 15, datastoreBytes: 12_000, deltaBytes: 2500)
    }
    tuning.segmentBytes = profile.segmentBytes
    tuning.compactFrom = profile.compactFrom
    tuning.replayBytes = profile.compactFrom / 2
    tuning.compactsInline = true
    tuning.indexRecords = profile.indexRecords
    tuning.packBytes = profile.packBytes
    tuning.smallFileBytes = UInt64(profile.smallFileBytes)
    tuning.smallFileRun = 4
  }
}
