import Cairn
import TestSupport
import Testing

@testable import TestServers

/// What records refer to, and records that many go of at once.
extension FaultWorld {
  /// More is a large content: of several parts, where files have any.
  static let smallBytes = 2000
  private static let largeBytes = 20_000
  static let bulkCount = 12
  private static var bulk: [String] { (0..<bulkCount).map { "bulk-\($0)" } }

  /// What is attached to a record, by its id.
  static func content(of id: String) -> [UInt8] {
    let number = UInt64(id.dropFirst()) ?? 0
    let isLarge = number % 16 == 1
    return SeededRandom(number).bytes(isLarge ? largeBytes : 200 + Int(number) * 7 % 1000)
  }

  /// Each content that a record refers to is here, and what was attached.
  func expectWhole(_ device: FaultDevice) async throws {
    let uses = try device.datastore.attachments()
    #expect(!uses.isEmpty)
    for use in uses {
      let attachment = device.datastore.attachment(use.id)
      #expect(try attachment.state == .here, "\(device.name): \(use.record)")
      try await attachment.fetch()
      let isWhole = try attachment.bytes() == FaultWorld.content(of: use.record.description)
      #expect(isWhole, "\(device.name): \(use.record)")
    }
  }

  mutating func insertMany() throws {
    let table = try devices[0].datastore.table("t")
    for id in FaultWorld.bulk { try table.insert(["by": "many"], id: RecordID(id)) }
    try devices[0].datastore.sync()
  }

  /// One device deletes more than may go at once, while the server fails again: every other one
  /// keeps it, over a restart, too, until somebody there says that it is meant.
  mutating func deleteMany(_ seed: UInt64) async throws {
    let bulk = Set(FaultWorld.bulk)
    proxy.spoil(every: 5, seed: seed &+ 1, with: FaultProxy.Fault.allCases)
    let table = try devices[0].datastore.table("t")
    for id in FaultWorld.bulk { try table.record(RecordID(id))?.delete() }
    try devices[0].datastore.sync()
    var round = 0
    while round < 60, devices.dropFirst().contains(where: { $0.datastore.status.massDelete == nil })
    {
      for index in devices.indices {
        devices[index].clock.advance(by: 1000)
        try await exchange(index)
        if index > 0 {
          #expect(bulk.isSubset(of: try devices[index].datastore.ids()), "\(devices[index].name)")
        }
      }
      round += 1
    }
    proxy.heal()
    try devices[devices.count - 1].restart()
    for device in devices.dropFirst() {
      #expect(try device.datastore.sync().massDelete?.records == bulk.count, "\(device.name)")
      #expect(bulk.isSubset(of: try device.datastore.ids()), "\(device.name)")
      #expect(try device.datastore.sync(allowingMassDelete: true).massDelete == nil)
      #expect(bulk.isDisjoint(with: try device.datastore.ids()), "\(device.name)")
    }
    try await meet(3)
    #expect(bulk.isDisjoint(with: try devices[0].datastore.ids()))
  }
}
