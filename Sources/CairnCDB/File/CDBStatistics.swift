public import Cairn
internal import CairnBytes

/// What is in a cdb file, in numbers.
public struct CDBStatistics: Equatable, Sendable {
  /// The file's format.
  public var format: CDBFormat
  /// The file's length in bytes.
  public var size: UInt64
  /// Records, with all values of each key.
  public var records: Int
  /// Different keys.
  public var keys: Int
  /// Bytes of all keys.
  public var keyBytes: UInt64
  /// Bytes of all values.
  public var valueBytes: UInt64
  /// How many records are found at which look: `distances[0]` at the first, and so on up to nine;
  /// `distances[10]` are all those behind.
  public var distances: [Int]
}

extension CDBFile {
  /// Counts everything. Reads the whole file, and looks each key up.
  ///
  /// - Throws: `corrupt` if a record can't be found by its key, too.
  public func statistics() throws(CairnError) -> CDBStatistics {
    try checkOpen()
    var result = CDBStatistics(
      format: format, size: size, records: 0, keys: 0, keyBytes: 0, valueBytes: 0,
      distances: [Int](repeating: 0, count: 11))
    var walk = CDBWalk(self)
    var places = CDBPlaces(self)
    while let record = try walk.next() {
      if try isErased(record, &walk, &places) { continue }
      let key = try walk.copy(record.keyStart, record.keyLength)
      guard let (distance, isFirst) = try places.place(of: record, key) else {
        throw .damaged(path, record.position, "no table points to this record")
      }
      result.records += 1
      result.keys += isFirst ? 1 : 0
      result.keyBytes += record.keyLength
      result.valueBytes += record.valueLength
      result.distances[min(10, distance)] += 1
    }
    return result
  }
}

/// How many records and keys a file has.
struct CDBTally: Sendable {
  var records = 0
  var keys = 0

  init(of file: CDBFile) throws(CairnError) {
    var walk = CDBWalk(file)
    var places = CDBPlaces(file)
    while let record = try walk.next() {
      records += 1
      let key = try walk.copy(record.keyStart, record.keyLength)
      if try places.place(of: record, key)?.isFirst == true { keys += 1 }
    }
  }
}
