/// Where one record of a file lies: the two lengths, the key, the value.
struct CDBRecord: Equatable, Sendable {
  /// Of its first length.
  var position: UInt64
  var keyStart: UInt64
  var keyLength: UInt64
  var valueLength: UInt64

  // All of it lies in a file, so nothing overflows.
  var valueStart: UInt64 { keyStart &+ keyLength }
  var end: UInt64 { valueStart &+ valueLength }

  /// Nil if the record would end behind `limit`.
  @inline(__always)
  init?(position: UInt64, pairSize: Int, key: UInt64, value: UInt64, limit: UInt64) {
    let size = UInt64(truncatingIfNeeded: pairSize)
    guard position <= limit else { return nil }
    let left = limit &- position
    guard size <= left, key <= left &- size, value <= left &- size &- key else { return nil }
    self.position = position
    keyStart = position &+ size
    keyLength = key
    valueLength = value
  }
}
