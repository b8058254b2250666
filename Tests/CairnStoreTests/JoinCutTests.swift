import CairnDisk
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What cuts and snapshots that are joined do to one another when the one comes while the other is
/// under way: a join takes seconds, and others commit and sync meanwhile.
struct JoinCutTests {
  /// Two that have met, and a third whom only the second knows; the second one's snapshot.
  private struct Meeting {
    let a: StoreDevice
    let b: StoreDevice
    let y: StoreDevice
    let bytes: [UInt8]

    /// `isMutual`: the first knows the second, too.
    init(isMutual: Bool) throws {
      a = try StoreDevice(1)
      b = try StoreDevice(2)
      y = try StoreDevice(3)
      try a.store.insert("a", ["n": 1])
      try a.store.sync()
      if isMutual {
        try b.store.insert("early", ["n": 1])
        try b.store.sync()
        _ = try a.store.sync(packs: [try b.store.pack()])
      }
      try y.store.insert("y", ["n": 1])
      try y.store.sync()
      _ = try b.store.sync(packs: [try a.store.pack(), try y.store.pack()])
      try b.store.insert("b", ["n": 1])
      try b.store.sync()
      _ = try b.store.compact()
      bytes = try #require(b.snapshotBytes())
    }
  }

  /// Joins a snapshot; `meanwhile` runs when it is written and not installed yet. Says how it was
  /// refused, nil if it was not.
  private func join(
    _ bytes: [UInt8], into device: StoreDevice, meanwhile: () throws -> Void
  ) throws -> StoreError.Kind? {
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, bytes)
    var failure: (any Error)?
    var wasAsked = false
    let refused = refusal {
      _ = try device.store.join(snapshot: path) { _ in
        wasAsked = true
        do { try meanwhile() } catch { failure = error }
        return true
      }
    }
    #expect(failure == nil)
    #expect(wasAsked)
    #expect(try device.disk.info(path) == nil, "it is consumed")
    return refused
  }

  /// Nothing lies beside a sealed cut that is not behind its seal (MERGE.md, section 7 (a)).
  private func checkCuts(_ store: Store) {
    for cut in store.cuts.cuts {
      guard let seal = cut.seal else { continue }
      for dot in store.vector.entries where !cut.members.contains(dot.device) {
        #expect(seal.contains(dot), "\(dot) is beside \(cut)")
      }
    }
  }

  @Test(arguments: [false, true], [false, true])
  func `a cut that is made during a join does not come to lie beside what it brings`(
    isCommitted: Bool, isMutual: Bool
  ) throws {
    let meeting = try Meeting(isMutual: isMutual)
    let (a, b, y) = (meeting.a, meeting.b, meeting.y)
    let refused = try join(meeting.bytes, into: a) {
      a.store.requestCut()
      if isCommitted { try a.store.sync() }
    }
    checkCuts(a.store)
    #expect(refused == (isCommitted ? .invalidOperation : nil))
    #expect(a.store.cuts.isEmpty == !isCommitted, "it comes with the next commit")
    #expect((a.store.vector[y.id] > 0) == !isCommitted)
    try a.store.sync()
    checkCuts(a.store)
    let cut = try #require(a.store.cuts.cuts.first)
    #expect(cut.members.contains(y.id) == !isCommitted)
    try y.store.insert("later")
    try y.store.sync()
    let told = try y.store.judge(packs: [try a.store.pack(), try b.store.pack()])
    // Who has founded the datastore for itself, and forgotten, goes on without the others.
    if !isCommitted || isMutual { #expect(told.cutOff == nil) }
    let content = try StoreContent(a.store)
    try a.reopen()
    #expect(try StoreContent(a.store) == content)
    checkCuts(a.store)
  }

  @Test func `who is retired during a join is left out with the commit behind it`() throws {
    let meeting = try Meeting(isMutual: true)
    let (a, b, y) = (meeting.a, meeting.b, meeting.y)
    let refused = try join(meeting.bytes, into: a) {
      try a.store.insert("pending", ["n": 1])
      try a.store.retire(b.id)
    }
    #expect(refused == nil)
    #expect(try a.store.get("pending") == ["n": 1])
    #expect(a.store.cuts.isEmpty && a.store.retired == [b.id], "it is asked for still")
    try a.store.sync()
    let cut = try #require(a.store.cuts.cuts.first)
    #expect(Set(cut.members) == [a.id, y.id])
    #expect(!cut.isSealed)
    checkCuts(a.store)
  }

  /// The snapshot has an open cut whose author has never heard of the device that joins it.
  @Test(arguments: [false, true])
  func `what is written during a join does not come to lie beside a cut that it brings`(
    isCommitted: Bool
  ) throws {
    let (a, b, c) = (try StoreDevice(1), try StoreDevice(2), try StoreDevice(3))
    for (device, id) in [(b, "b"), (c, "c")] {
      try device.store.insert(id, ["n": 1])
      try device.store.sync()
    }
    _ = try a.store.sync(packs: [try b.store.pack()])
    _ = try b.store.sync(packs: [try c.store.pack()])
    b.store.requestCut()
    try b.store.sync()
    #expect(b.store.cuts.cuts.map(\.isSealed) == [false])
    _ = try b.store.compact()
    let bytes = try #require(b.snapshotBytes())
    let refused = try join(bytes, into: a) {
      try a.store.insert("mine", ["n": 1])
      if isCommitted { try a.store.sync() }
    }
    #expect(refused == .invalidOperation)
    // Nothing half done: what was pending is committed, and that is all; and durable, as the sync
    // that took the snapshot will say of it.
    for _ in 0..<2 {
      #expect(a.store.cuts.isEmpty)
      #expect(a.store.vector[c.id] == 0)
      #expect(try a.store.get("mine") == ["n": 1] && a.store.get("b") == ["n": 1])
      #expect(try a.store.get("c") == nil)
      #expect(a.store.vector[a.id] == 1)
      try a.crash(.nothingUnsynced)
    }
    #expect(a.store.recovery.isEmpty)
  }

  /// Deltas of two are held beside a cut. Of one a member had them in time, and its snapshot brings
  /// them; the other one's count nowhere.
  @Test func `who was held is not left out once a snapshot has brought what it wrote`() throws {
    let (a, m) = (try StoreDevice(1), try StoreDevice(2))
    let (x, y) = (try StoreDevice(3), try StoreDevice(4))
    for (device, id) in [(a, "a"), (m, "m"), (x, "x"), (y, "y")] {
      try device.store.insert(id, ["n": 1])
      try device.store.sync()
    }
    _ = try a.store.sync(packs: [try m.store.pack()])
    _ = try m.store.sync(packs: [try a.store.pack(), try y.store.pack()])
    let early = m.store.vector
    _ = try m.store.sync(packs: [try x.store.pack()])
    a.store.requestCut()
    try a.store.sync()
    let first = try #require(a.store.cuts.cuts.first)
    #expect(Set(first.members) == [a.id, m.id])
    #expect(!first.isSealed)
    try y.store.set("y", ["n": 2])
    try y.store.sync()
    a.store.learn([m.id: early])
    let outcome = try a.store.sync(packs: [try x.store.pack(), try y.store.pack()])
    #expect(outcome.appliedCount == 1)
    #expect(outcome.held == [0: first, 1: first])
    _ = try m.store.sync(packs: [try a.store.pack()])
    _ = try m.store.compact()
    let bytes = try #require(m.snapshotBytes())
    a.store.learn([m.id: m.store.vector])
    #expect(try join(bytes, into: a, meanwhile: {}) == nil)
    #expect(try a.store.get("x") == ["n": 1] && a.store.get("y") == ["n": 1])
    a.store.requestCut()
    try a.store.sync()
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    try a.store.sync()
    let second = try #require(a.store.cuts.cuts.last)
    #expect(second.dot == Dot(device: a.id, sequence: 4))
    #expect(Set(second.members) == [a.id, m.id, x.id])
    #expect(a.store.retired == [y.id])
    checkCuts(a.store)
  }

  @Test func `a cut of others that is applied during a join does not come to lie beside it`()
    throws
  {
    let meeting = try Meeting(isMutual: true)
    let (a, y) = (meeting.a, meeting.y)
    let c = try StoreDevice(4)
    _ = try c.store.sync(packs: [try a.store.pack()])
    c.store.requestCut()
    try c.store.sync()
    let pack = try c.store.pack()
    let refused = try join(meeting.bytes, into: a) { _ = try a.store.sync(packs: [pack]) }
    #expect(refused == .invalidOperation)
    #expect(a.store.cuts.cuts.map(\.dot.device) == [c.id])
    #expect(a.store.vector[y.id] == 0)
    checkCuts(a.store)
  }
}
