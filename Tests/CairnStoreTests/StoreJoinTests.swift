import CairnDisk
import CairnLog
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import CairnStore

extension Store {
  var disk: any Disk { machine.disk }
}

/// Joining the snapshot of another device is the same as applying the deltas in it.
struct StoreJoinTests {
  @Test(arguments: 0..<8)
  func `a join gives what the deltas give, byte for byte`(batch: Int) throws {
    var (joins, realJoins) = (0, 0)
    for seed in UInt64(batch * 24)..<UInt64(batch * 24 + 24) {
      let simulation = try JoinSimulation(seed: seed)
      do {
        try simulation.run(steps: 60)
        try simulation.receiveAll()
        let contents = try simulation.devices.map { try StoreContent($0.store) }
        #expect(contents.allSatisfy { $0 == contents[0] }, "seed \(seed)")
      } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
      joins += simulation.joins
      realJoins += simulation.realJoins
    }
    #expect(joins > 50 && realJoins > 20)
  }

  // MARK: fences

  /// The snapshot of a store at a fence.
  private func snapshot(
    _ store: Store, _ fence: VersionVector, on disk: MemoryDisk, _ name: String
  ) throws -> SnapshotBuild.Source {
    var source = try store.withState { guarded throws(StoreError) in try store.freeze(&guarded).0 }
    source.description.fence = fence
    let file = try disk.open("/" + name, .create)
    defer { file.close() }
    var build = SnapshotBuild(
      source, writer: SnapshotWriter(file: file, datastore: StoreDevice.datastore))
    _ = try build.run()
    return source
  }

  private func base(_ disk: MemoryDisk, _ name: String) throws -> BaseSnapshot {
    try BaseSnapshot(
      number: 1, reader: try SnapshotReader("/" + name, disk: disk), budget: 1 << 20)
  }

  /// Everybody has seen the fence, and everything that is written later comes after it.
  @Test(arguments: 0..<4)
  func `states pruned at one fence or at different ones join to the same bytes`(
    batch: Int
  ) throws {
    var conflicts = 0
    for seed in UInt64(batch * 16)..<UInt64(batch * 16 + 16) {
      let simulation = try JoinSimulation(seed: seed &+ 5000)
      try simulation.run(steps: 30)
      try simulation.receiveAll()
      let fence = simulation.devices[0].store.vector
      let (a, b) = (simulation.devices[0], simulation.devices[1])
      for _ in 0..<30 {
        let device = simulation.random.coin() ? a : b
        try simulation.change(device)
        if simulation.random.below(3) == 0 { try simulation.commit(device) }
      }
      for device in [a, b] { try simulation.commit(device) }
      let twin = try StoreDevice.open(a.disk.snapshot(), a.clock, a.random, true, a.options)
      let told = try twin.sync(packs: simulation.deltas.map(\.pack))
      conflicts += told.conflicts.count
      let disk = MemoryDisk()
      for (mine, theirs) in [(fence, fence), (fence, VersionVector()), (VersionVector(), fence)] {
        let source = try snapshot(a.store, mine, on: disk, "a")
        _ = try snapshot(b.store, theirs, on: disk, "b")
        _ = try snapshot(twin, fence, on: disk, "twin")
        let file = try disk.open("/joined", .create)
        var join = SnapshotJoin(
          source, try base(disk, "b"),
          writer: SnapshotWriter(file: file, datastore: StoreDevice.datastore))
        _ = try join.run()
        file.close()
        #expect(disk.bytes("/joined") == disk.bytes("/twin"), "seed \(seed)")
        for name in ["a", "b", "twin", "joined"] { try disk.remove("/" + name) }
      }
    }
    #expect(conflicts > 10)
  }

  @Test func `a state that lacks what is settled on the other side is refused`() throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    try a.store.insert("r", ["a": 1])
    try a.store.sync()
    try b.store.insert("s", ["a": 1])
    try b.store.sync()
    let unknown = VersionVector([Dot(device: b.id, sequence: 1)])
    #expect(a.store.obstacle(toJoining: unknown, fence: VersionVector()) == nil)
    #expect(a.store.obstacle(toJoining: unknown, fence: unknown)?.kind == .invalidOperation)
    let disk = MemoryDisk()
    _ = try snapshot(b.store, unknown, on: disk, "b")
    let path = a.store.temporarySnapshotPath()
    try a.disk.setBytes(path, try #require(disk.bytes("/b")))
    #expect(refusal { _ = try a.store.join(snapshot: path) } == .invalidOperation)
    #expect(try a.disk.info(path) == nil, "it is consumed all the same")
    #expect(try a.store.get("r") == ["a": 1])
    // Who has nothing has nothing to lose.
    #expect(try StoreDevice(3).store.obstacle(toJoining: unknown, fence: unknown) == nil)
  }

