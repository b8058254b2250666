import CairnDisk
import CairnMerge
import CairnStore
import Synchronization
import TestSupport
import Testing

/// The snapshot can't be read in the middle of a change that the log has already: a part of it is
/// never shown, and opening anew shows all of it.
struct StoreTornTests {
  private static let count = 200
  private static let chosen = stride(from: 0, to: count, by: 25).map { "r\($0)" }

  /// A device that has published records, in packs of some.
  private func author() throws -> StoreDevice {
    let peer = try StoreDevice(2)
    for number in 0..<Self.count {
      let bulk = FieldValue.bytes(SeededRandom(UInt64(number)).bytes(2000))
      try peer.store.insert("r\(number)", ["b": bulk, "n": 1])
      if number % 20 == 19 { try peer.store.sync() }
    }
    return peer
  }

  /// A device that has them in a snapshot, of which it has read nothing yet.
  private func cold(_ pack: [UInt8]) throws -> StoreDevice {
    let device = try StoreDevice(1) { $0.cacheBytes = 1 }
    try device.store.sync(packs: [pack])
    _ = try device.store.compact()
    try device.reopen()
    return device
  }

  private struct Contents {
    /// Before the step, what was not committed among it; the same after opening anew; and with it.
    var shown: StoreContent
    var kept: StoreContent
    var whole: StoreContent
    /// Own deltas that are in the files when it is torn.
    var committed: UInt64 = 0
  }

  /// Fails each read of a step, one at a time. Returns how many times only opening anew helped.
  private func failEachRead(
    _ contents: Contents, _ make: () throws -> StoreDevice, _ step: (Store) throws -> Void
  ) throws -> Int {
    var torn = 0
    for number in 1...1000 {
      let device = try make()
      device.disk.failAt(read: device.disk.reads + number, reason: .io(errno: 5))
      let kind = refusal { try step(device.store) }
      device.disk.heal()
      guard let kind else { return torn }
      let isTorn = !device.store.isOpen
      if isTorn {
        torn += 1
        #expect(kind == .syncFailed, "read \(number)")
        try expectNothingShows(device.store)
        #expect(device.store.standing.committed == contents.committed, "read \(number)")
      } else {
        #expect(try StoreContent(device.store) == contents.shown, "read \(number)")
      }
      try device.reopen()
      let wanted = isTorn ? contents.whole : contents.kept
      #expect(try StoreContent(device.store) == wanted, "read \(number)")
    }
    Issue.record("the step never came through")
    return torn
  }

  private func expectNothingShows(_ store: Store) throws {
    #expect(refusal { _ = try store.get("r0") } == .syncFailed)
    #expect(refusal { _ = try store.tables() } == .syncFailed)
    #expect(refusal { try store.insert("new") } == .syncFailed)
    #expect(refusal { try store.sync() } == .syncFailed)
    #expect(refusal { _ = try store.compact() } == .syncFailed)
    #expect(store.ending?.message.hasSuffix("close the datastore and open it again") == true)
    #expect(store.totals.records == 0 && store.vector.isEmpty)
  }

  @Test func `a read that fails in the middle of a merge shows no half of it`() throws {
    let peer = try author()
    let first = try peer.store.pack()
    let before = try StoreContent(peer.store)
    let last = peer.store.vector[peer.id]
    for id in Self.chosen { try peer.store.set(id, ["n": 2]) }
    try peer.store.sync()
    for id in Self.chosen.dropFirst(4) { try peer.store.delete(id) }
    try peer.store.sync()
    let second = try peer.store.pack(after: last)
    let contents = Contents(shown: before, kept: before, whole: try StoreContent(peer.store))
    let torn = try failEachRead(contents, { try cold(first) }) { try $0.sync(packs: [second]) }
    #expect(torn > 3)
  }

