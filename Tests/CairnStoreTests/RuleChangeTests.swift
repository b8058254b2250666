import CairnDisk
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// A change of rule decides conflicts anew, wherever they are: in memory, in the snapshot, or under
/// changes that are not committed yet.
struct RuleChangeTests {
  /// Two devices with a conflict in `r.a` ("long" first, then "b") that both have.
  private func conflict(isFolded: Bool = false) throws -> (StoreDevice, StoreDevice) {
    let (a, b) = (try StoreDevice(1, time: 100), try StoreDevice(2, time: 200))
    try a.store.insert("r", ["a": "start", "n": 0])
    try a.store.insert("plain", ["a": "x"])
    try a.store.sync()
    _ = try b.store.sync(packs: [try a.store.pack()])
    try a.store.set("r", ["a": "long long"])
    try a.store.sync()
    b.clock.set(300)
    try b.store.set("r", ["a": "b"])
    try b.store.sync()
    let packs = [try a.store.pack(), try b.store.pack()]
    for device in [a, b] { _ = try device.store.sync(packs: packs) }
    if isFolded {
      _ = try a.store.compact()
      try a.reopen()
    }
    return (a, b)
  }

  private func checkTotals(_ store: Store) throws {
    let content = try StoreContent(store)
    #expect(store.totals.size == content.size)
    #expect(store.totals.records == content.recordCount)
  }

  @Test(arguments: [false, true])
  func `a new rule shows the other value, and sizes follow`(isFolded: Bool) throws {
    let (a, _) = try conflict(isFolded: isFolded)
    #expect(try a.store.get("r")?["a"] == "long long")
    try checkTotals(a.store)
    try a.store.setRule(.local, table: "t", field: "a")
    #expect(try a.store.get("r")?["a"] == "b")
    try checkTotals(a.store)
    try a.store.rollBack()
    #expect(try a.store.get("r")?["a"] == "long long")
    try checkTotals(a.store)
    try a.store.setDefaultRule(.local)
    try a.store.sync()
    try checkTotals(a.store)
    try a.reopen()
    #expect(try a.store.get("r")?["a"] == "b")
    try checkTotals(a.store)
  }

  @Test(arguments: [false, true])
  func `a rule that comes from another device does the same`(isFolded: Bool) throws {
    let (a, b) = try conflict(isFolded: isFolded)
    try b.store.setRule(.local, table: "t", field: "a")
    try b.store.sync()
    _ = try a.store.sync(packs: [try b.store.pack(after: 1)])
    #expect(try a.store.get("r")?["a"] == "b")
    try checkTotals(a.store)
  }

