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
  private func forked(_ packs: [[UInt8]], last: UInt64) throws -> Rejoining {
    let staged = try Store.open(
      StoreDevice.directory + "/again", datastore: StoreDevice.datastore, isLinked: true,
      options: a.options, machine: a.machine)
    try staged.sync(packs: packs)
    return Rejoining(
      staged: staged, device: a.id, common: CommonBranch(a.id, through: last))
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

  @Test func `the name that a device has just left is known when it starts anew again`() throws {
    try a.store.insert("mine")
    try a.store.sync()
    let old = a.id
    var plan = try a.rejoining(published: published, others: try b.store.pack())
    plan.leavesName = true
    #expect(try a.store.rejoin(plan) { _ in } != nil)
    try plan.staged.close()
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
}
