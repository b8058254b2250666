import CairnBytes
import CairnMerge
import Testing

/// The byte that says what an entry in a record's state is.
struct EntryKindTests {
  private func bytes(_ value: FieldValue, isAdd: Bool) -> [UInt8] {
    let stamp = Stamp(dot: Dot(device: DeviceID(rawValue: 1), sequence: 3), time: 5)
    let entry = Entry(stamp: stamp, born: [], value: value, isAdd: isAdd)
    var out: [UInt8] = []
    RecordStateCoding.encode(RecordState(fields: ["f": Register(entries: [entry])]), into: &out)
    return out
  }

  /// What is said of a state whose only entry has this kind.
  private func failure(_ kind: UInt8, _ value: FieldValue) throws -> DecodeError? {
    var bent = bytes(value, isAdd: false)
    let adding = bytes(value, isAdd: true)
    let places = bent.indices.filter { bent[$0] != adding[$0] }
    try #require(places.count == 1)
    bent[places[0]] = kind
    do {
      _ = try RecordStateCoding.decode(bent, 0..<bent.count)
      return nil
    } catch { return error }
  }

  @Test func `an entry is of a kind that is known, and nothing but a list was edited`() throws {
    for value in [FieldValue.int(1), .list([.int(1)])] {
      #expect(try failure(0, value) == nil)
      #expect(try failure(1, value) == nil)
      for kind in UInt8.min...UInt8.max where kind > 7 || kind & 3 == 3 {
        #expect(try failure(kind, value) == .malformed("an entry's kind"), "\(kind), \(value)")
      }
    }
    #expect(try failure(2, .list([.int(1)])) == nil)
    for kind: UInt8 in [2, 4, 5, 6] {
      #expect(try failure(kind, .int(1)) == .malformed("an entry's kind"), "\(kind)")
      #expect(try failure(kind, .string("[]")) == .malformed("an entry's kind"), "\(kind)")
    }
    // Of one that was edited its state has to follow.
    for kind: UInt8 in [4, 5, 6] { #expect(try failure(kind, .list([.int(1)])) != nil) }
  }
}
