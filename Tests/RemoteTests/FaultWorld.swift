import CairnDisk
import CairnLog
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import TestServers

/// Two to five devices around a server behind a proxy that spoils requests, by a seed.
struct FaultWorld {
  /// What happens to the folder and the devices.
  enum Mishap: CaseIterable {
    /// A file of the folder goes behind everybody's back, loses its end, or rots.
    case vanished, halved, rotten
    /// A device closes and opens again, or stops in the middle of a round.
    case reopened, killed
    /// A device comes back from a backup, or somebody copies it to a new one.
    case restored, copied
  }

  enum Plan {
    /// A device that lost what it knew could not bring back what a folder lost: not both at once.
    case folder, devices

    var mishaps: [Mishap] {
      switch self {
      case .folder: [.vanished, .halved, .rotten, .reopened, .killed]
      case .devices: [.reopened, .killed, .restored, .copied]
      }
    }
  }

  struct Device {
    var name: String
    var datastore: Datastore
    /// Ids that it has inserted and that no backup has taken back.
    var own: Set<String> = []
    /// Those that it had published when it was last asked.
    var safe: Set<String> = []
  }

  let plan: Plan
  let bench: RemoteBench
  /// Past the proxy: for what somebody else does to the folder.
  let folder: any Folder
  let random: SeededRandom
  let proxy: FaultProxy
  var devices: [Device] = []
  /// What is to happen next.
  private var deck: [Mishap] = []
  private var taken: [Mishap: Int] = [:]
  private var inserted = 0
  private var hasWaited = false
  private let files = FileManager.default

  private let address: String
  private let makeKind: () -> FolderKind
  private var kind: FolderKind

  private static let rounds = 10...60
  private static let devicesMax = 5
  /// Longer than any test takes.
  private static let retryAfter = 3600

  static func run(
    _ plan: Plan, _ address: String, _ port: UInt16, seed: UInt64,
    keeping server: (any Sendable)? = nil, kind: @escaping () -> FolderKind
  ) async throws {
    let proxy = try FaultProxy(to: port, retryAfter: retryAfter)
    let spoilt = address.replacingOccurrences(of: ":\(port)", with: ":\(proxy.server.port)")
    let bench = try RemoteBench(.server(ServerFolder(spoilt, kind: kind())), keeping: server)
    var world = FaultWorld(
      plan: plan, bench: bench, folder: try kind().open(address), random: SeededRandom(seed),
      proxy: proxy, address: spoilt, makeKind: kind)
    // One place is left for a copy, at least.
    for number in 0..<(2 + Int(seed % 3)) { try world.join("device-\(number)") }
    proxy.spoil(every: 6, seed: seed)
    var round = 0
    while round < rounds.lowerBound || round < rounds.upperBound && !world.missing.isEmpty {
      for index in world.devices.indices { try await world.step(index) }
      round += 1
    }
    proxy.heal()
    print("\(plan), seed \(seed), \(round) rounds: \(world.tally)")
    #expect(world.missing.isEmpty, "seed \(seed)")
    #expect(world.hasWaited, "seed \(seed)")
    try await world.settle()
  }

  private init(
    plan: Plan, bench: RemoteBench, folder: any Folder, random: SeededRandom, proxy: FaultProxy,
    address: String, makeKind: @escaping () -> FolderKind
  ) {
    (self.plan, self.bench, self.folder, self.random, self.proxy) =
      (plan, bench, folder, random, proxy)
    (self.address, self.makeKind, kind) = (address, makeKind, makeKind())
  }

  private func open(_ name: String) throws -> Datastore {
    let folder = FolderLocation.server(ServerFolder(address, kind: kind))
    return try DatastoreManager(
      root: bench.place.path + "/" + name, account: Account(user: "ann", folder: folder),
      options: bench.options
    ).openOrCreateDatastore(bench.id)
  }

  /// What has not happened yet.
  private var missing: [String] {
    plan.mishaps.filter { taken[$0] == nil }.map { "\($0)" }
      + FaultProxy.Fault.allCases.filter { !proxy.faultsTaken.contains($0) }.map { "\($0)" }
  }

  private var tally: String {
    let faults = proxy.faultsTaken
    let words =
      plan.mishaps.map { "\($0) \(taken[$0] ?? 0)" }
      + FaultProxy.Fault.allCases.map { fault in "\(fault) \(faults.count { $0 == fault })" }
    return words.joined(separator: ", ")
  }

  private mutating func join(_ name: String) throws {
    devices.append(Device(name: name, datastore: try open(name)))
  }

  private mutating func step(_ index: Int) async throws {
    try edit(index)
    try await exchange(index)
    if random.below(4) == 0 { try backUp(index) }
    guard random.below(3) == 0 else { return }
    if deck.isEmpty { deck = random.shuffled(plan.mishaps) }
    // There it will not be possible any more, and nothing else would ever be dealt.
    if devices.count >= Self.devicesMax { deck.removeAll { $0 == .copied } }
    guard let place = deck.firstIndex(where: { isPossible($0, index) }) else { return }
    let mishap = deck.remove(at: place)
    if try await happen(mishap, index) { taken[mishap, default: 0] += 1 }
  }

  private mutating func edit(_ index: Int) throws {
    let table = try devices[index].datastore.table("t")
    inserted += 1
    let id = "r\(inserted)"
    try table.insert(["by": .string(devices[index].name)], id: RecordID(id))
    let shared = try table.getOrInsert(RecordID("shared-\(random.below(3))")).record
    try shared.set("n", .int(Int64(random.below(1000))))
    try devices[index].datastore.sync()
    devices[index].own.insert(id)
  }

