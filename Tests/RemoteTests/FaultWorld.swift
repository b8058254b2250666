import CairnDisk
import CairnLog
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import CairnS3
@testable import TestServers

/// Two to five devices around a server behind a proxy that spoils requests and answers, by a seed.
struct FaultWorld {
  /// What happens to the folder and the devices.
  enum Mishap: CaseIterable {
    /// A file of the folder goes behind everybody's back, loses its end, or rots.
    case vanished, halved, rotten
    /// Of a file only the name is there, or its name and its size.
    case emptied, zeroed
    /// A file that was gone is there again.
    case reappeared
    /// Under a name as engines make them: a file with something else in it, a file once more, or a
    /// file of somebody else.
    case conflicted, duplicated, foreign
    /// All of the folder goes and comes back later, or is as it was some time ago.
    case folderEmptied, folderRolledBack
    /// A device closes and opens again, or stops in the middle of a round.
    case reopened, killed
    /// A device comes back from a backup, or somebody copies it to a new one.
    case restored, copied
    /// A clock goes forward or back by years.
    case clockJumped
    /// A disk is full for a while, fails to write or to read once, or loses its power.
    case diskFilled, diskBroke, readFailed, powerCut
  }

  enum Plan {
    /// A device that lost what it knew could not bring back what a folder lost: not both at once.
    case folder, devices

    var mishaps: [Mishap] {
      switch self {
      case .folder:
        [
          .vanished, .halved, .rotten, .emptied, .zeroed, .reappeared, .conflicted, .duplicated,
          .foreign, .folderEmptied, .folderRolledBack, .reopened, .killed, .clockJumped,
        ]
      case .devices:
        [
          .reopened, .killed, .restored, .copied, .conflicted, .clockJumped, .diskFilled,
          .diskBroke, .readFailed, .powerCut,
        ]
      }
    }
  }

  let plan: Plan
  /// Past the proxy: for what somebody else does to the folder.
  let folder: any Folder
  let random: SeededRandom
  let proxy: FaultProxy
  var devices: [FaultDevice] = []
  /// What somebody else has put into the folder, by path.
  var strangers: [String: [UInt8]] = [:]
  /// What has vanished, by path.
  var gone: [String: [UInt8]] = [:]
  /// The folder as it was some time ago.
  var past: Past?
  /// A device that has a newer version.
  var newer: NewerDevice?
  /// What is to happen next.
  private var deck: [Mishap] = []
  private var taken: [Mishap: Int] = [:]
  private var inserted = 0
  private var largeCount = 0
  /// Files above this go up in parts, where the server can do that.
  private let partBytes: UInt64?
  private var hasWaited = false
  private let open: @Sendable (Machine) throws -> any Folder
  /// Which names the server can have.
  let keeps: @Sendable (String) -> Bool

  static let id = "notes"
  private static let rounds = 8...60
  static let devicesMax = 5
  /// Longer than any test takes.
  private static let retryAfter = 3600

  /// - Parameter partBytes: How large the parts are that a large file has on this server.
  static func run(
    _ plan: Plan, _ address: String, _ port: UInt16, seed: UInt64, partBytes: UInt64? = nil,
    keeps: @escaping @Sendable (String) -> Bool = { _ in true },
    kind: @escaping @Sendable (Machine) -> FolderKind
  ) async throws {
    let proxy = try FaultProxy(to: port, retryAfter: retryAfter)
    let spoilt = address.replacingOccurrences(of: ":\(port)", with: ":\(proxy.server.port)")
    var world = FaultWorld(
      plan: plan, folder: try kind(.real).open(address), random: SeededRandom(seed), proxy: proxy,
      partBytes: partBytes, keeps: keeps
    ) { machine in
      let folder = try kind(machine).open(spoilt)
      guard let partBytes, var s3 = folder as? S3Folder else { return folder }
      s3.partBytes = partBytes
      return s3
    }
    try await world.addNewer(seed) { try kind($0).open(address) }
    // One place is left for a copy, at least.
    for number in 0..<(2 + Int(seed % 3)) { try world.join("device-\(number)") }
    proxy.spoil(every: 5, seed: seed, with: FaultProxy.Fault.allCases)
    var round = 0
    while round < rounds.lowerBound || round < rounds.upperBound && !world.missing.isEmpty {
      for index in world.devices.indices { try await world.step(index) }
      round += 1
    }
    proxy.heal()
    print("\(plan), seed \(seed), \(round) rounds: \(world.tally)")
    #expect(world.missing.isEmpty, "seed \(seed): \(world.missing)")
    try await world.settle()
    try await world.deleteMany(seed)
    try await world.update()
    for device in world.devices { try device.datastore.close() }
  }

