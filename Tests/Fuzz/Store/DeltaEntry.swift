import CairnBytes
import CairnFuzzBytes
import CairnMerge
import CairnStore

/// `kind u8 · bytes`: what lies behind the checksums of frames, packs and blocks.
enum DeltaEntry {
  static func run(_ bytes: [UInt8]) throws {
    guard let kind = bytes.first else { return }
    let body = Array(bytes.dropFirst())
    switch kind % 8 {
    case 0: scope(body)
    case 1: pack(body)
    case 2: try recordState(body)
    case 3: try listState(body)
    case 4: edit(body)
    case 5: _ = try? ListSplicesCoding.decode(body, 0..<body.count)
    case 6: try list(body)
    default: try description(body)
    }
  }

  /// Deltas one after the other, as the frames of a log have them.
  private static func scope(_ body: [UInt8]) {
    var decoder = DeltaDecoder()
    var delta = Delta()
    var reader = ByteReader(body)
    for sequence in UInt64(1)...16 {
      let dot = Dot(device: DeviceID(rawValue: 1), sequence: sequence)
      guard (try? decoder.decode(&reader, dot: dot, into: &delta)) != nil else { return }
    }
  }

  private static func pack(_ body: [UInt8]) {
    guard var reader = try? PackReader(body) else { return }
    var writer = PackWriter(device: reader.header.device, first: reader.header.first)
    var map: [UInt32] = []
    var delta = Delta()
    while (try? reader.next(into: &delta)) == true {
      writer.append(delta, heap: reader.heap, names: reader.records, map: &map)
    }
    guard !writer.isEmpty else { return }
    // What is read can be written again, and that can be read.
    guard var again = try? PackReader(writer.bytes()) else { return }
    while (try? again.next(into: &delta)) == true {}
  }

  private static func recordState(_ body: [UInt8]) throws {
    let range = 0..<body.count
    let count = try? RecordStateCoding.listCount(of: "l", body, range)
    let items = try? RecordStateCoding.listItems(of: "l", body, range)
    guard let state = try? RecordStateCoding.decode(body, range) else { return }
    try FuzzFinding.check(
      (try? RecordStateCoding.exists(body, range)) == state.exists,
      "whether a record is there depends on who asks")
    if let count = count ?? nil, let items = items ?? nil {
      try FuzzFinding.check(count == items.count, "\(items.count) items are \(count)")
    }
    for rule in Rule.allCases {
      _ = state.visible { _ in rule }
      _ = state.size { _ in rule }
      _ = state.conflicts { _ in rule }
    }
    var bytes: [UInt8] = []
    RecordStateCoding.encode(state, into: &bytes)
    guard let again = try? RecordStateCoding.decode(bytes, 0..<bytes.count) else {
      throw FuzzFinding("a record's state that was read can't be written and read again")
    }
    try FuzzFinding.check(
      again.visible { _ in .remote } == state.visible { _ in .remote },
      "a record's state shows something else when it was written and read again")
  }

  private static func listState(_ body: [UInt8]) throws {
    var skim = ByteReader(body)
    guard let state = try? ListStateCoding.decode(&skim) else { return }
    let values = state.values(.remote)
    var bytes: [UInt8] = []
    ListStateCoding.encode(state, into: &bytes)
    var reader = ByteReader(bytes)
    guard let again = try? ListStateCoding.decode(&reader) else {
      throw FuzzFinding("a list's state that was read can't be written and read again")
    }
    try FuzzFinding.check(
      "\(again.values(.remote))" == "\(values)", "a list shows something else when read again")
  }

  private static func edit(_ body: [UInt8]) {
    let dot = Dot(device: DeviceID(rawValue: 1), sequence: 9)
    let devices = [DeviceID(rawValue: 2), DeviceID(rawValue: 3)]
    guard
      let edit = try? ListEditCoding.decode(body, 0..<body.count, dot: dot, devices: devices)
    else { return }
    var list = ListState(
      [.int(1), .string("two"), .int(3)], stamp: Stamp(dot: Dot(device: devices[0], sequence: 1),
      time: 1), isCreated: false)
    list.apply(edit, stamp: Stamp(dot: dot, time: 2), context: VersionVector())
    _ = list.values(.remote)
    var bytes: [UInt8] = []
    ListStateCoding.encode(list, into: &bytes)
  }

  private static func list(_ body: [UInt8]) throws {
    guard let items = try? ListCoding.decode(body, 0..<body.count) else { return }
    var bytes: [UInt8] = []
    ListCoding.encode(items, into: &bytes)
    // Early versions wrote each NaN as it came.
    var canonical = body
    ListCoding.makeCanonical(&canonical, 0..<body.count)
    try FuzzFinding.check(bytes == canonical, "a list has more than one form")
  }

  private static func description(_ body: [UInt8]) throws {
    guard let count = body.first,
      let found = try? SnapshotDescription(Array(body.dropFirst()), blockCount: Int(count))
    else { return }
    let again = try? SnapshotDescription(found.encoded(), blockCount: Int(count))
    try FuzzFinding.check(again == found, "a description that does not come back")
  }
}
