import CairnMerge
import Testing

/// Records of which no insert is alive any more.
struct AliveByValueTests {
  private let stamp = Stamp(dot: Dot(device: DeviceID(rawValue: 1), sequence: 3), time: 5)

  /// The insert of each of two incarnations was deleted by somebody, and a value had seen both.
  @Test func `a record that only a value keeps alive is there in its bytes, too`() throws {
    let removed = Register(nil, stamp: stamp)
    let value = Register(.int(1), stamp: stamp)
    let delete = Tombstone(dot: stamp.dot, context: VersionVector([stamp.dot]))
    let states: [(RecordState, Bool)] = [
      (RecordState(), false),
      (RecordState(presences: [Presence(stamp: stamp, born: [])]), true),
      (RecordState(presences: [Presence(stamp: stamp, born: [])], fields: ["a": removed]), true),
      (RecordState(fields: ["a": removed, "b": value]), true),
      (RecordState(tombstones: [delete], fields: ["b": value]), true),
      (RecordState(fields: ["a": removed]), false),
      (RecordState(tombstones: [delete]), false),
    ]
    for (index, (state, exists)) in states.enumerated() {
      var bytes: [UInt8] = []
      RecordStateCoding.encode(state, into: &bytes)
      #expect(state.exists == exists, "\(index)")
      #expect(try RecordStateCoding.exists(bytes, 0..<bytes.count) == exists, "\(index)")
      #expect(try RecordStateCoding.decode(bytes, 0..<bytes.count) == state, "\(index)")
    }
  }
}
