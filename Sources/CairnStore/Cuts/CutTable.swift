package import CairnBytes
import CairnLog
package import CairnMerge

/// Cuts and retirements as records of a reserved table: they travel, merge and are snapshotted like
/// data, so that devices with the same deltas know the same of them.
///
///     <device>-<sequence>   a cut: `cut` is its content, `seal` the context of the delta that
///                           seals it
///     r-<device>            the device is retired: `at` is since when, `to` which name took its
///                           place, if its own device says so, and `moved` tells which of its
///                           deltas are there once more under which name
package enum CutTable {
  static let name = Cut.table
  static let cut = "cut"
  static let seal = "seal"
  static let since = "at"
  static let successor = "to"
  static let moved = "moved"

  static func record(_ dot: Dot) -> RecordName {
    RecordName("\(dot.device)-\(dot.sequence)")
  }

  static func record(retired device: DeviceID) -> RecordName {
    RecordName("\(Cut.retirement)\(device)")
  }

  /// The cut that a record is of, nil if it is of none.
  static func dot(_ record: RecordName) -> Dot? {
    let text = record.text
    guard let device = DeviceID(hex: String(text.prefix(16))),
      text.dropFirst(16).first == "-", let sequence = UInt64(text.dropFirst(17)), sequence > 0
    else { return nil }
    let dot = Dot(device: device, sequence: sequence)
    // A sign or a zero in front would make another record of the same cut.
    return CutTable.record(dot) == record ? dot : nil
  }

  static func retired(_ record: RecordName) -> DeviceID? {
    let text = record.text
    guard text.hasPrefix(Cut.retirement) else { return nil }
    return DeviceID(hex: String(text.dropFirst(Cut.retirement.count)))
  }

  /// Takes a record into the book. What can't be read says nothing.
  static func read(
    _ record: RecordName, _ fields: [(String, FieldValue)], into book: inout CutBook
  ) {
    if let device = retired(record) {
      book.retired.insert(device)
      for case (CutTable.successor, .bytes(let bytes)) in fields {
        let name = decoded { () throws(DecodeError) in try EarlierName(device, bytes) }
        if let name { book.earlierNames[device] = name }
      }
      for case (CutTable.moved, .bytes(let bytes)) in fields {
        let next = book.earlierNames[device]?.next
        book.moved[device] = decoded { () throws(DecodeError) in try chains(bytes, under: next) }
      }
    }
    guard let dot = dot(record) else { return }
    var cut: Cut?
    var seal: VersionVector?
    for case (let field, .bytes(let bytes)) in fields {
      if field == CutTable.cut { cut = decoded { () throws(DecodeError) in try Cut(dot, bytes) } }
      if field == CutTable.seal {
        seal = decoded { () throws(DecodeError) in try VersionVector(bytes: bytes) }
      }
    }
    cut?.seal = seal
    if let cut { book.insert(cut) }
  }

  static func encoded(_ chains: [UInt64], under name: DeviceID) -> [UInt8] {
    var out: [UInt8] = []
    out.put(name.rawValue)
    for chain in chains { out.put(chain) }
    return out
  }

  /// Who comes back from an older backup has another next name, and may write none of them.
  private static func chains(
    _ bytes: [UInt8], under next: DeviceID?
  ) throws(DecodeError) -> [UInt64] {
    var reader = ByteReader(bytes)
    let name = DeviceID(rawValue: try reader.u64())
    guard name == next else { throw .malformed("deltas that are there under another name") }
    var chains: [UInt64] = []
    while !reader.isAtEnd { chains.append(try reader.u64()) }
    return chains
  }

  static func decoded<R>(_ body: () throws(DecodeError) -> R) -> R? {
    do throws(DecodeError) { return try body() } catch { return nil }
  }

  /// Cuts in what others have written must be whole before any of it counts: who could not read one
  /// would let through what it keeps out.
  package static func check(
    _ delta: Delta, heap: [UInt8], names: [RecordName]
  ) throws(DecodeError) {
    if delta.sections.contains(where: { $0.table == name }) {
      if let error = News(delta, heap: heap, names: names).failure { throw error }
    }
  }

  /// Whether a pack says anything of cuts. Only if the name occurs in it, it is decoded.
  package static func occurs(in pack: [UInt8]) throws(DecodeError) -> Bool {
    let text = Array(name.utf8)
    let isThere = (0..<max(0, pack.count - text.count + 1)).contains { start in
      text.indices.allSatisfy { pack[start + $0] == text[$0] }
    }
    guard isThere else { return false }
    var reader = try PackReader(pack)
    var delta = Delta()
    while try reader.next(into: &delta) {
      if delta.sections.contains(where: { $0.table == name }) { return true }
    }
    return false
  }
}

extension SnapshotDescription {
  /// The oldest version that may read a snapshot of these tables.
  var floor: UInt16 {
    let hasCuts = tables.contains { $0.name == CutTable.name && $0.rowCount > 0 }
    return hasCuts ? FormatVersion.cuts : FormatVersion.floor
  }
}