  @Test func `a snapshot with more of this device than it has itself is refused`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r")
    try device.store.sync()
    let vector = VersionVector([Dot(device: device.id, sequence: 2)])
    let refused = device.store.obstacle(toJoining: vector, fence: VersionVector())
    #expect(refused?.kind == .invalidOperation)
  }

  @Test func `a local datastore joins nothing`() throws {
    let device = try StoreDevice(1, isLinked: false)
    #expect(device.store.obstacle(toJoining: VersionVector(), fence: VersionVector()) != nil)
    let path = device.store.temporarySnapshotPath()
    #expect(refusal { _ = try device.store.join(snapshot: path) } == .invalidOperation)
  }

  // MARK: meanwhile

  /// Two devices that have met, and then gone on.
  private func pair() throws -> (a: StoreDevice, b: StoreDevice, bytes: [UInt8]) {
    let (a, b) = (try StoreDevice(1) { $0.segmentBytes = 700 }, try StoreDevice(2))
    for index in 0..<6 {
      try a.store.insert("a\(index)", ["n": 1, "text": "some text"])
      try a.store.sync()
    }
    _ = try b.store.sync(packs: [try a.store.pack()])
    for index in 0..<6 {
      try b.store.insert("b\(index)", ["n": 1])
      try b.store.sync()
    }
    try b.store.set("a1", ["n": 2])
    try b.store.delete("a2")
    try b.store.sync()
    _ = try b.store.compact()
    for index in 6..<9 {
      try a.store.insert("a\(index)", ["n": 1])
      try a.store.sync()
    }
    try a.store.set("a1", ["text": "mine"])
    try a.store.sync()
    return (a, b, try #require(b.snapshotBytes()))
  }

  private func join(_ bytes: [UInt8], into device: StoreDevice) throws -> SyncOutcome? {
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, bytes)
    return try device.store.join(snapshot: path)
  }

  @Test func `what happens during a join is kept`() throws {
    let (a, b, bytes) = try pair()
    let c = try StoreDevice(3)
    try c.store.insert("c", ["n": 7])
    try c.store.sync()
    let packs = [try c.store.pack(), try b.store.pack()]
    a.store.watch(true, records: true)
    let path = a.store.temporarySnapshotPath()
    try a.disk.setBytes(path, bytes)
    var failure: (any Error)?
    let outcome = try a.store.join(snapshot: path) { deletes in
      do {
        // Committed, incorporated (some of it is in the snapshot, too), and pending.
        try a.store.insert("during", ["n": 1])
        try a.store.set("a1", ["n": 9])
        try a.store.sync()
        try a.store.sync(packs: packs)
        try a.store.insert("pending", ["n": 3])
      } catch { failure = error }
      return deletes == 1
    }
    #expect(failure == nil)
    #expect(outcome?.committed?.sequence == 12, "what was pending is committed")
    let content = try StoreContent(a.store)
    #expect(try a.store.get("a1") == ["n": 2, "text": "mine"] || a.store.get("a1")?["n"] == 9)
    for id in ["during", "pending", "c", "b5", "a8"] {
      #expect(try a.store.get(id) != nil, "\(id)")
    }
    #expect(try a.store.get("a2") == nil)
    let told = a.store.takeChanges(remote: true)
    #expect(told.remote.records["t"]?.contains(RecordName("b3")) == true)
    // As if all had come as deltas.
    let twin = try StoreDevice(9)
    _ = try twin.store.sync(packs: packs + [try a.store.pack()])
    #expect(try StoreContent(twin.store) == content)
    for _ in 0..<2 {
      try a.reopen()
      #expect(try StoreContent(a.store) == content)
      #expect(a.store.recovery.isEmpty)
      _ = try a.store.compact()
    }
    _ = try twin.store.compact()
    #expect(a.snapshotBytes() == twin.snapshotBytes())
  }

  /// What was set to what it is comes to nothing when it is committed, and that is told.
  @Test(arguments: [false, true])
  func `who is told in the middle of a join may compact or close`(closes: Bool) throws {
    let (a, b, bytes) = try pair()
    let store = a.store
    try store.set("a1", ["text": "mine"])
    store.watch(true, records: true)
    let told = Lock(0)
    store.onChange {
      told.withLock { $0 += 1 }
      do { if closes { try store.close() } else { _ = try store.compact() } } catch {
        Issue.record(error)
      }
    }
    let outcome = try join(bytes, into: a)
    #expect(told.withLock { $0 } == 1)
    #expect(outcome?.appliedCount == 7 && outcome?.committed == nil && store.isOpen != closes)
    try a.reopen()
    let twin = try StoreDevice(9)
    try twin.store.sync(packs: [try b.store.pack(), try a.store.pack()])
    #expect(try StoreContent(a.store) == StoreContent(twin.store))
  }

  @Test func `a join that would delete too much is not done`() throws {
    let (a, _, bytes) = try pair()
    let before = (try StoreContent(a.store), a.store.vector)
    let path = a.store.temporarySnapshotPath()
    try a.disk.setBytes(path, bytes)
    #expect(try a.store.join(snapshot: path) { $0 < 1 } == nil)
    #expect(a.disk.bytes(path) == bytes, "it may be allowed later")
    #expect(try StoreContent(a.store) == before.0)
    #expect(a.store.vector == before.1)
    try a.store.insert("later")
    try a.store.sync()
    try a.reopen()
    #expect(try a.store.get("later") != nil)
  }

  /// A compaction whose last step failed: CURRENT names its snapshot on the disk, and not here.
  private func failCompaction(_ device: StoreDevice) {
    device.disk.intercept { operation in
      operation.verb == "sync" && operation.path == StoreDevice.directory ? .io(errno: 5) : nil
    }
    #expect(refusal { _ = try device.store.compact() } == .log)
    device.disk.heal()
  }

  @Test func `what CURRENT may name is neither written over nor removed by what comes to nothing`()
    throws
  {
    // A join that nobody allows.
    let (a, _, bytes) = try pair()
    let content = try StoreContent(a.store)
    failCompaction(a)
    let path = a.store.temporarySnapshotPath()
    try a.disk.setBytes(path, bytes)
    #expect(try a.store.join(snapshot: path) { _ in false } == nil)
    try a.reopen()
    #expect(try StoreContent(a.store) == content)
    // A second compaction, whose snapshot can't be read.
    var reads = 0
    while true {
      let (a, _, _) = try pair()
      failCompaction(a)
      a.disk.failAt(read: a.disk.reads + 1 + reads, reason: .io(errno: 5))
      let isDone = refusal { _ = try a.store.compact() } == nil
      a.disk.heal()
      try a.reopen()
      #expect(try StoreContent(a.store) == content, "read \(reads)")
      if isDone { break }
      reads += 1
    }
    #expect(reads > 2)
  }

  @Test func `a damaged snapshot changes nothing`() throws {
    let (a, _, bytes) = try pair()
    let before = try StoreContent(a.store)
    for offset in stride(from: 0, to: bytes.count, by: 13) {
      var copy = bytes
      copy[offset] ^= 0x20
      #expect(throws: StoreError.self) { _ = try join(copy, into: a) }
      #expect(try StoreContent(a.store) == before)
    }
    for count in stride(from: 0, to: bytes.count, by: 97) {
      #expect(throws: StoreError.self) { _ = try join(Array(bytes.prefix(count)), into: a) }
    }
    #expect(try join(bytes, into: a)?.appliedCount == 7)
  }

  @Test func `own deltas that are not published yet stay in the log`() throws {
    let (a, _, bytes) = try pair()
    a.store.confirmPublished(through: 4)
    _ = try join(bytes, into: a)
    for _ in 0..<2 {
      let pack = try #require(
        try a.store.ownPack(after: 4, through: a.store.vector[a.id], limit: 1 << 20))
      #expect(pack.first == 5 && pack.last == 10)
      try a.reopen()
    }
  }

  /// Each has committed a record, and this one has a snapshot of its own.
  private func other(than a: StoreDevice) throws -> StoreDevice {
    let b = try StoreDevice(2)
    try a.store.insert("a")
    try a.store.sync()
    try b.store.insert("b")
    try b.store.sync()
    _ = try b.store.compact()
    return b
  }

  @Test func `after a join the log is folded by itself as before`() throws {
    let a = try StoreDevice(1) {
      $0.compactsAutomatically = true
      $0.compactsInline = true
      $0.compactFrom = 2000
    }
    let b = try other(than: a)
    let outcome = try join(try #require(b.snapshotBytes()), into: a)
    #expect(outcome?.appliedCount == 1)
    let joined = try #require(a.store.snapshotFile()?.path)
    for number in 0..<400 {
      try a.store.insert("r\(number)", ["s": "some text"])
      try a.store.sync()
    }
    #expect(a.store.snapshotFile()?.path != joined)
    #expect(a.store.compactionFailure == nil)
    #expect(try a.store.count(table: "t") == 402)
  }

  /// If the second commit waited for the compaction, which waits for the join, this would never
  /// end.
  @Test(.timeLimit(.minutes(20)))
  func `a commit during a join does not wait for a compaction that waits for the join`() throws {
    let a = try StoreDevice(1) {
      $0.compactsAutomatically = true
      $0.compactFrom = 5000
      $0.overlayBytes = 0
    }
    let b = try other(than: a)
    let store = a.store
    let path = store.temporarySnapshotPath()
    try a.disk.setBytes(path, try #require(b.snapshotBytes()))
    // Its first step, before the state is frozen: a compaction becomes due.
    let isDone = Flag()
    a.disk.intercept { _ in
      guard isDone.raise() else { return nil }
      do {
        try store.insert("large", ["s": .string(SeededRandom(1).text(10_000))])
        try store.sync()
      } catch { Issue.record(error) }
      return nil
    }
    let outcome = try store.join(snapshot: path) { _ in
      do {
        try store.insert("during", ["n": 1])
        try store.sync()
      } catch { Issue.record(error) }
      return true
    }
    a.disk.intercept(nil)
    #expect(isDone.isUp)
    #expect(outcome?.appliedCount == 1)
    try a.reopen()
    #expect(store.compactionFailure == nil)
    for id in ["a", "b", "large", "during"] { #expect(try a.store.get(id) != nil, "\(id)") }
  }

  // MARK: crashes

  /// Whatever is left when the power goes at some step of a join is the state before or after it.
  @Test func `a power cut at any step of a join`() throws {
    let (a, _, bytes) = try pair()
    a.store.confirmPublished(through: 4)
    try a.store.flush()
    let start = a.disk.snapshot()
    let before = try StoreContent(a.store)
    func run(_ disk: MemoryDisk) throws -> Store {
      let store = try StoreDevice.open(disk, a.clock, SeededRandom(4), true, a.options)
      let path = store.temporarySnapshotPath()
      try disk.setBytes(path, bytes)
      _ = try store.join(snapshot: path)
      try store.insert("acknowledged")
      try store.sync()
      return store
    }
    let whole = start.snapshot()
    let done = try run(whole)
    let after = try StoreContent(done)
    let steps = whole.operations
    #expect(steps > 10)
    var found: Set<Int> = []
    for step in 1...(steps + 1) {
      let disk = start.snapshot()
      disk.powerOff(before: disk.operations + step)
      do { _ = try run(disk) } catch { try #require(disk.isOff, "\(error)") }
      for model in CrashModel.all(seeds: 0..<2) {
        let left = disk.crash(keep: model)
        let store = try StoreDevice.open(left, a.clock, SeededRandom(5), true, a.options)
        var content = try StoreContent(store)
        content.tables["t"]?["acknowledged"] = nil
        var wanted = after
        wanted.tables["t"]?["acknowledged"] = nil
        #expect(content == before || content == wanted, "step \(step), \(model)")
        found.insert(content == before ? 0 : 1)
        // Own deltas survive in any case, and it goes on as if nothing had been.
        let own = try #require(try store.ownPack(after: 4, through: 10, limit: 1 << 20))
        #expect(own.last == 10)
        let path = store.temporarySnapshotPath()
        try left.setBytes(path, bytes)
        _ = try store.join(snapshot: path)
        var again = try StoreContent(store)
        again.tables["t"]?["acknowledged"] = nil
        #expect(again == wanted, "step \(step), \(model)")
      }
    }
    #expect(found == [0, 1])
  }

  /// An error instead of a power cut: the store goes on with the state before or after.
  @Test func `a disk that fails at any step of a join`() throws {
    let (a, _, bytes) = try pair()
    let start = a.disk.snapshot()
    let before = try StoreContent(a.store)
    let wanted = try {
      let device = try StoreDevice.open(
        start.snapshot(), a.clock, SeededRandom(4), true, a.options)
      let path = device.temporarySnapshotPath()
      try (device.disk as? MemoryDisk)?.setBytes(path, bytes)
      _ = try device.join(snapshot: path)
      return try StoreContent(device)
    }()
    var failures = 0
    for step in 1...200 {
      let disk = start.snapshot()
      let store = try StoreDevice.open(disk, a.clock, SeededRandom(4), true, a.options)
      let path = store.temporarySnapshotPath()
      try disk.setBytes(path, bytes)
      disk.failAt(operation: disk.operations + step, reason: .io(errno: 5))
      do {
        _ = try store.join(snapshot: path)
        if step > 60 { break }
      } catch { failures += 1 }
      disk.heal()
      let content = try StoreContent(store)
      #expect(content == before || content == wanted, "step \(step)")
      let refused = refusal {
        try store.insert("goes-on")
        try store.sync()
      }
      #expect(refused == nil || refused == .syncFailed, "step \(step)")
      try? store.close()
      let again = try StoreDevice.open(
        disk.crash(keep: .everything), a.clock, SeededRandom(4), true, a.options)
      var left = try StoreContent(again)
      left.tables["t"]?["goes-on"] = nil
      #expect(left == before || left == wanted, "step \(step)")
    }
    #expect(failures > 10)
  }
}
