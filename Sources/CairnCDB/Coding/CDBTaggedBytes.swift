public import Cairn
internal import CairnBytes

/// A value as it is in the file of a ``CDBStore``: a byte that says of what kind it is, and the
/// bytes behind it.
///
/// | tag | |
/// |---|---|
/// | 0 | bytes as they are |
/// | 1 | text in UTF-8 |
/// | 2, 3 | what the Cocoa class CDBStore wrote there (NSValue, keyed archives); not read |
/// | 4 | a `Codable` value as CBOR (RFC 8949) |
/// | 5 to 31 | reserved |
/// | 32 to 255 | the app's own |
public struct CDBTaggedBytes: Hashable, Sendable {
  /// Of what kind the value is.
  public let tag: UInt8
  /// The value's bytes, without the tag.
  public let bytes: [UInt8]

  static let bytesTag: UInt8 = 0
  static let textTag: UInt8 = 1
  static let codableTag: UInt8 = 4
  static let firstOwnTag: UInt8 = 32

  /// A kind of the app's own.
  ///
  /// - Throws: `illegalArgument` for the tags 0 to 31.
  public init(tag: UInt8, bytes: [UInt8]) throws(CairnError) {
    guard tag >= Self.firstOwnTag else {
      throw CairnError(
        .illegalArgument,
        "the tag \(tag) of a value is reserved; an app's own kinds have tags from 32 to 255")
    }
    self.tag = tag
    self.bytes = bytes
  }

  private init(known tag: UInt8, _ bytes: [UInt8]) {
    self.tag = tag
    self.bytes = bytes
  }

  /// As it is in the file. Nil for no bytes at all: then there is no tag.
  init?(stored: Span<UInt8>) {
    if stored.isEmpty { return nil }
    tag = stored[0]
    bytes = [UInt8](copying: stored.extracting(droppingFirst: 1))
  }

  /// Tag and bytes.
  var stored: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + 1)
    result.append(tag)
    result.append(contentsOf: bytes)
    return result
  }

  // MARK: built in

  /// Bytes as they are.
  public static func bytes(_ bytes: [UInt8]) -> CDBTaggedBytes {
    CDBTaggedBytes(known: bytesTag, bytes)
  }

  /// A text.
  public static func text(_ text: String) -> CDBTaggedBytes {
    CDBTaggedBytes(known: textTag, Array(text.utf8))
  }

  /// Any value that can be encoded.
  ///
  /// - Throws: `illegalArgument` with what the value's own `encode(to:)` threw.
  public static func encoded(_ value: some Encodable) throws(CairnError) -> CDBTaggedBytes {
    CDBTaggedBytes(known: codableTag, try CBOREncoder.encode(value))
  }

  /// The bytes of ``bytes(_:)``.
  ///
  /// - Throws: `badType` if it is of another kind.
  public func plainBytes() throws(CairnError) -> [UInt8] {
    try check(Self.bytesTag, "bytes")
    return bytes
  }

  /// The text of ``text(_:)``.
  ///
  /// - Throws: `badType` if it is of another kind, `corrupt` if it is not UTF-8.
  public func text() throws(CairnError) -> String {
    try check(Self.textTag, "text")
    guard let text = bytes.text(0..<bytes.count) else {
      throw CairnError(.corrupt, "a value that should be text is not UTF-8; set it anew")
    }
    return text
  }

  /// The value of ``encoded(_:)``.
  ///
  /// - Throws: `badType` if it is of another kind, or not of that type; `corrupt` if it is no CBOR.
  public func decoded<T: Decodable>(as type: T.Type = T.self) throws(CairnError) -> T {
    try check(Self.codableTag, "an encoded \(T.self)")
    return try CBORDecoder.decode(type, from: bytes)
  }

  /// An error for values that a coding does not know.
  public func unknown(expected: String) -> CairnError {
    CairnError(
      .badType, "a value has the tag \(tag), which is not \(expected); read it with a coding that "
        + "knows the tag")
  }

  private func check(_ expected: UInt8, _ name: String) throws(CairnError) {
    if tag != expected { throw unknown(expected: name) }
  }
}
