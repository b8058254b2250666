import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// Snapshots whose checksums and rows are right, and which say what no delta can say: own deltas
/// would say it once more, and nobody could read them.
struct SnapshotRefusalTests {
  private let first = stamp(7, 1, 1)
  private let nobody = Dot(device: DeviceID(rawValue: 0), sequence: 1)

  /// A record with a list to which two have added at once, at one place.
  private var state: RecordState {
    var list = ListState([.int(1)], stamp: first, isCreated: false)
    for (device, time) in [(10, 50), (11, 60)] {
      var edit = ListEdit()
      edit.chains = [ListEdit.Chain(parent: NodeID(first.dot, 1), side: .right, count: 1)]
      edit.inserted = ListItems([.int(Int64(device - 8))])
      let author = stamp(device, 1, time)
      list.apply(edit, stamp: author, context: VersionVector([first.dot, author.dot]))
    }
    var register = Register(.list([.int(1)]), stamp: first)
    register.lists = [list]
    return RecordState(presences: [Presence(stamp: first, born: [])], fields: ["l": register])
  }

  /// Of two records, one plain and one that is not.
  private func snapshot(
    _ name: String = "r", presence: Stamp? = nil, state: RecordState? = nil,
    stateBytes: [UInt8]? = nil, changing change: (inout SnapshotDescription) -> Void = { _ in }
  ) throws -> [UInt8] {
    let plain = SampleRow(packed(1), presence: presence ?? first, [("n", .int(1), first)])
    var row = SampleRow(.text(name), state: state ?? self.state)
    row.stateBytes = stateBytes
    var description = SnapshotDescription()
    description.vector = VersionVector([first.dot, stamp(10, 1).dot, stamp(11, 1).dot])
    description.contexts = [first.dot.device: VersionVector([first.dot])]
    change(&description)
    return try BlockSample.snapshot(
      [("t", [plain, row])], datastore: StoreDevice.datastore, description: description)
  }

  /// The same list with the two authors' times the other way round: what they have added is not.
  private func disorderedState() throws -> [UInt8] {
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    let (first, second) = (bytes.firstIndex(of: 2 * 50), bytes.firstIndex(of: 2 * 60))
    let (early, late) = (try #require(first), try #require(second))
    for (isSwapped, isInTreeOrder) in [(false, true), (true, false)] {
      if isSwapped { bytes.swapAt(early, late) }
      let list = try RecordStateCoding.decode(bytes, 0..<bytes.count).fields["l"]?.lists.first
      #expect(list?.isInTreeOrder == isInTreeOrder)
      #expect(list?.values(.remote) == [.int(1), .int(2), .int(3)])
    }
    return bytes
  }

  /// One snapshot for each, and what is said of it.
  private func wrong() throws -> [(words: String, bytes: [UInt8])] {
    var result: [(words: String, bytes: [UInt8])] = []
    // The last one is the text of an id that has another form.
    for id in ["", "a b", String(repeating: "x", count: 65), String(repeating: "A", count: 22)] {
      result.append(("block 1 has an id that no record can have", try snapshot(id)))
    }
    let unsigned = Stamp(dot: nobody, time: 1)
    result.append(("block 0: a stamp of no delta", try snapshot(presence: unsigned)))
    var other = state
    other.presences = [Presence(stamp: unsigned, born: [])]
    result.append(("record r: a stamp of no delta", try snapshot(state: other)))
    for dot in [nobody, Stamp.settled.dot] {
      other.presences = [Presence(stamp: first, born: [dot])]
      result.append(("record r: a dot of no delta", try snapshot(state: other)))
      other = state
      other.tombstones = [Tombstone(dot: dot, context: VersionVector([first.dot]))]
      result.append(("record r: a dot of no delta", try snapshot(state: other)))
      other = state
    }
    result.append(
      ("a list of record r is not in its own order", try snapshot(stateBytes: disorderedState())))
    let changes: [(inout SnapshotDescription) -> Void] = [
      { $0.vector.insert(nobody) }, { $0.fence.insert(nobody) },
      { $0.contexts[nobody.device] = VersionVector([first.dot]) },
      { $0.contexts[first.dot.device] = VersionVector([nobody]) },
    ]
    for change in changes {
      result.append(("the description: a device's number", try snapshot(changing: change)))
    }
    for (count, words) in [
      (FormatBounds.devices, "the description: more devices than a delta can name"),
      (FormatBounds.devicesOfOthers, "devices, more than there is room for"),
    ] {
      let crowd = try snapshot { description in
        description.vector = VersionVector(
          (1...count).map { Dot(device: DeviceID(rawValue: UInt64($0)), sequence: 1) })
      }
      result.append((words, crowd))
    }
    var nothing = SnapshotDescription()
    nothing.vector = VersionVector([first.dot])
    let empty = try BlockSample.snapshot(
      [("t", [SampleRow(packed(1), presence: first, [("n", .int(1), first)])]), ("u", [])],
      datastore: StoreDevice.datastore, description: nothing)
    result.append(("a table without rows", empty))
    let unseen = stamp(12, 1).dot
    let contexts: [(device: Dot, seen: [Dot])] = [
      (first.dot, [first.dot, unseen]), (unseen, [first.dot]), (unseen, [unseen]),
    ]
    for (device, seen) in contexts {
      let bytes = try snapshot { $0.contexts[device.device] = VersionVector(seen) }
      result.append(("the description: a context of what is not in the snapshot", bytes))
    }
    return result
  }

  private func take(_ bytes: [UInt8], _ device: StoreDevice) throws {
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, bytes)
    if device.store.isBlank { return try device.store.adopt(snapshot: path) }
    let outcome = try device.store.join(snapshot: path)
    #expect(outcome?.appliedCount == 3)
  }

  @Test func `what no delta can say is neither taken from a snapshot nor joined`() throws {
    let (blank, joining) = (try StoreDevice(2), try StoreDevice(3))
    try joining.store.insert("mine", ["n": 2])
    try joining.store.sync()
    for device in [blank, joining] {
      let before = try StoreContent(device.store)
      for (words, bytes) in try wrong() {
        let error = #expect(throws: StoreError.self, "\(words)") { try take(bytes, device) }
        #expect(error?.log?.reason == .corrupt, "\(words)")
        #expect(error?.message.contains(words) == true, "\(words): \(error?.message ?? "")")
      }
      let snapshots = StoreDevice.directory + "/" + FileName.snapshots
      #expect(try device.disk.list(snapshots).isEmpty)
      #expect(try StoreContent(device.store) == before)
      try take(snapshot(), device)
      try device.reopen()
      #expect(try device.store.get(packed(1).text) == ["n": 1])
      #expect(try device.store.get("r") == ["l": .list([1, 2, 3])])
    }
    #expect(try blank.store.count(table: "t") == 2)
    #expect(try joining.store.get("mine") == ["n": 2])
  }
}
