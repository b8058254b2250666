import CairnBytes
import CairnLog
import CairnMerge

/// Gives back what a damaged snapshot has lost of records that segments below it still have as a
/// whole: segments are kept for what is not published.
///
/// These are records that this device has inserted there without having known any of that name,
/// and of which no other device says anything there. So nothing but its own deltas made them what
/// they were in the snapshot, unless another device's snapshot was joined: that may have brought
/// something newer of what was published.
struct KeptRecords {
  private let segments: [SegmentSalvage]
  private(set) var found: Set<TouchedRecord.Key> = []
  private var strange: Set<TouchedRecord.Key> = []

  /// All that are kept. Nil if one of them is not whole: a delete may be what it lacks.
  init?(_ segments: [SegmentSalvage]) {
    for segment in segments {
      guard segment.isSealed else { return nil }
      for part in segment.parts {
        if case .damage = part { return nil }
      }
    }
    self.segments = segments
  }

  /// Gives the records to a state that has the snapshot and nothing that is behind it.
  mutating func run(into state: inout StoreState) throws {
    try look(in: &state)
    if !found.isEmpty { try apply(to: &state) }
  }

  // MARK: which

  private mutating func look(in state: inout StoreState) throws {
    var delta = Delta()
    for segment in segments {
      var decoder = DeltaDecoder()
      for case .frame(let frame) in segment.parts {
        let payload = try frame.payload(segment.bytes)
        switch FrameKind(rawValue: frame.kind) {
        case .delta:
          try KeptRecords.decode(payload, frame, by: &decoder, into: &delta)
          try noteOwn(delta, decoder.records, &state)
        case .pack: try noteOthers(payload)
        case .seal, nil: throw DecodeError.newer("a frame of an unknown kind")
        }
      }
    }
    found.subtract(strange)
  }

  private static func decode(
    _ payload: [UInt8], _ frame: Frame, by decoder: inout DeltaDecoder, into delta: inout Delta
  ) throws(DecodeError) {
    var reader = ByteReader(payload)
    let dot = Dot(device: DeviceID(rawValue: frame.device), sequence: frame.sequence)
    try decoder.decode(&reader, dot: dot, into: &delta)
    guard reader.isAtEnd else { throw .malformed("bytes after a delta's end") }
  }

  private mutating func noteOwn(
    _ delta: Delta, _ names: [RecordName], _ state: inout StoreState
  ) throws(StoreError) {
    for section in delta.sections {
      let number = state.table(section.table)
      for index in section.records {
        let entry = delta.records[index]
        let key = TouchedRecord.Key(table: section.table, id: names[Int(entry.reference)])
        if found.contains(key) || strange.contains(key) { continue }
        // Cuts are about the deltas that they were made with.
        if entry.flags == Delta.Flags.insert, section.table != CutTable.name,
          case .nowhere = try state.tables[number].find(key.id, &state.ground)
        {
          found.insert(key)
        } else {
          strange.insert(key)
        }
      }
    }
  }

  private mutating func noteOthers(_ payload: [UInt8]) throws(DecodeError) {
    var delta = Delta()
    var reader = ByteReader(payload)
    for _ in 0..<(try reader.count(minimumSize: 8)) {
      let last = try reader.varint()
      var pack = try PackReader(payload, try reader.blob())
      while pack.nextSequence <= last, try pack.next(into: &delta) {
        let names = pack.records
        for section in delta.sections {
          for entry in delta.records[section.records] {
            strange.insert(
              TouchedRecord.Key(table: section.table, id: names[Int(entry.reference)]))
          }
        }
      }
    }
  }

  // MARK: what they were

  private func apply(to state: inout StoreState) throws {
    // What else these deltas say is there, or lost.
    let vector = state.vector
    defer { state.vector = vector }
    var delta = Delta()
    for segment in segments {
      var decoder = DeltaDecoder()
      var slots: [UInt32] = []
      for case .frame(let frame) in segment.parts where frame.kind == FrameKind.delta.rawValue {
        let payload = try frame.payload(segment.bytes)
        try KeptRecords.decode(payload, frame, by: &decoder, into: &delta)
        let names = decoder.records
        for table in delta.sections.map(\.table) {
          delta.drop(table: table) { reference in
            found.contains(TouchedRecord.Key(table: table, id: names[Int(reference)]))
          }
        }
        try state.apply(delta, heap: payload, names: names, slots: &slots)
      }
    }
  }
}
