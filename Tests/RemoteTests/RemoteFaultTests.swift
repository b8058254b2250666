import CairnDisk
import CairnLog
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import TestServers

/// Devices and folders go wrong while the server does, too: whatever was committed and not taken
/// back with a backup is everywhere in the end.
@Suite struct RemoteFaultTests {
  typealias Kind = RemoteExchangeTests.Kind
  private static let kinds = [Kind.all[0], Kind.all[3], Kind.all[4]]

  @Test(arguments: kinds, [UInt64](1...2))
  func `files of the folder vanish and are damaged`(_ kind: Kind, _ seed: UInt64) async throws {
    let (server, location, _) = try kind.make()
    try await World.run(.folder, location, server.port, keeping: server, seed: seed)
  }

  @Test(arguments: kinds, [UInt64](4...5))
  func `devices crash, are copied and come back from backups`(
    _ kind: Kind, _ seed: UInt64
  ) async throws {
    let (server, location, _) = try kind.make()
    try await World.run(.devices, location, server.port, keeping: server, seed: seed)
  }
}

/// The same on the servers that Tools/servers has started.
@Suite(.enabled(if: !Given.both.isEmpty)) struct GivenFaultTests {
  @Test(arguments: Given.both, [UInt64](7...8))
  func `folders and devices go wrong`(_ given: Given, _ seed: UInt64) async throws {
    for faults in [World.Faults.folder, .devices] {
      let location = FolderLocation.server(ServerFolder(given.fresh(), kind: given.kind()))
      try await World.run(faults, location, given.port, seed: seed)
    }
  }
}

/// Two to five devices around a server behind a proxy that spoils requests, by a seed.
private struct World {
  enum Faults { case folder, devices }

  struct Device {
    var name: String
    var datastore: Datastore
    /// Ids that it has inserted and that no backup has taken back.
    var own: Set<String> = []
    /// Those that it had when it was last backed up, or had published since.
    var safe: Set<String> = []
  }

  let bench: RemoteBench
  /// Past the proxy: for what somebody else does to the folder.
  let folder: any Folder
  let random: SeededRandom
  let proxy: FaultProxy
  var devices: [Device] = []
  /// Faults, so that a run without any is none.
  var taken = 0
  private var inserted = 0

  static func run(
    _ faults: Faults, _ location: FolderLocation, _ port: UInt16,
    keeping server: (any Sendable)? = nil, seed: UInt64
  ) async throws {
    let proxy = try FaultProxy(to: port)
    let bench = try RemoteBench(
      location.through(proxy.server.port, insteadOf: port), keeping: server)
    let folder = try location.opener([], machine: .real)()
    let random = SeededRandom(seed)
    var world = World(bench: bench, folder: folder, random: random, proxy: proxy)
    for number in 0..<(2 + Int(seed % 4)) { try world.join("device-\(number)") }
    proxy.spoil(every: 6, seed: seed)
    for _ in 0..<10 {
      for index in world.devices.indices { try await world.step(index, faults) }
    }
    proxy.heal()
    #expect(world.taken > 0)
    #expect(!proxy.faultsTaken.isEmpty)
    try await world.settle()
  }

  private mutating func join(_ name: String) throws {
    devices.append(Device(name: name, datastore: try bench.open(name)))
  }

  private mutating func step(_ index: Int, _ faults: Faults) async throws {
    try edit(index)
    await exchange(index)
    guard random.below(3) == 0 else { return }
    switch faults {
    case .folder: try await spoilFolder()
    case .devices: try spoilDevice(index)
    }
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
  private mutating func exchange(_ index: Int) async {
    do {
      try await devices[index].datastore.pull()
      devices[index].safe = devices[index].own
    } catch {
      #expect((error as? CairnError)?.isProgrammingError == false, "\(error)")
    }
  }

  // MARK: the folder

  /// A file goes, or has another content, behind everybody's back.
  private mutating func spoilFolder() async throws {
    let directory = "p-" + bench.id
    let files = try await folder.list(directory).filter { !FileName.isTemporary($0.name) }
    guard !files.isEmpty else { return }
    let path = directory + "/" + files[random.below(files.count)].name
    guard var bytes = try await folder.read(path, limit: 1 << 24), !bytes.isEmpty else { return }
    switch random.below(3) {
    case 0: try await folder.remove(path)
    case 1: _ = try await folder.write(path, Array(bytes.prefix(bytes.count / 2)))
    default:
      bytes[random.below(bytes.count)] ^= 0x40
      _ = try await folder.write(path, bytes)
    }
    taken += 1
  }

  // MARK: devices

  private mutating func spoilDevice(_ index: Int) throws {
    let name = devices[index].name
    let root = bench.place.path + "/" + name
    let backup = bench.place.path + "/backup-" + name
    let files = FileManager.default
    try devices[index].datastore.close()
    switch random.below(4) {
    case 0 where devices.count < 5:
      // Somebody copies a device to a new one.
      let twin = "twin-\(devices.count)-\(name)"
      try files.copyItem(atPath: root, toPath: bench.place.path + "/" + twin)
      try join(twin)
      taken += 1
    case 1 where !files.fileExists(atPath: backup):
      try files.copyItem(atPath: root, toPath: backup)
    case 2 where files.fileExists(atPath: backup):
      // What was not published since is gone: nobody else ever saw it.
      try files.removeItem(atPath: root)
      try files.moveItem(atPath: backup, toPath: root)
      devices[index].own = devices[index].safe
      taken += 1
    default: taken += 1
    }
    devices[index].datastore = try bench.open(name)
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
