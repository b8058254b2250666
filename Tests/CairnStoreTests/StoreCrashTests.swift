import CairnMerge
import CairnStore
import TestSupport
import Testing

/// The power fails before every single step of the disk, and whatever could be left is opened.
struct StoreCrashTests {
  /// How many steps the workload has.
  private func steps(_ isLinked: Bool, _ configure: @escaping (inout StoreOptions) -> Void) throws
    -> Int
  {
    let disk = MemoryDisk()
    try CrashWorkload(disk, isLinked: isLinked, configure: configure).run()
    return disk.operations
  }

  /// Opens what is left, and returns which of the workload's states it is.
  private func recovered(_ disk: MemoryDisk, _ workload: CrashWorkload) throws -> Int {
    let store = try workload.open(disk)
    let content = try StoreContent(store)
    guard let index = workload.states.lastIndex(of: content) else {
      throw Difference(
        description: "a state that never was: "
          + "\(content.differences(from: workload.states[workload.acknowledged]))")
    }
    try Difference.demand(
      store.totals == (content.size, content.recordCount, 0), "counts \(store.totals)")
    // And again, with the power gone in the middle of nothing.
    for model in [CrashModel.nothingUnsynced, .everything] {
      let again = try workload.open(disk.crash(keep: model))
      try Difference.demand(try StoreContent(again) == content, "the second recovery is another")
    }
    // It goes on.
    let sequence = store.vector[store.device]
    try store.insert("afterwards", ["a": 1])
    let committed = try store.sync().committed
    try Difference.demand(committed?.sequence == sequence + 1, "sequences have a gap")
    try store.close()
    let last = try workload.open(disk)
    try Difference.demand(try last.get("afterwards") == ["a": 1], "a commit after it is lost")
    try last.close()
    return index
  }

  private func crashEverywhere(
    isLinked: Bool, seeds: Range<UInt64>, mustKeepAll: Bool,
    _ configure: @escaping (inout StoreOptions) -> Void = { _ in }
  ) throws {
    let count = try steps(isLinked, configure)
    #expect(count > 60)
    var states: Set<Int> = []
    for step in 1...(count + 1) {
      let workload = CrashWorkload(MemoryDisk(), isLinked: isLinked, configure: configure)
      workload.disk.powerOff(before: step)
      do { try workload.run() } catch { try #require(workload.disk.isOff, "\(error)") }
      for model in CrashModel.all(seeds: seeds) {
        let disk = workload.disk.crash(keep: model)
        states.insert(disk.fingerprint())
        do {
          let index = try recovered(disk, workload)
          let least = mustKeepAll ? workload.acknowledged : 0
          try Difference.demand(index >= least, "state \(index), but \(least) was acknowledged")
        } catch {
          Issue.record("power off before step \(step), \(model): \(error)")
          return
        }
      }
    }
    // Looking at one state over and over would prove nothing.
    #expect(states.count > count)
  }

  @Test(arguments: [true, false])
  func `what was acknowledged survives a power cut at any step`(isLinked: Bool) throws {
    try crashEverywhere(isLinked: isLinked, seeds: 0..<2, mustKeepAll: true)
  }

  @Test func `the same in one large segment`() throws {
    try crashEverywhere(isLinked: true, seeds: 10..<12, mustKeepAll: true) {
      $0.segmentBytes = 1 << 20
    }
  }

  @Test func `the same where hashes go to a file`() throws {
    try crashEverywhere(isLinked: true, seeds: 20..<24, mustKeepAll: true) { $0.indexRecords = 2 }
  }

  @Test(arguments: [StoreOptions.Durability.none, .periodic(milliseconds: 1000)])
  func `without a sync a commit there are only whole states, too`(
    durability: StoreOptions.Durability
  ) throws {
    try crashEverywhere(isLinked: true, seeds: 0..<2, mustKeepAll: false) {
      $0.durability = durability
    }
  }

  /// The app is killed at some step, opened again without a power cut, and goes on; then the power
  /// fails. What was in the system's memory only must not be built upon.
  @Test(arguments: [StoreOptions.Durability.full, .none])
  func `what is acknowledged after a kill survives a power cut`(
    durability: StoreOptions.Durability
  ) throws {
    let configure: (inout StoreOptions) -> Void = { $0.durability = durability }
    let count = try steps(true, configure)
    for step in 1...(count + 1) {
      let workload = CrashWorkload(MemoryDisk(), configure: configure)
      workload.disk.powerOff(before: step)
      do { try workload.run() } catch { try #require(workload.disk.isOff, "\(error)") }
      workload.disk.heal()
      let killed = workload.disk.snapshot()
      do {
        let store = try workload.open(killed)
        let content = try StoreContent(store)
        try store.insert("afterwards", ["a": 1])
        try store.sync()
        if durability != .full { try store.flush() }
        for model in CrashModel.all(seeds: 0..<1) {
          let left = try workload.open(killed.crash(keep: model))
          var expected = content
          expected.tables["t", default: [:]]["afterwards"] = ["a": 1]
          let shown = try StoreContent(left)
          try Difference.demand(shown == expected, "\(shown.differences(from: expected)), \(model)")
        }
      } catch {
        Issue.record("killed before step \(step): \(error)")
        return
      }
    }
  }

  @Test func `what is published was made durable before, also after a kill`() throws {
    let device = try StoreDevice(1) { $0.durability = .none }
    try device.store.insert("r")
    try device.store.sync()
    let killed = device.disk.snapshot()
    let store = try StoreDevice.open(
      killed, device.clock, device.random, true, device.options)
    _ = try store.pack()
    let left = killed.crash(keep: .nothingUnsynced)
    let again = try StoreDevice.open(left, device.clock, device.random, true, device.options)
    #expect(again.vector == store.vector)
  }

  @Test func `flush keeps everything whatever the durability`() throws {
    let device = try StoreDevice(1) { $0.durability = .none }
    try device.store.insert("r", ["a": 1])
    try device.store.sync()
    try device.store.flush()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("r") == ["a": 1])
  }

  @Test func `a power cut during recovery changes nothing`() throws {
    let workload = CrashWorkload(MemoryDisk())
    try workload.open()
    for step in CrashWorkload.steps.prefix(7) { try workload.run(step) }
    try workload.change(try #require(workload.store), 20)
    // A torn commit, so that recovery has something to mend.
    let store = try #require(workload.store)
    workload.disk.powerOff(before: workload.disk.operations + 2)
    #expect(throws: StoreError.self) { try workload.commit(store) }
    var mended = 0
    for seed in UInt64(0)..<16 {
      let torn = workload.disk.crash(keep: .torn(seed))
      let whole = try workload.open(torn.snapshot())
      let content = try StoreContent(whole)
      if !whole.recovery.isEmpty { mended += 1 }
      for step in 1...8 {
        let disk = torn.snapshot()
        disk.powerOff(before: disk.operations + step)
        _ = try? workload.open(disk)
        for model in CrashModel.all(seeds: 0..<2) {
          let again = try workload.open(disk.crash(keep: model))
          #expect(try StoreContent(again) == content)
        }
      }
    }
    #expect(mended > 2)
  }
}
