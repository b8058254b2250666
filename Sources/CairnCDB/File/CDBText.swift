public import Cairn
internal import CairnBytes

/// The text form of cdb files, as cdbmake reads and cdbdump writes it: for each record a line
/// `+3,5:key->value`, with the lengths of key and value in bytes, and an empty line at the end.
///
/// Keys and values are any bytes, line ends among them.
public struct CDBText: Sendable {
  /// A record in a text: where its key and its value are.
  public struct Record: Equatable, Sendable {
    /// Of the key's bytes.
    public var key: Range<Int>
    /// Of the value's bytes.
    public var value: Range<Int>
  }

  /// The text.
  public let bytes: [UInt8]
  /// Where the next record begins.
  public private(set) var offset = 0

  /// A text to be read. Nothing is checked yet.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The next record; nil behind the last one.
  ///
  /// The empty line must be there, as it says that the text is whole. The other tools ignore what
  /// follows it; here nothing may.
  /// - Throws: `illegalArgument`, with the offset, if the text is not well-formed.
  public mutating func next() throws(CairnError) -> Record? {
    guard offset < bytes.count else {
      throw mistake(offset, "the empty line is missing that ends the records: is this all of it?")
    }
    if bytes[offset] == UInt8(ascii: "\n") {
      guard offset + 1 == bytes.count else {
        throw mistake(offset + 1, "something follows the empty line that ends the records")
      }
      return nil
    }
    var place = offset
    try expect("+", &place)
    let keyLength = try number(&place)
    try expect(",", &place)
    let valueLength = try number(&place)
    try expect(":", &place)
    let key = try take(keyLength, "key", &place)
    try expect("-", &place)
    try expect(">", &place)
    let value = try take(valueLength, "value", &place)
    try expect("\n", &place)
    offset = place
    return Record(key: key, value: value)
  }

  /// Appends a record in this form.
  public static func append(_ key: [UInt8], _ value: [UInt8], to text: inout [UInt8]) {
    text.putUTF8("+\(key.count),\(value.count):")
    text.append(contentsOf: key)
    text.putUTF8("->")
    text.append(contentsOf: value)
    text.append(UInt8(ascii: "\n"))
  }

  /// Appends what ends a text.
  public static func appendEnd(to text: inout [UInt8]) {
    text.append(UInt8(ascii: "\n"))
  }

  private func expect(_ character: Unicode.Scalar, _ place: inout Int) throws(CairnError) {
    guard place < bytes.count else { throw mistake(place, "the text ends within a record") }
    guard bytes[place] == UInt8(ascii: character) else {
      let name = character == "\n" ? "the end of the line" : "\"\(character)\""
      throw mistake(place, "\(name) is expected here (a record is +3,5:key->value)")
    }
    place += 1
  }

  private func number(_ place: inout Int) throws(CairnError) -> Int {
    let start = place
    var value = 0
    while place < bytes.count, (0x30...0x39).contains(bytes[place]) {
      let next = value.multipliedReportingOverflow(by: 10)
      let sum = next.partialValue.addingReportingOverflow(Int(bytes[place] - 0x30))
      guard !next.overflow, !sum.overflow else { throw mistake(start, "the length is too large") }
      value = sum.partialValue
      place += 1
    }
    if place == start { throw mistake(place, "a length in digits is expected here") }
    return value
  }

  private func take(
    _ length: Int, _ name: String, _ place: inout Int
  ) throws(CairnError) -> Range<Int> {
    guard length <= bytes.count - place else {
      throw mistake(place, "the text ends before this \(name) of \(length) bytes does")
    }
    defer { place += length }
    return place..<(place + length)
  }

  private func mistake(_ offset: Int, _ what: String) -> CairnError {
    CairnError(
      .illegalArgument, "offset \(offset) of the text: \(what)", offset: UInt64(offset))
  }
}