  private init(
    plan: Plan, folder: any Folder, random: SeededRandom, proxy: FaultProxy,
    partBytes: UInt64?, keeps: @escaping @Sendable (String) -> Bool,
    open: @escaping @Sendable (Machine) throws -> any Folder
  ) {
    (self.plan, self.folder, self.random, self.proxy) = (plan, folder, random, proxy)
    (self.partBytes, self.keeps, self.open) = (partBytes, keeps, open)
  }

  /// What has not happened yet.
  private var missing: [String] {
    plan.mishaps.filter { taken[$0] == nil }.map { "\($0)" }
      + FaultProxy.Fault.allCases.filter { !proxy.faultsTaken.contains($0) }.map { "\($0)" }
      + (hasWaited ? [] : ["wait"]) + (largeCount > 0 ? [] : ["a large content"])
      + (partBytes == nil || proxy.spoiltParts > 0 ? [] : ["a fault while a part went up"])
  }

  private var tally: String {
    let faults = proxy.faultsTaken
    let words =
      plan.mishaps.map { "\($0) \(taken[$0] ?? 0)" }
      + FaultProxy.Fault.allCases.map { fault in "\(fault) \(faults.count { $0 == fault })" }
      + ["spoilt parts \(proxy.spoiltParts)"]
    return words.joined(separator: ", ")
  }

  /// Small sizes, so that a few records make files that are merged, and snapshots.
  var options: Options {
    var options = Options()
    options.massDeleteLimit?.records = FaultWorld.bulkCount / 2
    options.massDeleteLimit?.share = 0
    options.tuning.smallFileRun = 4
    options.tuning.smallFileBytes = 4096
    options.tuning.compactFrom = 8192
    options.tuning.replayBytes = 4096
    options.tuning.compactsInline = true
    return options
  }

  mutating func join(_ name: String, on disk: MemoryDisk? = nil) throws {
    devices.append(
      try FaultDevice(
        name, random.next(), disk: disk, id: FaultWorld.id, options: options, folder: open))
  }

  private mutating func step(_ index: Int) async throws {
    devices[index].clock.advance(by: 1000 + Int64(random.below(60_000)))
    try edit(index)
    try await exchange(index)
    if random.below(4) == 0 { try devices[index].backUp() }
    if plan == .folder, random.below(6) == 0 { try await keepPast() }
    guard random.coin() else { return }
    // What was dealt may not be possible for long: what is left is dealt again.
    if deck.count <= 2 { deck += random.shuffled(plan.mishaps.filter { !deck.contains($0) }) }
    guard let place = deck.firstIndex(where: { isPossible($0, index) }) else { return }
    let mishap = deck.remove(at: place)
    if try await happen(mishap, index) { taken[mishap, default: 0] += 1 }
  }

  private mutating func edit(_ index: Int) throws(CairnError) {
    let table = try devices[index].datastore.table("t")
    inserted += 1
    let id = "r\(inserted)"
    var fields: [String: Value] = ["by": .string(devices[index].name)]
    if inserted % 4 == 1 {
      let content = FaultWorld.content(of: id)
      fields["file"] = try devices[index].datastore.attach(content).value
      if content.count > FaultWorld.smallBytes { largeCount += 1 }
    }
    try table.insert(fields: fields, id: RecordID(id))
    let shared = try table.getOrInsert(RecordID("shared-\(random.below(3))")).record
    try shared.set("n", .int(Int64(random.below(1000))))
    try devices[index].datastore.sync()
    devices[index].own.insert(id)
  }

  /// What fails is asked again some other time.
  ///
  /// - Parameter isWell: The disk works: what a round ends with comes from the server.
  mutating func exchange(_ index: Int, isWell: Bool = true) async throws {
    do {
      try await devices[index].datastore.pull()
      if !devices[index].datastore.status.uploading { devices[index].safe = devices[index].own }
    } catch {
      let error = error as? CairnError
      #expect(error?.blamesCaller == false, "\(String(describing: error))")
      let isTold = ["\(FaultWorld.retryAfter) seconds", "left alone"].contains {
        error?.message.contains($0) == true
      }
      if isWell, error?.code == .retryLater, isTold { try await wait(index) }
    }
  }

  /// A server that wants to be left alone is not asked at all until that time has come.
  private mutating func wait(_ index: Int) async throws {
    let (datastore, count) = (devices[index].datastore, proxy.server.count)
    let error = await #expect(throws: CairnError.self) { try await datastore.exchange() }
    #expect(error?.code == .retryLater)
    #expect(proxy.server.count == count)
    hasWaited = true
    proxy.noteWaited()
    devices[index].clock.advance(by: Int64(FaultWorld.retryAfter) * 1000)
  }

  // MARK: mishaps

  private func isPossible(_ mishap: Mishap, _ index: Int) -> Bool {
    switch mishap {
    case .restored: devices[index].backup != nil
    case .copied: devices.count < FaultWorld.devicesMax
    case .folderEmptied: devices.allSatisfy { !$0.safe.isEmpty }
    case .folderRolledBack: past != nil
    default: true
    }
  }

