import CairnDisk
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A change of rule decides conflicts anew, wherever they are: in memory, in the snapshot, or under
/// changes that are not committed yet.
struct RuleChangeTests {
  /// Two devices with a conflict in `r.a` ("long" first, then "b") that both have.
  private func conflict() throws -> (StoreDevice, StoreDevice) {
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
    return (a, b)
  }

  private func checkTotals(_ store: Store) throws {
    let content = try StoreContent(store)
    #expect(store.totals.size == content.size)
    #expect(store.totals.records == content.recordCount)
  }

  @Test(arguments: [false, true])
  func `a new rule shows the other value, and sizes follow`(isFolded: Bool) throws {
    let (a, _) = try conflict()
    if isFolded {
      _ = try a.store.compact()
      try a.reopen()
    }
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
    let (a, b) = try conflict()
    if isFolded {
      _ = try a.store.compact()
      try a.reopen()
    }
    try b.store.setRule(.local, table: "t", field: "a")
    try b.store.sync()
    _ = try a.store.sync(packs: [try b.store.pack(after: 1)])
    #expect(try a.store.get("r")?["a"] == "b")
    try checkTotals(a.store)
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

  /// A device with a conflict in its snapshot, nothing of which was read yet.
  private func changed(_ isChanged: Bool) throws -> StoreDevice {
    let (a, _) = try conflict()
    _ = try a.store.compact()
    a.options.cacheBytes = 0
    try a.reopen()
    if isChanged { try a.store.setRule(.local, table: "t", field: "a") }
    return a
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
