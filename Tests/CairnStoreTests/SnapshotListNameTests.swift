import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Snapshots of others with lists that no edit could name: it would be written, and nobody could
/// read it, the device itself neither.
struct SnapshotListNameTests {
  private let first = stamp(7, 1, 1)
  private let second = stamp(10, 1, 2)

  private func snapshot(_ row: SampleRow) throws -> [UInt8] {
    var description = SnapshotDescription()
    description.vector = VersionVector([first.dot, second.dot])
    description.contexts = [first.dot.device: VersionVector([first.dot])]
    return try BlockSample.snapshot(
      [("t", [row])], datastore: StoreDevice.datastore, description: description)
  }

  /// A record with a list of this stamp, in a plain row.
  private func plain(_ stamp: Stamp) -> SampleRow {
    SampleRow(.text("r"), presence: first, [("l", .list([1]), stamp)])
  }

  private func record(_ register: Register) -> SampleRow {
    let presence = Presence(stamp: first, born: [])
    return SampleRow(
      .text("r"), state: RecordState(presences: [presence], fields: ["l": register]))
  }

  /// The same in a state that has more to tell.
  private func entry(_ stamp: Stamp) -> SampleRow {
    record(Register(.list([1]), stamp: stamp))
  }

  /// A list to which a delta of this stamp has added an item.
  private func edited(_ stamp: Stamp) -> SampleRow {
    var list = ListState([1], stamp: first, isCreated: false)
    var edit = ListEdit()
    edit.chains = [ListEdit.Chain(parent: NodeID(first.dot, 1), side: .right, count: 1)]
    edit.inserted = ListItems([2])
    list.apply(edit, stamp: stamp, context: VersionVector([first.dot, stamp.dot]))
    var register = Register(.list([1]), stamp: first)
    register.lists = [list]
    return record(register)
  }

  private func take(_ bytes: [UInt8], _ device: StoreDevice) throws {
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, bytes)
    if device.store.isBlank { return try device.store.adopt(snapshot: path) }
    #expect(try device.store.join(snapshot: path) != nil)
  }

  private func device(isBlank: Bool) throws -> StoreDevice {
    let device = try StoreDevice(3)
    if isBlank { return device }
    try device.store.insert("mine", ["n": 2])
    try device.store.sync()
    return device
  }

  @Test(arguments: [false, true])
  func `a list of no delta that there is is not taken`(isBlank: Bool) throws {
    let device = try device(isBlank: isBlank)
    let before = try StoreContent(device.store)
    let own = Stamp(dot: Dot(device: device.id, sequence: 1_000_000), time: 3)
    let unseen = [own, stamp(7, 2, 3), stamp(9, 1, 3)]
    var wrong = unseen.map(edited)
    for stamp in unseen + [Stamp.settled] { wrong += [plain(stamp), entry(stamp)] }
    for (number, row) in wrong.enumerated() {
      let bytes = try snapshot(row)
      let error = #expect(throws: StoreError.self, "\(number)") { try take(bytes, device) }
      #expect(error?.log?.reason == .corrupt, "\(number)")
      let words = "a list of record r is of no delta in the snapshot"
      #expect(error?.message.contains(words) == true, "\(number): \(error?.message ?? "")")
    }
    let snapshots = StoreDevice.directory + "/" + FileName.snapshots
    #expect(try device.disk.list(snapshots).isEmpty)
    #expect(try StoreContent(device.store) == before)
  }

  @Test(arguments: [false, true], [0, 1, 2])
  func `any other is, and can be edited`(isBlank: Bool, form: Int) throws {
    let device = try device(isBlank: isBlank)
    try take(snapshot([plain, entry, edited][form](second)), device)
    try device.store.edit(table: "t", id: RecordName("r"), field: "l", .append(3))
    try device.store.sync()
    let items: [FieldValue] = form == 2 ? [1, 2, 3] : [1, 3]
    #expect(try device.store.get("r") == ["l": .list(items)])
    try device.reopen()
    #expect(try device.store.get("r") == ["l": .list(items)])
  }

  @Test func `a local datastore's own lists are of no delta, and it is right so`() throws {
    let device = try StoreDevice(1, isLinked: false)
    try device.store.insert("r", ["l": .list([1])])
    try device.store.sync()
    _ = try device.store.compact()
    let path = try #require(device.store.snapshotFile()?.path)
    for isOthers in [false, true] {
      let isRight =
        refusal {
          _ = try SnapshotCheck.run(
            path, datastore: StoreDevice.datastore, disk: device.disk, isOthers: isOthers
          ) { _, _ in }
        } == nil
      #expect(isRight == !isOthers)
    }
  }
}