  /// False if it did not come to it.
  private mutating func happen(_ mishap: Mishap, _ index: Int) async throws -> Bool {
    switch mishap {
    case .vanished, .halved, .rotten, .emptied, .zeroed: return try await spoil(mishap)
    case .reappeared: return try await bringBack()
    case .conflicted, .duplicated: return try await copyFile(mishap)
    case .foreign: return try await addForeign()
    case .folderEmptied: try await emptyFolder()
    case .folderRolledBack: try await rollBack()
    case .killed: return try await kill(index)
    case .reopened: try devices[index].restart()
    case .restored: try devices[index].restore()
    case .copied:
      let disk = try devices[index].image()
      try join("twin-\(devices.count)-\(devices[index].name)", on: disk)
    case .clockJumped:
      let days = Int64(random.below(7300)) - 3650
      devices[index].clock.advance(by: days * 86_400_000)
    case .diskFilled, .diskBroke, .readFailed: return try await breakDisk(mishap, index)
    case .powerCut: return try await cutPower(index)
    }
    return true
  }

  /// The device stops in the middle of a round: what is on its disk while a request is under way is
  /// all that there is of it. That request the server has, and none after it.
  private mutating func kill(_ index: Int) async throws -> Bool {
    let (disk, image) = (devices[index].disk, Shared<MemoryDisk?>(nil))
    try edit(index)
    proxy.stop(at: 1 + random.below(4)) { image.value = disk.snapshot() }
    try await exchange(index)
    proxy.stop(at: nil)
    guard let left = image.value else { return false }
    try devices[index].restart(on: left)
    return true
  }

  /// The disk refuses something while the device is at work.
  private mutating func breakDisk(_ mishap: Mishap, _ index: Int) async throws -> Bool {
    let (disk, struck) = (devices[index].disk, Shared(0))
    let first = random.below(8)
    let length = mishap == .diskFilled ? 1 + random.below(8) : 1
    let seen = Shared(0)
    let read = disk.reads + 1 + first
    if mishap == .readFailed {
      disk.failAt(read: read, reason: .io(errno: 5))
    } else {
      disk.intercept { operation in
        let needsRoom = ["write", "create", "reserve space for"].contains(operation.verb)
        if mishap == .diskFilled, !needsRoom { return nil }
        defer { seen.value += 1 }
        guard (first..<(first + length)).contains(seen.value) else { return nil }
        struck.value += 1
        return mishap == .diskFilled ? .noSpace : .io(errno: 5)
      }
    }
    try await work(index)
    let isStruck = mishap == .readFailed ? disk.reads >= read : struck.value > 0
    try devices[index].restart()
    return isStruck
  }

  private mutating func cutPower(_ index: Int) async throws -> Bool {
    let disk = devices[index].disk
    disk.powerOff(before: disk.operations + 1 + random.below(24))
    try await work(index)
    guard disk.isOff else {
      try devices[index].restart()
      return false
    }
    let model: CrashModel = random.coin() ? .torn(random.next()) : .nothingUnsynced
    try devices[index].restart(on: disk.crash(keep: model))
    return true
  }

  /// What a device does while its disk fails: only what it was told is done is done.
  private mutating func work(_ index: Int) async throws {
    do throws(CairnError) { try edit(index) } catch {
      #expect(!error.blamesCaller, "\(error)")
    }
    try await exchange(index, isWell: false)
  }

  // MARK: the end

  private mutating func settle() async throws {
    try insertMany()
    for _ in 0..<3 {
      for device in devices {
        _ = try await device.datastore.repairFolder()
        try device.datastore.sync(allowingMassDelete: true)
      }
    }
    try await meet(8)
    for (path, bytes) in strangers.sorted(by: { $0.key < $1.key }) {
      #expect(try await self.bytes(path) == bytes, "\(path) is not ours to touch")
    }
  }

  /// All devices have the same, all that was acknowledged, and nothing to wait for.
  func meet(_ rounds: Int) async throws {
    for _ in 0..<rounds { for device in devices { try await device.datastore.pull() } }
    let contents = try devices[0].datastore.contents()
    let ids = try devices[0].datastore.ids()
    for device in devices {
      #expect(try device.datastore.contents() == contents, "\(device.name)")
      #expect(device.own.subtracting(ids).isEmpty, "of \(device.name)")
      let report = try await device.datastore.exchange()
      // Somebody else's copies are what they are.
      let own = report.problems.filter { strangers["p-\(FaultWorld.id)/\($0.name)"] == nil }
      #expect(own.isEmpty && report.missingAttachments == 0, "\(device.name): \(report)")
      #expect(Set(report.waiting.map(\.name)) == newerNames, "\(device.name): \(report.waiting)")
      try await expectWhole(device)
    }
  }
}
