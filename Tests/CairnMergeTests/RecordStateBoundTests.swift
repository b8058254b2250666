import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// States of records that would take more memory, or time, than there is.
struct RecordStateBoundTests {
  private let early = Stamp(dot: Dot(device: DeviceID(rawValue: 7), sequence: 1), time: 5)
  private let late = Stamp(dot: Dot(device: DeviceID(rawValue: 8), sequence: 1), time: 6)

  private func edited(_ stamps: [Stamp]) -> Register {
    Register(
      entries: stamps.map { Entry(stamp: $0, born: [], value: .list([]), isAdd: false) },
      lists: stamps.map { ListState([.int(1)], stamp: $0, isCreated: false) })
  }

  /// The bytes of a state but for its last list.
  private func withoutLastList(_ state: RecordState, _ stamp: Stamp) -> [UInt8] {
    var (all, last): ([UInt8], [UInt8]) = ([], [])
    RecordStateCoding.encode(state, into: &all)
    ListStateCoding.encode(ListState([.int(1)], stamp: stamp, isCreated: false), into: &last)
    #expect(Array(all.suffix(last.count)) == last)
    return Array(all[..<(all.count - last.count)])
  }

  /// A list of one delta of device 9, which says how many nodes it has, but for these.
  private func claim(_ nodes: UInt64) -> [UInt8] {
    var bytes: [UInt8] = [0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0]
    bytes.putVarint(nodes)
    return bytes
  }

  private func expect(_ error: DecodeError, _ bytes: [UInt8]) {
    #expect(throws: error) { try RecordStateCoding.decode(bytes, 0..<bytes.count) }
  }

  @Test func `all lists of a record together have no more nodes than one may have`() {
    let most: UInt64 = 1 << 24
    let twoFields = RecordState(fields: ["a": edited([early]), "b": edited([early])])
    let oneField = RecordState(fields: ["a": edited([early, late])])
    for bytes in [withoutLastList(twoFields, early), withoutLastList(oneField, late)] {
      // The first one has its root and an item.
      expect(.limit, bytes + claim(most - 1))
      expect(.truncated, bytes + claim(most - 2))
    }
    #expect(throws: DecodeError.truncated) {
      var reader = ByteReader(claim(most))
      _ = try ListStateCoding.decode(&reader)
    }
  }

  @Test func `the lists of several records together have no more nodes than is said`() throws {
    // A root and an item each.
    let state = RecordState(fields: ["a": edited([early]), "b": edited([early, late])])
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    var nodes = 13
    for left in [7, 1] {
      #expect(try RecordStateCoding.decode(bytes, 0..<bytes.count, nodes: &nodes) == state)
      #expect(nodes == left)
    }
    #expect(throws: DecodeError.limit) {
      try RecordStateCoding.decode(bytes, 0..<bytes.count, nodes: &nodes)
    }
  }

  @Test func `what a delete had seen is in the order of devices, each of them once`() throws {
    let (first, second): ([UInt8], [UInt8]) = (
      [7, 0, 0, 0, 0, 0, 0, 0, 1], [8, 0, 0, 0, 0, 0, 0, 0, 1]
    )
    // One tombstone with a context of two dots; no presences, no fields.
    func bytes(_ context: [UInt8]) -> [UInt8] {
      Array([[1], first, [2], context, [0, 0]].joined())
    }
    let right = bytes(first + second)
    let state = RecordState(
      tombstones: [Tombstone(dot: early.dot, context: VersionVector([early.dot, late.dot]))])
    #expect(try RecordStateCoding.decode(right, 0..<right.count) == state)
    for context in [second + first, first + first, second + second] {
      expect(.malformed("a vector whose devices are out of order"), bytes(context))
    }
  }
}
