import CairnBytes

/// A record's id within its table, as the store keeps it: generated ids (22 characters that are the
/// URL-safe base64 of 16 bytes) as those 16 bytes, all others as text.
@frozen
@usableFromInline
package enum RecordName: Hashable, Sendable {
  case packed(UInt64, UInt64)
  case text(String)

  /// The one form of an id: packed if its text is the canonical base64 of 16 bytes.
  package init(_ text: String) {
    if let (high, low) = Base64ID.decode(text) {
      self = .packed(high, low)
    } else {
      self = .text(text)
    }
  }

  package var text: String {
    switch self {
    case .packed(let high, let low): Base64ID.encode(high, low)
    case .text(let text): text
    }
  }

  /// By bytes: see `String.isSameName`.
  @inlinable
  package static func == (a: RecordName, b: RecordName) -> Bool {
    switch (a, b) {
    case (.packed(let aHigh, let aLow), .packed(let bHigh, let bLow)):
      aHigh == bHigh && aLow == bLow
    case (.text(let x), .text(let y)): x.isSameName(as: y)
    default: false
    }
  }

  /// The hash that the snapshot's index is built on: part of the format.
  @inlinable package var hash: UInt64 {
    switch self {
    case .packed(let high, let low): RecordName.mix(high, low)
    case .text(let text): RecordName.hash(text)
    }
  }

  @usableFromInline
  static func hash(_ text: String) -> UInt64 { XXH3.hash64(text) }

  /// Two multiplications (splitmix64's finisher) over both words; ids that are random already
  /// would need less, ids that are counters would not.
  @inlinable
  package static func mix(_ high: UInt64, _ low: UInt64) -> UInt64 {
    var x = high ^ (low &* 0x9E37_79B9_7F4A_7C15)
    x = (x ^ (x >> 32)) &* 0xBF58_476D_1CE4_E5B9
    x = (x ^ (x >> 29)) &* 0x94D0_49BB_1331_11EB
    return x ^ (x >> 32)
  }
}

/// Order of records in a snapshot: packed ids first, by their 16 bytes; then texts by UTF-8 bytes.
extension RecordName: Comparable {
  @usableFromInline
  package static func < (a: RecordName, b: RecordName) -> Bool {
    switch (a, b) {
    case (.packed(let aHigh, let aLow), .packed(let bHigh, let bLow)):
      aHigh != bHigh ? aHigh < bHigh : aLow < bLow
    case (.packed, .text): true
    case (.text, .packed): false
    case (.text(let x), .text(let y)): x.utf8.lexicographicallyPrecedes(y.utf8)
    }
  }
}