  /// What fails is asked again some other time.
  private mutating func exchange(_ index: Int) async throws {
    do {
      try await devices[index].datastore.pull()
      devices[index].safe = devices[index].own
    } catch {
      let error = error as? CairnError
      #expect(error?.isProgrammingError == false, "\(String(describing: error))")
      if error?.code == .retryLater { try await wait(index) }
    }
  }

  /// A server that wants to be left alone is not asked at all. What it said is known as long as the
  /// process lives: then the devices begin a new one.
  private mutating func wait(_ index: Int) async throws {
    guard !hasWaited, proxy.faultsTaken.contains(.tooMany) else { return }
    hasWaited = true
    let datastore = devices[index].datastore
    let count = proxy.server.count
    let error = await #expect(throws: CairnError.self) { try await datastore.exchange() }
    #expect(error?.code == .retryLater)
    #expect(proxy.server.count == count)
    kind = makeKind()
    for other in devices.indices {
      try devices[other].datastore.close()
      devices[other].datastore = try open(devices[other].name)
    }
  }

  // MARK: mishaps

  private func isPossible(_ mishap: Mishap, _ index: Int) -> Bool {
    switch mishap {
    case .restored: files.fileExists(atPath: backup(index))
    case .copied: devices.count < Self.devicesMax
    default: true
    }
  }

  /// False if it did not come to it.
  private mutating func happen(_ mishap: Mishap, _ index: Int) async throws -> Bool {
    switch mishap {
    case .vanished, .halved, .rotten: return try await spoilFolder(mishap)
    case .killed: return try await kill(index)
    case .reopened: try devices[index].datastore.close()
    case .restored: try restore(index)
    case .copied: try copy(index)
    }
    devices[index].datastore = try open(devices[index].name)
    return true
  }

  private func spoilFolder(_ mishap: Mishap) async throws -> Bool {
    let directory = "p-" + bench.id
    let files = try await folder.list(directory).filter { !FileName.isTemporary($0.name) }
    guard !files.isEmpty else { return false }
    let path = directory + "/" + files[random.below(files.count)].name
    guard var bytes = try await folder.read(path, limit: 1 << 24), !bytes.isEmpty else {
      return false
    }
    switch mishap {
    case .vanished: try await folder.remove(path)
    case .halved: _ = try await folder.write(path, Array(bytes.prefix(bytes.count / 2)))
    default:
      bytes[random.below(bytes.count)] ^= 0x40
      _ = try await folder.write(path, bytes)
    }
    return true
  }

  private func root(_ index: Int) -> String { bench.place.path + "/" + devices[index].name }
  private func backup(_ index: Int) -> String {
    bench.place.path + "/backup-" + devices[index].name
  }

  private mutating func backUp(_ index: Int) throws {
    guard !files.fileExists(atPath: backup(index)) else { return }
    try devices[index].datastore.close()
    try files.copyItem(atPath: root(index), toPath: backup(index))
    devices[index].datastore = try open(devices[index].name)
  }

  /// What was not published since is gone: nobody else ever saw it.
  private mutating func restore(_ index: Int) throws {
    try devices[index].datastore.close()
    try files.removeItem(atPath: root(index))
    try files.moveItem(atPath: backup(index), toPath: root(index))
    devices[index].own = devices[index].safe
  }

  /// Somebody copies a device to a new one.
  private mutating func copy(_ index: Int) throws {
    try devices[index].datastore.close()
    let twin = "twin-\(devices.count)-\(devices[index].name)"
    try files.copyItem(atPath: root(index), toPath: bench.place.path + "/" + twin)
    try join(twin)
  }

  /// The device stops in the middle of a round: what is on its disk while a request is under way is
  /// all that there is of it. That request the server has, and none after it.
  private mutating func kill(_ index: Int) async throws -> Bool {
    let (root, image) = (self.root(index), bench.place.path + "/image")
    let part = image + ".part"
    if files.fileExists(atPath: part) { try files.removeItem(atPath: part) }
    try edit(index)
    proxy.stop(at: 1 + random.below(4)) {
      // A copy that fails half-way is none, and then nothing has happened.
      let files = FileManager.default
      guard (try? files.copyItem(atPath: root, toPath: part)) != nil else { return }
      try? files.moveItem(atPath: part, toPath: image)
    }
    try await exchange(index)
    proxy.stop(at: nil)
    guard files.fileExists(atPath: image) else { return false }
    try devices[index].datastore.close()
    try files.removeItem(atPath: root)
    try files.moveItem(atPath: image, toPath: root)
    devices[index].datastore = try open(devices[index].name)
    return true
  }

  // MARK: the end

  private mutating func settle() async throws {
    for _ in 0..<3 {
      for device in devices {
        _ = try await device.datastore.repairFolder()
        try device.datastore.sync(allowingMassDelete: true)
      }
    }
    for _ in 0..<8 { for device in devices { try await device.datastore.pull() } }
    let contents = try devices[0].datastore.contents()
    let ids = try devices[0].datastore.ids()
    for device in devices {
      #expect(try device.datastore.contents() == contents, "\(device.name)")
      #expect(device.own.subtracting(ids).isEmpty, "of \(device.name)")
      let report = try await device.datastore.exchange()
      #expect(report.waiting.isEmpty && report.problems.isEmpty, "\(report)")
    }
    for device in devices { try device.datastore.close() }
  }
}