  /// Its status would say that nothing is to be uploaded.
  @Test func `how much a device has committed is known after a merge that was torn`() throws {
    let peer = try author()
    let first = try peer.store.pack()
    var before = try StoreContent(peer.store)
    let last = peer.store.vector[peer.id]
    for id in Self.chosen { try peer.store.set(id, ["n": 2]) }
    try peer.store.sync()
    let second = try peer.store.pack(after: last)
    var after = try StoreContent(peer.store)
    before.tables["t"]?["own"] = ["n": 3]
    after.tables["t"]?["own"] = ["n": 3]
    let contents = Contents(shown: before, kept: before, whole: after, committed: 1)
    let torn = try failEachRead(contents) {
      let device = try cold(first)
      try device.store.insert("own", ["n": 3])
      try device.store.sync()
      return device
    } _: {
      try $0.sync(packs: [second])
    }
    #expect(torn > 0)
  }

  @Test func `a read that fails in the middle of a commit shows no half of it`() throws {
    let peer = try author()
    let first = try peer.store.pack()
    let before = try StoreContent(peer.store)
    var after = before
    for id in Self.chosen { after.tables["t"]?[id] = nil }
    let contents = Contents(shown: after, kept: before, whole: after, committed: 1)
    let torn = try failEachRead(contents) {
      let device = try cold(first)
      for id in Self.chosen { try device.store.delete(id) }
      return device
    } _: {
      try $0.sync()
    }
    #expect(torn > 0)
  }

  /// Where readers have to wait for it.
  @Test func `the switch to a new snapshot reads nothing of what was changed before`() throws {
    let peer = try author()
    let first = try peer.store.pack()
    let before = try StoreContent(peer.store)
    var pending = before
    for id in Self.chosen { pending.tables["t"]?[id]?["n"] = 3 }
    let contents = Contents(shown: pending, kept: before, whole: before)
    let torn = try failEachRead(contents) {
      let device = try cold(first)
      for id in Self.chosen { try device.store.set(id, ["n": 3]) }
      return device
    } _: {
      _ = try $0.compact()
    }
    #expect(torn == 0)
  }

  /// What is changed at the last moment has to be looked for in the new snapshot.
  @Test func `a read that fails at the switch to a new snapshot shows no half of it`() throws {
    let peer = try author()
    let first = try peer.store.pack()
    let before = try StoreContent(peer.store)
    var torn = 0
    for number in 1...1000 {
      let device = try cold(first)
      for id in Self.chosen { try device.store.set(id, ["n": 3]) }
      let store = device.store
      let isLate = Flag()
      device.disk.intercept { operation in
        if operation.target?.hasSuffix("/CURRENT") == true, isLate.raise() {
          // It may be that this is what fails, and no more.
          try? store.set("r60", ["n": 4])
        }
        return nil
      }
      device.disk.failAt(read: device.disk.reads + number, reason: .io(errno: 5))
      let kind = refusal { _ = try store.compact() }
      device.disk.heal()
      guard let kind else {
        if try store.get("r60")?["n"] != 4 { continue }
        #expect(torn > 0, "of \(number) reads")
        return
      }
      if !store.isOpen {
        torn += 1
        #expect(isLate.isUp && kind == .syncFailed, "read \(number)")
        try expectNothingShows(store)
      }
      try device.reopen()
      #expect(try StoreContent(device.store) == before, "read \(number)")
    }
    Issue.record("the compaction never came through")
  }

  @Test func `who is told of a compaction that was torn may close the store`() throws {
    let peer = try author()
    let before = try StoreContent(peer.store)
    let device = try cold(try peer.store.pack())
    let (store, disk) = (device.store, device.disk)
    let told = Lock(0)
    store.watch(true, records: false)
    store.onChange {
      if store.isOpen { return }
      told.withLock { $0 += 1 }
      do { try store.close() } catch { Issue.record(error) }
    }
    for id in Self.chosen { try store.set(id, ["n": 3]) }
    let isLate = Flag()
    disk.intercept { operation in
      if operation.target?.hasSuffix("/CURRENT") == true, isLate.raise() {
        do { try store.set("r60", ["n": 4]) } catch { Issue.record(error) }
        // It has to be looked for in the new snapshot.
        disk.failAt(read: disk.reads + 1, reason: .io(errno: 5), forever: true)
      }
      return nil
    }
    #expect(refusal { _ = try store.compact() } == .syncFailed)
    #expect(isLate.isUp && told.withLock { $0 } == 1 && store.isClosed)
    disk.heal()
    try device.open()
    #expect(try StoreContent(device.store) == before)
  }
}
