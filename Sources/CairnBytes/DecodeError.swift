/// Why bytes could not be decoded. Callers add the file and the offset.
@usableFromInline
package enum DecodeError: Error, Equatable, Sendable {
  /// The bytes end before the value does.
  case truncated
  /// A varint longer than its type, or with superfluous bytes.
  case overlongVarint
  /// A length or count beyond what the format, or the bytes that are left, allow.
  case limit
  /// The structure is wrong; the text says which rule was broken.
  case malformed(StaticString)
  /// Something that a later version of the format may well know; the text says what.
  case newer(StaticString)

  @usableFromInline
  package static func == (a: DecodeError, b: DecodeError) -> Bool {
    switch (a, b) {
    case (.truncated, .truncated), (.overlongVarint, .overlongVarint), (.limit, .limit): true
    case (.malformed(let x), .malformed(let y)), (.newer(let x), .newer(let y)):
      x.description == y.description
    default: false
    }
  }
}
