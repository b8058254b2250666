import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What a device had committed of others, or of its own earlier name, and not published, when it
/// has to be put together anew.
struct RejoinRetirementTests {
  private let a: StoreDevice
  private let b: StoreDevice
  /// The first delta of `a`.
  private let published: [UInt8]

  init() throws {
    a = try StoreDevice(1, time: 1000)
    b = try StoreDevice(2, time: 2000)
    try a.store.insert("r", ["x": 1])
    try a.store.sync()
    published = try a.store.pack()
    try b.store.sync(packs: [published])
    try b.store.insert("theirs")
    try b.store.sync()
  }

  /// Everything that is in the folder, for a device that keeps its name, and of whose deltas there
  /// are so many.
  private func forked(
    _ packs: [[UInt8]], last: UInt64, of device: StoreDevice? = nil
  ) throws -> Rejoining {
    let device = device ?? a
    let staged = try Store.open(
      StoreDevice.directory + "/again", datastore: StoreDevice.datastore, isLinked: true,
      options: device.options, machine: device.machine)
    try staged.sync(packs: packs)
    return Rejoining(
      staged: staged, device: device.id, common: CommonBranch(device.id, through: last))
  }

  @Test func `a device stays retired, and the cut that was made with it goes`() throws {
    try a.store.sync(packs: [try b.store.pack()])
    try a.store.retire(b.id)
    try a.store.sync()
    let cut = Dot(device: a.id, sequence: 2)
    #expect(a.store.retired == [b.id] && a.store.cuts.cuts.map(\.dot) == [cut])
    let name = a.id
    let plan = try forked([published, try b.store.pack()], last: 1)
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    #expect(outcome.newDevice == nil && a.id == name && a.store.vector[name] == 2)
    for _ in 0..<2 {
      #expect(a.store.retired == [b.id] && a.store.cuts.cuts == [])
      try a.reopen()
    }
    // The next one leaves it out.
    a.store.requestCut()
    try a.store.sync()
    let next = try #require(a.store.cuts.cuts.first)
    #expect(next.dot == Dot(device: a.id, sequence: 3) && next.members == [a.id])
    #expect(next.isSealed && a.store.vector[b.id] == 1)
  }

  @Test func `so it does where the deltas get another name`() throws {
    try a.store.sync(packs: [try b.store.pack()])
    try a.store.retire(b.id)
    try a.store.sync()
    let name = a.id
    let plan = try a.rejoining(
      published: published, others: try b.store.pack(), isOnTop: false)
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    #expect(outcome.newDevice == a.id && a.id != name && a.store.vector[a.id] == 1)
    for _ in 0..<2 {
      #expect(a.store.retired == [b.id] && a.store.cuts.cuts == [])
      try a.reopen()
    }
  }

  @Test func `nobody is told of cuts that come and go with another name`() throws {
    try a.store.sync(packs: [try b.store.pack()])
    try a.store.retire(b.id)
    try a.store.sync()
    #expect(a.store.cuts.cuts.count == 1)
    a.store.watch(true, records: true)
    let plan = try a.rejoining(
      published: published, others: try b.store.pack(), isOnTop: false)
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    #expect(a.store.retired == [b.id] && a.store.cuts.cuts == [])
    #expect(outcome.changed == [])
    let news = a.store.takeChanges(remote: true)
    #expect(news.local.isEmpty && news.remote.records.isEmpty)
    #expect(news.remote.wholeTables.contains("t"), "all of it may have changed")
    #expect(!news.remote.wholeTables.contains(":cuts"))
  }

  @Test func `the name that a device has just left is known when it starts anew again`() throws {
    try a.store.insert("mine")
    try a.store.sync()
    let old = a.id
    var plan = try a.rejoining(published: published, others: try b.store.pack())
    plan.leavesName = true
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    // That a name was left is nobody's data.
    #expect(outcome.changed.map(\.table) == ["t"])
    #expect(outcome.changed.map(\.id) == [RecordName("theirs")])
    let name = a.id
    let left = EarlierName(old, next: name, common: 1)
    let last = a.store.vector[name]
    #expect(name != old && a.store.retired == [old])
    #expect(a.store.cuts.earlierNames == [old: left])
    // Nothing of that is published yet.
    let fork = try forked([published, try b.store.pack()], last: 0)
    #expect(try a.store.rejoin(fork) { _ in } != nil)
    try fork.staged.close()
    #expect(a.id == name && a.store.vector[name] == last)
    for _ in 0..<2 {
      #expect(a.store.retired == [old] && a.store.cuts.earlierNames == [old: left])
      #expect(a.store.cuts.earlierNames(of: name) == [left])
      #expect(try a.store.count(table: "t") == 3)
      try a.reopen()
    }
    // Others hear of it.
    try b.store.sync(packs: [try a.store.pack()])
    #expect(b.store.cuts == a.store.cuts && b.store.vector == a.store.vector)
  }

