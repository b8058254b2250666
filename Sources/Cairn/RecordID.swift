internal import CairnMerge

/// The id of a record within its table: 1 to 64 characters of `A–Z a–z 0–9 - . _ + / =`, or a colon
/// and up to 63 of these.
///
/// Any text can be made into one; whether it is a valid id is checked where it is used. Generated
/// ids are 22 characters that stand for 128 random bits, and are kept as those.
public struct RecordID: Hashable, Sendable {
  let name: RecordName

  init(_ name: RecordName) { self.name = name }

  /// The id that a text spells.
  public init(_ text: String) { name = RecordName(text) }

  /// The id that stands for 128 bits (a UUID, say), high half first.
  public init(bits high: UInt64, _ low: UInt64) { name = .packed(high, low) }

  /// A new id that no other device will ever make.
  public static func random() -> RecordID {
    var generator = SystemRandomNumberGenerator()
    return RecordID(bits: generator.next(), generator.next())
  }

  /// Whether a text may be the id of a record.
  public static func isValid(_ text: String) -> Bool { Identifier.isValidRecord(text) }

  func check() throws(CairnError) {
    if case .text(let text) = name, !Identifier.isValidRecord(text) {
      throw CairnError(
        .illegalArgument,
        "\"\(text)\" can't be a record id: 1 to 64 of the characters A-Z a-z 0-9 - . _ + / =, or a "
          + "colon and up to 63 of these", id: text)
    }
  }
}

extension RecordID: ExpressibleByStringLiteral, CustomStringConvertible, Comparable {
  public init(stringLiteral value: String) { self.init(value) }

  public var description: String { name.text }

  /// Order of the texts, by bytes.
  public static func < (a: RecordID, b: RecordID) -> Bool {
    a.description.utf8.lexicographicallyPrecedes(b.description.utf8)
  }
}
