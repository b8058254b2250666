/// Where one record of a file lies: the two lengths, the key, the value.
struct CDBRecord: Equatable, Sendable {
  /// Of its first length.
  var position: UInt64
  var keyStart: UInt64
  var keyLength: UInt64
  var valueLength: UInt64

  var valueStart: UInt64 { keyStart + keyLength }
  var end: UInt64 { valueStart + valueLength }

  /// Nil if the record would end behind `limit`.
  init?(position: UInt64, pairSize: Int, key: UInt64, value: UInt64, limit: UInt64) {
    let start = position.addingReportingOverflow(UInt64(pairSize))
    guard !start.overflow, start.partialValue <= limit,
      key <= limit - start.partialValue, value <= limit - start.partialValue - key
    else { return nil }
    self.position = position
    keyStart = start.partialValue
    keyLength = key
    valueLength = value
  }
}