  /// Without it nobody would apply the delta, and the device could never be put together.
  @Test func `what was made on a history that has lost has seen the cut of the other one`() throws {
    let lost = try StoreDevice(1, time: 1000)
    try #require(lost.id == a.id)
    try lost.store.insert("r", ["x": 1])
    try lost.store.sync()
    for name in ["lost1", "lost2"] {
      try lost.store.insert(name)
      try lost.store.sync()
    }
    let c = try StoreDevice(3, time: 3000)
    try c.store.sync(packs: [try lost.store.pack()])
    try c.store.insert("of-c")
    try c.store.sync()
    try a.store.sync(packs: [try b.store.pack()])
    try a.store.retire(b.id)
    try a.store.sync()
    let seen = VersionVector([
      Dot(device: a.id, sequence: 2), Dot(device: b.id, sequence: 1),
    ])
    let cut = try #require(a.store.cuts.cuts.first)
    #expect(cut.isSealed && cut.members == [a.id] && cut.context == seen)
    var plan = try forked([try b.store.pack(), try a.store.pack()], last: 0, of: c)
    (plan.forked, plan.agreed) = ([a.id], [a.id: 1])
    let outcome = try #require(try c.store.rejoin(plan) { _ in })
    try plan.staged.close()
    #expect(outcome.newDevice == nil && outcome.conflicts.isEmpty)
    #expect(c.store.vector[c.id] == 1 && c.store.vector[a.id] == 2)
    var reader = try PackReader(try c.store.pack())
    var delta = Delta()
    let isThere = try reader.next(into: &delta)
    #expect(isThere && VersionVector(delta.dependencies) == seen)
    // Nor does anybody hold it.
    try a.store.sync(packs: [try c.store.pack()])
    #expect(a.store.vector == c.store.vector && a.store.cuts == c.store.cuts)
    for device in [a, c] {
      let names = try device.store.query(table: "t", []).map(\.text)
      #expect(names.sorted() == ["of-c", "r", "theirs"])
    }
  }

  /// Both histories have an item of that name.
  @Test func `what is committed on top does nothing to items of a history that was not seen`()
    throws
  {
    let lost = try StoreDevice(2, time: 2000)
    try #require(lost.id == b.id)
    try lost.store.sync(packs: [published])
    try lost.store.insert("theirs")
    try lost.store.sync()
    func edit(_ device: StoreDevice, _ operation: ListOperation) throws {
      try device.store.edit(table: "t", id: RecordName("r"), field: "l", operation)
      try device.store.sync()
    }
    for (device, item) in [(b, "won"), (lost, "lost")] as [(StoreDevice, FieldValue)] {
      try device.store.set("r", ["l": .list(["1"])])
      try device.store.sync()
      try edit(device, .append(item))
    }
    try a.store.sync(packs: [try lost.store.pack()])
    try #require(try a.store.get("r") == ["x": 1, "l": .list(["1", "lost"])])
    try edit(a, .append("mine"))
    try edit(a, .replace(at: 1, "replaced"))
    try edit(a, .remove(at: 1))
    var plan = try a.rejoining(published: published, others: try b.store.pack())
    (plan.forked, plan.agreed) = ([b.id], [b.id: 2])
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    #expect(outcome.newDevice == a.id && outcome.conflicts.isEmpty)
    #expect(a.store.vector[a.id] == 3)
    try b.store.sync(packs: [try a.store.pack()])
    for device in [a, b] {
      #expect(try device.store.get("r") == ["x": 1, "l": .list(["1", "won", "mine"])])
    }
  }
}
