public import Cairn
internal import CairnBytes

/// How the values of a ``CDBStore`` become bytes, and bytes values.
///
/// The built-in codings are for one type each. One for several kinds of values writes a tag for
/// each kind, and looks at the tag when it reads:
///
///     CDBValueCoding<Shape>(
///       encode: { shape in
///         switch shape {
///         case .name(let text): .text(text)
///         case .point(let x, let y): try CDBTaggedBytes(tag: 32, bytes: [x, y])
///         }
///       },
///       decode: { value in
///         switch value.tag {
///         case 1: .name(try value.text())
///         case 32 where value.bytes.count == 2: .point(value.bytes[0], value.bytes[1])
///         default: throw value.unknown(expected: "a shape")
///         }
///       })
public struct CDBValueCoding<Value: Sendable>: Sendable {
  let store: @Sendable (Value) throws(CairnError) -> [UInt8]
  let load: @Sendable (Span<UInt8>) throws(CairnError) -> Value

  private init(
    store: @escaping @Sendable (Value) throws(CairnError) -> [UInt8],
    load: @escaping @Sendable (Span<UInt8>) throws(CairnError) -> Value
  ) {
    self.store = store
    self.load = load
  }

  /// Any coding with tags.
  ///
  /// - Parameters:
  ///   - encode: a value's kind and bytes; what it throws, the call with the value throws. Values
  ///     that give the same bytes are the same to the store.
  ///   - decode: the value of bytes; what it throws, the call that reads throws.
  public init(
    encode: @escaping @Sendable (Value) throws(CairnError) -> CDBTaggedBytes,
    decode: @escaping @Sendable (CDBTaggedBytes) throws(CairnError) -> Value
  ) {
    self.init(
      store: { value throws(CairnError) in try encode(value).stored },
      load: { stored throws(CairnError) in
        guard let tagged = CDBTaggedBytes(stored: stored) else {
          throw CairnError(
            .badType,
            "a value has no tag, as those of other tools; read it with the coding \"raw\"")
        }
        return try decode(tagged)
      })
  }
}

extension CDBValueCoding where Value: RangeReplaceableCollection, Value.Element == UInt8 {
  /// Bytes, with the tag 0: `[UInt8]`, `ContiguousArray<UInt8>`, `Data`.
  public static var bytes: CDBValueCoding<Value> {
    CDBValueCoding(
      encode: { .bytes(Array($0)) },
      decode: { value throws(CairnError) in Value(try value.plainBytes()) })
  }
}

extension CDBValueCoding where Value == [UInt8] {
  /// Bytes without a tag: files as other tools write and read them.
  public static var raw: CDBValueCoding<[UInt8]> {
    CDBValueCoding(store: { $0 }, load: { [UInt8](copying: $0) })
  }
}

extension CDBValueCoding where Value == String {
  /// Text, with the tag 1.
  public static var text: CDBValueCoding<String> {
    CDBValueCoding(
      encode: { .text($0) }, decode: { value throws(CairnError) in try value.text() })
  }
}

extension CDBValueCoding where Value: Codable {
  /// Any `Codable` type, with the tag 4. Dictionaries with text as keys are written in one order,
  /// so that equal values have equal bytes; sets and other dictionaries are not.
  public static var codable: CDBValueCoding<Value> {
    CDBValueCoding(
      encode: { value throws(CairnError) in try .encoded(value) },
      decode: { value throws(CairnError) in try value.decoded() })
  }
}
