internal import CairnBytes
internal import CairnLog
internal import CairnMerge

/// Which content an attachment is: its SHA-256 and its length. Equal contents have equal ids,
/// wherever and by whomever they were attached.
///
/// This is what a record holds (`Value.attachment`): 64 bytes, however large the content is.
public struct AttachmentID: Hashable, Sendable {
  let reference: BlobReference

  init(_ reference: BlobReference) { self.reference = reference }

  /// The id in a text that `description` gave; nil for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { return nil }
    if parts[0] == "newer" {
      guard let bytes = AttachmentID.bytes(hex: parts[1]), let found = BlobReference(bytes),
        found.newer != nil
      else { return nil }
      reference = found
      // There is one text for each.
      if description != text { return nil }
      return
    }
    guard let hash = ContentHash(hex: parts[0]), let length = UInt64(parts[1]),
      length <= BlobReference.lengthMax, String(length) == parts[1]
    else { return nil }
    reference = BlobReference(length: length, hash: hash)
  }

  /// Bytes of the content; 0 if only a newer version can tell.
  public var length: UInt64 { reference.length }

  /// The SHA-256 of the content: 64 hexadecimal digits, and the name of its file.
  public var sha256: String { reference.hash.hex }

  /// Whether a newer version of this library wrote the reference, so that this one can carry it
  /// from record to record and to other devices, but not read what it refers to.
  public var needsNewerVersion: Bool { !reference.isReadable }

  private static func bytes(hex text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2), digits.count <= 8192 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      let pair = String(decoding: digits[index..<(index + 2)], as: UTF8.self)
      guard let byte = UInt8(pair, radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}

extension AttachmentID: CustomStringConvertible {
  /// SHA-256 and length as text, with a dash between.
  public var description: String {
    guard let newer = reference.newer else { return "\(sha256)-\(length)" }
    let hex = newer.map { byte in
      let digits = String(byte, radix: 16)
      return digits.utf8.count == 1 ? "0" + digits : digits
    }.joined()
    return "newer-" + hex
  }
}

/// A value of its own in a record; its text elsewhere.
extension AttachmentID: Codable {
  /// Writes the reference into a record, and a text elsewhere.
  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? ValueEncoder {
      return try encoder.put(.bytes(reference.encoded()))
    }
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// Reads what `encode(to:)` wrote. Throws a `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? ValueDecoder {
      guard case .bytes(let bytes)? = decoder.value, let found = BlobReference(bytes) else {
        throw decoder.mismatch(AttachmentID.self)
      }
      self.init(found)
      return
    }
    let container = try decoder.singleValueContainer()
    guard let found = AttachmentID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not the id of an attachment")
    }
    self = found
  }
}