  /// What a store hears of deltas of another one: by themselves, or as its snapshot.
  private func receive(
    _ a: StoreDevice, _ b: StoreDevice, isJoined: Bool
  ) throws -> SyncOutcome {
    if !isJoined { return try a.store.sync(packs: [try b.store.pack(after: 1)]) }
    _ = try b.store.compact()
    let path = a.store.temporarySnapshotPath()
    try a.disk.setBytes(path, try #require(b.snapshotBytes()))
    return try #require(try a.store.join(snapshot: path))
  }

  @Test(arguments: [false, true], [false, true])
  func `a sync tells which records a rule decided anew, and what they lost`(
    isFolded: Bool, isJoined: Bool
  ) throws {
    let (a, b) = try conflict(isFolded: isFolded)
    try b.store.setRule(.local, table: "t", field: "a")
    let own = try b.store.sync(packs: [try a.store.pack()])
    #expect(own.changed == [] && own.conflicts.isEmpty, "it is its own change")
    let told = try receive(a, b, isJoined: isJoined)
    let changed = SyncOutcome.Changed(table: "t", id: RecordName("r"), isDeleted: false)
    #expect(told.changed.filter { $0.table == "t" } == [changed])
    #expect(told.conflicts.map(\.id) == [RecordName("r")])
    #expect(told.conflicts.map(\.conflict.visible) == ["b"])
    #expect(told.conflicts.flatMap(\.conflict.losers).map(\.value) == ["long long"])
    try checkTotals(a.store)
  }

  @Test(arguments: [false, true], [false, true])
  func `a sync tells nothing of records that a rule leaves as they are`(
    isFolded: Bool, isJoined: Bool
  ) throws {
    let (a, b) = try conflict(isFolded: isFolded)
    // The text that is greater is the one that shows already.
    try b.store.setRule(.max, table: "t", field: "a")
    try b.store.sync()
    let told = try receive(a, b, isJoined: isJoined)
    #expect(told.changed.filter { $0.table == "t" } == [] && told.conflicts.isEmpty)
  }

  @Test(arguments: [false, true])
  func `a record that a sync changes in several ways is told once`(isFolded: Bool) throws {
    let (a, b) = try conflict(isFolded: isFolded)
    for rule: Rule in [.local, .min] {
      try b.store.setRule(rule, table: "t", field: "a")
      try b.store.sync()
    }
    try b.store.set("r", ["n": 7])
    try b.store.sync()
    let told = try a.store.sync(packs: [try b.store.pack(after: 1)])
    #expect(told.changed.filter { $0.table == "t" }.map(\.id) == [RecordName("r")])
    #expect(told.conflicts.map(\.conflict.visible) == ["b"])
    #expect(try a.store.get("r") == ["a": "b", "n": 7])
  }

  @Test func `changes that are not committed survive a change of rule`() throws {
    let (a, _) = try conflict()
    try a.store.set("r", ["n": 5, "new": "x"])
    try a.store.setRule(.local, table: "t", field: "a")
    #expect(try a.store.get("r") == ["a": "b", "n": 5, "new": "x"])
    try checkTotals(a.store)
    try a.store.set("r", ["a": "mine"])
    try a.store.setRule(.remote, table: "t", field: "a")
    #expect(try a.store.get("r") == ["a": "mine", "n": 5, "new": "x"])
    try a.store.sync()
    try checkTotals(a.store)
    try a.reopen()
    #expect(try a.store.get("r") == ["a": "mine", "n": 5, "new": "x"])
  }

  @Test func `a record deleted before its sync stays deleted under a new rule`() throws {
    let (a, _) = try conflict()
    try a.store.delete("r")
    try a.store.setRule(.local, table: "t", field: "a")
    #expect(try a.store.get("r") == nil)
    try a.store.insert("r", ["n": 1])
    try a.store.setRule(.max, table: "t", field: "a")
    #expect(try a.store.get("r") == ["n": 1])
    try checkTotals(a.store)
    try a.store.rollBack()
    #expect(try a.store.get("r") == ["a": "long long", "n": 0])
    try checkTotals(a.store)
  }

  /// What is noted of a record that is touched under a rule that comes and goes between two syncs.
  /// Simulation seed 5077.
  @Test(arguments: [false, true], ["n", "a"])
  func `rolling back leads to the committed rules, also if they hold again already`(
    isFolded: Bool, field: String
  ) throws {
    let (a, _) = try conflict(isFolded: isFolded)
    try a.store.setRule(.max, table: "t", field: "a")
    try a.store.sync()
    try a.store.setRule(.local, table: "t", field: "a")
    try a.store.set("r", [field: 5])
    try a.store.setRule(.max, table: "t", field: "a")
    try a.store.rollBack()
    #expect(try a.store.get("r") == ["a": "long long", "n": 0])
    try checkTotals(a.store)
  }

  @Test(arguments: [false, true])
  func `a sync that has nothing to say leads to the committed rules`(isFolded: Bool) throws {
    let (a, _) = try conflict(isFolded: isFolded)
    try a.store.setRule(.max, table: "t", field: "a")
    try a.store.sync()
    try a.store.setRule(.local, table: "t", field: "a")
    try a.store.set("r", ["n": 5])
    try a.store.setRule(.max, table: "t", field: "a")
    try a.store.set("r", ["n": 0])
    try a.store.sync()
    #expect(try a.store.get("r") == ["a": "long long", "n": 0])
    try checkTotals(a.store)
  }

  @Test func `a compaction counts by the committed rules, not by those to come`() throws {
    let (a, b) = try conflict()
    try a.store.setRule(.local, table: "t", field: "a")
    try a.store.set("r", ["n": 9])
    _ = try a.store.compact()
    _ = try b.store.compact()
    #expect(a.snapshotBytes() == b.snapshotBytes())
    #expect(try a.store.get("r") == ["a": "b", "n": 9])
    try checkTotals(a.store)
    try a.reopen()
    #expect(try a.store.get("r") == ["a": "long long", "n": 0])
    try checkTotals(a.store)
  }

  // MARK: reopening

  /// What is read of the disk when a device is opened that has set these rules, one after the
  /// other, since its snapshot with a conflict.
  private func readsOfOpening(_ rules: [Rule]) throws -> Int {
    let a = try changed(false)
    for rule in rules {
      try a.store.setRule(rule, table: "t", field: "a")
      try a.store.sync()
    }
    try a.store.close()
    let before = a.disk.reads
    try a.open()
    let reads = a.disk.reads - before
    #expect(a.store.rule(table: "t", field: "a") == rules.last)
    try checkTotals(a.store)
    return reads
  }

  @Test func `an opening reads the snapshot once, however many rules the log has`() throws {
    let once = try readsOfOpening([.local])
    #expect(try readsOfOpening([.local, .max, .min, .local, .max, .min]) == once)
  }

  @Test(arguments: [false, true])
  func `an opening comes to what the last rules make of all that was written`(
    isFolded: Bool
  ) throws {
    let (a, _) = try conflict(isFolded: isFolded)
    for (number, rule) in [Rule.local, .max, .remote, .sum, .min].enumerated() {
      if number == 3 {
        try a.store.setDefaultRule(rule)
      } else {
        try a.store.setRule(rule, table: "t", field: "a")
      }
      try a.store.sync()
      // From now on the record is in memory, and not in the snapshot only.
      if number > 0 { try a.store.set("r", ["n": .int(Int64(number))]) }
      try a.store.insert("s\(number)", ["a": "x"])
      try a.store.sync()
    }
    let (content, size) = (try StoreContent(a.store), a.store.totals.size)
    try a.reopen()
    #expect(try a.store.get("r") == ["a": "b", "n": 4])
    #expect(try StoreContent(a.store) == content && a.store.totals.size == size)
    try checkTotals(a.store)
    // What is in the log decides by these rules, too.
    try a.store.setRule(.max, table: "t", field: "a")
    #expect(try a.store.get("r")?["a"] == "long long")
    try checkTotals(a.store)
  }

  /// A device with a conflict in its snapshot, nothing of which was read yet.
  private func changed(_ isChanged: Bool) throws -> StoreDevice {
    let (a, _) = try conflict()
    _ = try a.store.compact()
    a.options.cacheBytes = 0
    try a.reopen()
    if isChanged { try a.store.setRule(.local, table: "t", field: "a") }
    return a
  }

  @Test(arguments: [false, true])
  func `what has lost is known of a record wherever it is`(isFolded: Bool) throws {
    let (a, _) = try conflict(isFolded: isFolded)
    let found = try a.store.conflicts(table: "t", id: RecordName("r"))
    #expect(found.map(\.field) == ["a"])
    #expect(found.flatMap(\.losers).map(\.value) == ["b"])
  }

  /// Whatever read fails, a rule is set or it is not, and taken back or not.
  @Test(arguments: [false, true])
  func `a read that fails changes no rule by half`(isTakenBack: Bool) throws {
    var failures = 0
    for read in 1... {
      // Looking at it would read all that is to be read.
      let twin = try changed(isTakenBack)
      let before = (try StoreContent(twin.store), twin.store.totals.size)
      let a = try changed(isTakenBack)
      a.disk.failAt(read: a.disk.reads + read, reason: .io(errno: 5))
      let hasFailed =
        refusal {
          if isTakenBack {
            try a.store.rollBack()
          } else {
            try a.store.setRule(.local, table: "t", field: "a")
          }
        } != nil
      a.disk.heal()
      try checkTotals(a.store)
      if !hasFailed { break }
      failures += 1
      #expect(try StoreContent(a.store) == before.0 && a.store.totals.size == before.1)
      let rule: Rule = isTakenBack ? .local : .remote
      #expect(a.store.rule(table: "t", field: "a") == rule)
    }
    #expect(failures > 0)
  }
}
