import CairnBytes
import CairnMerge
import TestSupport
import Testing

struct RecordStateCodingTests {
  static let full: RecordState = {
    let a = DeviceID(rawValue: 1)
    let b = DeviceID(rawValue: .max)
    let dot = Dot(device: a, sequence: 3)
    let other = Dot(device: b, sequence: 1 << 40)
    let stamp = Stamp(dot: dot, time: 1_700_000_000_000)
    let late = Stamp(dot: other, time: -5)
    let values: [FieldValue?] = [
      nil, .bool(true), .bool(false), .int(-1), .double(.nan), .date(9), .string("é"), .bytes([1]),
      .list([.int(1), .string("x")]),
    ]
    var state = RecordState(
      tombstones: [
        Tombstone(dot: dot, context: VersionVector([dot, other])),
        Tombstone(dot: other, context: VersionVector([other])),
      ],
      presences: [Presence(stamp: late, born: []), Presence(stamp: stamp, born: [dot, other])])
    for (index, value) in values.enumerated() {
      state.fields["f\(index)"] = Register(
        entries: [
          Entry(stamp: late, born: [], value: value, isAdd: false),
          Entry(stamp: stamp, born: [dot], value: .int(4), isAdd: true),
        ],
        bases: [
          Base(
            stamp: stamp, born: [dot], value: value,
            covered: [
              RunningTotal(device: a, last: 2, total: .int(-7)),
              RunningTotal(device: b, last: 9, total: .double(0.5)),
            ])
        ],
        totals: [Total(stamp: late, born: [], since: 1, total: .double(-0.0))])
    }
    return state
  }()

  private func encoded(_ state: RecordState) -> [UInt8] {
    var out: [UInt8] = []
    RecordStateCoding.encode(state, into: &out)
    return out
  }

  @Test func `a state with everything comes back`() throws {
    for state in [Self.full, RecordState()] {
      let bytes = encoded(state)
      #expect(try RecordStateCoding.decode(bytes, 0..<bytes.count) == state)
      let around = [1, 2] + bytes + [3]
      #expect(try RecordStateCoding.decode(around, 2..<(2 + bytes.count)) == state)
    }
  }

  @Test func `fields in another order are refused`() throws {
    let bytes = encoded(RecordState(fields: ["a": Register(.int(1)), "b": Register(.int(1))]))
    for (a, b) in [(0x62, 0x61), (0x61, 0x61)] as [(UInt8, UInt8)] {
      let bent = bytes.map { $0 == 0x61 ? a : $0 == 0x62 ? b : $0 }
      #expect(bent != bytes)
      #expect(throws: DecodeError.malformed("fields out of order")) {
        try RecordStateCoding.decode(bent, 0..<bent.count)
      }
    }
  }

  @Test func `what is said to be of a delta that can't be is refused`() {
    let good = Stamp(dot: Dot(device: DeviceID(rawValue: 7), sequence: 1), time: 5)
    let nobody = Dot(device: DeviceID(rawValue: 0), sequence: 1)
    let never = Dot(device: good.dot.device, sequence: 0)
    func refusal(_ state: RecordState) -> DecodeError? {
      let bytes = encoded(state)
      do {
        _ = try RecordStateCoding.decode(bytes, 0..<bytes.count)
        return nil
      } catch { return error }
    }
    func check(_ dot: Dot, _ expected: DecodeError?) {
      let tombstone = Tombstone(dot: dot, context: VersionVector([good.dot]))
      #expect(refusal(RecordState(tombstones: [tombstone])) == expected)
      let presence = Presence(stamp: good, born: [dot])
      #expect(refusal(RecordState(presences: [presence])) == expected)
      let register = Register(.int(1), stamp: good, born: [dot])
      #expect(refusal(RecordState(fields: ["f": register])) == expected)
    }
    check(good.dot, nil)
    for dot in [nobody, never, Stamp.settled.dot] {
      check(dot, .malformed("a dot of no delta"))
    }
    let tombstone = Tombstone(dot: good.dot, context: VersionVector([nobody]))
    #expect(refusal(RecordState(tombstones: [tombstone])) == .malformed("a dot of no delta"))
    for dot in [nobody, never] {
      let stamp = Stamp(dot: dot, time: 5)
      let presence = Presence(stamp: stamp, born: [])
      #expect(
        refusal(RecordState(presences: [presence])) == .malformed("a stamp of no delta"))
      #expect(
        refusal(RecordState(fields: ["f": Register(.int(1), stamp: stamp)]))
          == .malformed("a stamp of no delta"))
    }
    // Only what everybody has seen is of no delta.
    #expect(refusal(RecordState(fields: ["f": Register(.int(1))])) == nil)
    for (device, expected) in [(7, nil), (0, .malformed("a total of no device"))]
      as [(UInt64, DecodeError?)]
    {
      let total = RunningTotal(device: DeviceID(rawValue: device), last: 1, total: .int(1))
      let base = Base(stamp: good, born: [], value: .int(1), covered: [total])
      #expect(refusal(RecordState(fields: ["f": Register(bases: [base])])) == expected)
    }
  }

  @Test func `fields are written in order`() {
    var state = RecordState()
    for name in ["b", "a", "_", "Z", "z"].shuffled() { state.fields[name] = Register(.int(1)) }
    let bytes = encoded(state)
    for _ in 0..<10 {
      var again = RecordState()
      for name in ["b", "a", "_", "Z", "z"].shuffled() { again.fields[name] = Register(.int(1)) }
      #expect(encoded(again) == bytes)
    }
  }

  @Test func `every truncation is an error, and no flip traps`() {
    var state = Self.full
    state.fields = state.fields.filter { ["f3", "f5", "f8"].contains($0.key) }
    let bytes = encoded(state)
    for length in 0..<bytes.count {
      #expect(throws: DecodeError.self, "\(length)") {
        try RecordStateCoding.decode(bytes, 0..<length)
      }
    }
    #expect(throws: DecodeError.self) {
      try RecordStateCoding.decode(bytes + [0], 0..<(bytes.count + 1))
    }
    for bit in 0..<(bytes.count * 8) {
      var bent = bytes
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      // Under a good checksum other content is what somebody wrote.
      _ = try? RecordStateCoding.decode(bent, 0..<bent.count)
    }
  }
}
