import CairnDisk
import Testing

@testable import Cairn
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// Devices and folders go wrong while the server does, too: whatever was committed and not taken
/// back with a backup is everywhere in the end. A kind of fault that was not met fails the run.
@Suite struct RemoteFaultTests {
  typealias Kind = RemoteExchangeTests.Kind
  private static let kinds = [Kind.all[0], Kind.all[3], Kind.all[4]]

  @Test(arguments: kinds, [UInt64](1...2))
  func `files of the folder vanish, come back, are damaged and copied`(
    _ kind: Kind, _ seed: UInt64
  ) async throws {
    let (server, location, _) = try kind.make()
    try await run(.folder, location, server, seed)
  }

  /// Not seed 4: there a copy of a device is older than the oldest file that the folder still has
  /// of it, and publishes nothing, as RELIABILITY.md says.
  @Test(arguments: kinds, [UInt64](5...6))
  func `devices crash, are copied, come back from backups, and have bad disks and clocks`(
    _ kind: Kind, _ seed: UInt64
  ) async throws {
    let (server, location, _) = try kind.make()
    try await run(.devices, location, server, seed)
  }

  private func run(
    _ plan: FaultWorld.Plan, _ location: FolderLocation, _ server: TestServer, _ seed: UInt64
  ) async throws {
    guard case .server(let folder) = location else { return }
    let address = folder.address
    // So small that a large content has some.
    try await FaultWorld.run(
      plan, address, server.port, seed: seed,
      partBytes: address.hasPrefix("s3:") ? 4 << 10 : nil
    ) { machine in
      address.hasPrefix("s3:")
        ? .s3(.test, machine: machine) : .webDAV(.test, machine: machine)
    }
    server.stop()
  }
}

/// The same on the servers that Tools/servers has started.
@Suite(.enabled(if: !Given.both.isEmpty)) struct GivenFaultTests {
  @Test(arguments: Given.both, [UInt64](7...8))
  func `folders and devices go wrong`(_ given: Given, _ seed: UInt64) async throws {
    for plan in [FaultWorld.Plan.folder, .devices] {
      try await FaultWorld.run(
        plan, given.fresh(), given.port, seed: seed, keeps: { Given.keeps($0, given.name) }
      ) { given.kind(on: $0) }
    }
  }
}
