import CairnDisk
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What cuts decide by when they are heard of and applied, and what is heard of them no more.
struct CutOrderTests {
  /// Three devices have met; one cuts, a newcomer writes having seen that, and then the first one
  /// cuts again, not having heard of the newcomer: both cuts come in one file.
  @Test(arguments: [false, true])
  func `what a cut lets in comes before the next cut of the same file`(
    isAuthorFirst: Bool
  ) throws {
    let group = try FenceGroup(3, isAutomatic: false)
    for number in 0..<3 {
      try group[number].insert("r\(number)", ["x": 1])
      try group[number].sync()
    }
    try group.settle()
    group[0].requestCut()
    try group[0].sync()
    try group.publish(0)
    let newcomer = try group.add(88, isAutomatic: false)
    try group.read(newcomer, from: [0, 1, 2])
    #expect(group[newcomer].cuts == group[0].cuts)
    try group[newcomer].insert("late", ["x": 9])
    try group[newcomer].sync()
    try group.publish(newcomer)
    try group[0].retire(group.devices[2].id)
    try group[0].sync()
    try group.publish(0)
    #expect(group[0].cuts.cuts.map(\.isSealed) == [false, false])

    let outcome = try group.read(1, from: isAuthorFirst ? [0, newcomer] : [newcomer, 0])
    #expect(outcome.held.isEmpty && outcome.refused.isEmpty && outcome.failures.isEmpty)
    #expect(outcome.appliedCount == 3)
    #expect(try group[1].get("late") == ["x": 9])
    #expect(group[1].cuts == group[0].cuts)
  }

  /// What waits is delivered in parts, and the cut is in a later one.
  @Test(arguments: [false, true])
  func `what a cut keeps out is held in an earlier part, if the cut was heard of before`(
    isHeard: Bool
  ) throws {
    let (author, other) = (try StoreDevice(1), try StoreDevice(2))
    let (reader, stranger) = (try StoreDevice(3), try StoreDevice(4))
    for (device, id) in [(author, "a"), (other, "o"), (stranger, "s")] {
      try device.store.insert(id, ["n": 1])
      try device.store.sync()
    }
    try reader.store.sync(packs: [try author.store.pack()])
    try author.store.sync(packs: [try other.store.pack()])
    author.store.requestCut()
    try author.store.sync()
    let cut = try #require(author.store.cuts.cuts.first)
    let pack = try author.store.pack()
    // Half of it says nothing.
    reader.store.hear(of: [UInt8](pack.prefix(pack.count / 2)))
    #expect(reader.store.cutAhead(of: reader.id) == nil)
    if isHeard { reader.store.hear(of: pack) }
    #expect(reader.store.cutAhead(of: reader.id)?.dot == (isHeard ? cut.dot : nil))
    #expect(reader.store.vector[author.id] == 1 && reader.store.cuts.isEmpty, "it is not applied")
    let early = try reader.store.sync(packs: [try stranger.store.pack()])
    #expect(early.held[0]?.dot == (isHeard ? cut.dot : nil))
    #expect(early.appliedCount == (isHeard ? 0 : 1))
    try reader.store.sync(packs: [try other.store.pack(), pack])
    #expect(reader.store.cuts.cuts.map(\.dot) == (isHeard ? [cut.dot] : []))
    #expect(reader.store.vector[author.id] == (isHeard ? cut.dot.sequence : 1))
    #expect(try (reader.store.get("s") == nil) == isHeard)
    #expect(try reader.store.get("o") == ["n": 1])
  }

  /// A cut was fetched that could not be applied, and the folder has another history by now.
  @Test func `what was heard of a cut before a store was put together anew holds nothing`() throws {
    let (author, other) = (try StoreDevice(1), try StoreDevice(2))
    let (reader, stranger) = (try StoreDevice(3), try StoreDevice(4))
    for (device, id) in [(author, "a"), (other, "o"), (stranger, "s")] {
      try device.store.insert(id, ["n": 1])
      try device.store.sync()
    }
    let (first, strange) = (try author.store.pack(), try stranger.store.pack())
    try author.store.sync(packs: [try other.store.pack()])
    author.store.requestCut()
    try author.store.sync()
    let cut = try #require(author.store.cuts.cuts.first)
    try reader.store.sync(packs: [first])
    // What it builds on is not there.
    try reader.store.sync(packs: [try author.store.pack()])
    #expect(reader.store.cuts.isEmpty)
    #expect(reader.store.cutAhead(of: reader.id)?.dot == cut.dot)
    #expect(try reader.store.judge(packs: [strange]).held[0]?.dot == cut.dot)

    let staged = try Store.open(
      StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
      options: reader.options, machine: reader.machine)
    try staged.sync(packs: [first])
    let plan = Rejoining(
      staged: staged, device: staged.device, common: CommonBranch(reader.id))
    #expect(try reader.store.rejoin(plan) { _ in } != nil)
    try staged.close()
    #expect(reader.store.cutAhead(of: reader.id) == nil)
    let outcome = try reader.store.sync(packs: [strange])
    #expect(outcome.held.isEmpty && outcome.appliedCount == 1)
    #expect(try reader.store.get("s") == ["n": 1])
    #expect(try reader.store.get("a") == ["n": 1])
  }
}
