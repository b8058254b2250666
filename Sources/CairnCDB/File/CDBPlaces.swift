internal import Cairn

/// Where records are found by their keys, for a walk over all of them.
///
/// Each is looked for in its hash table. A table that every writer makes is half empty, and a few
/// steps lead there; but one may be full, with its slots in any order, and a key may have a hundred
/// thousand values. Where a look-up is long, the table is read once for all that follow.
struct CDBPlaces {
  /// Where a record is: how many slots lie before its own, and whether it is the first of its key.
  typealias Place = (distance: Int, isFirst: Bool)

  private let file: CDBFile
  private var long: [Int: CDBLongTable] = [:]
  /// Slots that were looked at one by one.
  private(set) var steps = 0

  /// A longer way is not gone.
  private static let stepsMost = 256

  init(_ file: CDBFile) { self.file = file }

  /// Nil if no table points to the record, whose key this is.
  mutating func place(of record: CDBRecord, _ key: [UInt8]) throws(CairnError) -> Place? {
    try file.checkOpen()
    let full = CDBHash.full(key.span)
    var hashes = [file.layout.format.hash(full)]
    if let other = CDBFile.otherHash(full, file.layout.format) { hashes.append(other) }
    let number = Int(truncatingIfNeeded: full & 255)
    if let known = long[number] { return known.place(of: record.position, hashes) }
    switch try near(record, key, hashes) {
    case .known(let place): return place
    case .far:
      let table = try CDBLongTable(file, number)
      long[number] = table
      return table.place(of: record.position, hashes)
    }
  }

  private enum Answer {
    case known(Place?)
    case far
  }

  private mutating func near(
    _ record: CDBRecord, _ key: [UInt8], _ hashes: [UInt64]
  ) throws(CairnError) -> Answer {
    var isFirst = true
    for hash in hashes {
      var probe = CDBProbe(file.layout, hash: hash)
      var distance = 0
      while probe.left > 0 {
        let (found, position) = try file.pair(at: probe.slot)
        steps += 1
        if position == 0 { break }
        if found == hash {
          if position == record.position { return .known((distance, isFirst)) }
          if isFirst, try file.match(position, key.span) != nil { isFirst = false }
        }
        distance += 1
        if distance == CDBPlaces.stepsMost { return .far }
        probe.advance()
      }
    }
    return .known(nil)
  }
}
