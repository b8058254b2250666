import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Own deltas that are written anew may be more than one file can have.
@Suite struct StoreOutboxPackTests {
  private static func files(_ device: StoreDevice) throws -> [PublishedSegment] {
    let paths = device.disk.paths().filter { $0.contains("/outbox-") }
    let files = try paths.map { path in
      try PublishedSegment(
        try #require(device.disk.bytes(path)), name: path, datastore: StoreDevice.datastore)
    }
    return files.sorted { $0.first < $1.first }
  }

  /// A device that has published one delta and has twenty large ones which the folder lacks, put
  /// on top of what another one has, or beside it.
  private func returned(isOnTop: Bool) throws -> (a: StoreDevice, b: StoreDevice) {
    func configure(_ options: inout StoreOptions) {
      options.limits = Limits(recordBytes: 4 << 20, datastoreBytes: 1 << 30, deltaBytes: 32 << 20)
    }
    let a = try StoreDevice(1, time: 1000, configure: configure)
    let b = try StoreDevice(2, time: 2000, configure: configure)
    try a.store.insert("first", ["a": 1])
    try a.store.sync()
    let published = try a.store.pack()
    let random = SeededRandom(7)
    for number in 0..<20 {
      a.clock.advance(by: 10)
      try a.store.insert("r\(number)", ["b": .bytes(random.bytes(1 << 20))])
      try a.store.sync()
    }
    try b.store.sync(packs: [published])
    try b.store.insert("theirs")
    try b.store.sync()
    let plan = try a.rejoining(published: published, others: try b.store.pack(), isOnTop: isOnTop)
    #expect(try a.store.rejoin(plan) { _ in } != nil)
    try plan.staged.close()
    return (a, b)
  }

  @Test(arguments: [true, false])
  func `deltas under another name are in files that readers take`(isOnTop: Bool) throws {
    let (a, b) = try returned(isOnTop: isOnTop)
    let last = a.store.vector[a.id]
    #expect(last == 20)
    let files = try Self.files(a)
    #expect(files.count > 1)
    // Each takes three of the twenty, as far as there are so many: with a fourth it is above 4 MiB.
    if isOnTop { #expect(files.count == 7) }
    var end: UInt64 = 0
    for file in files {
      #expect(file.first == end + 1 && file.device == a.id.rawValue)
      // One delta more than it takes to fill it, at most.
      #expect(file.pack.count < 6 << 20)
      end = file.last
    }
    #expect(end == last)
    try a.reopen()
    try a.store.checkOwnDeltas(after: 0, through: last)
    var have: UInt64 = 0
    while have < last {
      let after = have
      let found = try #require(
        try a.store.ownPack(after: after, through: last, limit: 4 << 20))
      try #require(found.first == have + 1 && found.last > have)
      #expect(found.pack.count < 6 << 20)
      #expect(try b.store.sync(packs: [found.pack]).failures.isEmpty)
      have = found.last
    }
    // Not `differences`, which would make text of twenty megabytes.
    let isSame = try StoreContent(a.store) == StoreContent(b.store)
    #expect(isSame)
    #expect(a.store.vector == b.store.vector)
    // It is certain then which outbox is the one. As long as one delta in it is not published, all
    // are kept.
    try a.store.insert("after")
    try a.store.sync()
    a.store.confirmPublished(through: last - 1)
    a.store.dropOutboxes()
    #expect(try Self.files(a).count == files.count)
    a.store.confirmPublished(through: last)
    a.store.dropOutboxes()
    #expect(try Self.files(a).isEmpty)
  }

  @Test func `a pack that no reader takes is not written`() throws {
    let a = try StoreDevice(1)
    try a.store.insert("r")
    try a.store.sync()
    let paths = a.disk.paths()
    let packs = [try a.store.pack(), [UInt8](repeating: 0, count: (64 << 20) + 1)]
    let error = #expect(throws: StoreError.self) { try a.store.writeOutbox(packs, 1) }
    #expect(error?.message.contains("\((64 << 20) + 1) bytes") == true)
    #expect(a.disk.paths() == paths)
  }
}
