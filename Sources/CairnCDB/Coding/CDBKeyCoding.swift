public import Cairn
internal import CairnBytes

/// How the keys of a ``CDBStore`` become bytes, and bytes keys. Keys are the same key if their
/// bytes are the same.
public struct CDBKeyCoding<Key: Hashable & Sendable>: Sendable {
  let encode: @Sendable (Key) throws(CairnError) -> [UInt8]
  let decode: @Sendable ([UInt8]) throws(CairnError) -> Key

  /// Any coding.
  ///
  /// - Parameters:
  ///   - encode: the bytes of a key; what it throws, the call with the key throws.
  ///   - decode: the key of bytes; what it throws ends an enumeration.
  public init(
    encode: @escaping @Sendable (Key) throws(CairnError) -> [UInt8],
    decode: @escaping @Sendable ([UInt8]) throws(CairnError) -> Key
  ) {
    self.encode = encode
    self.decode = decode
  }
}

extension CDBKeyCoding where Key == String {
  /// Texts as UTF-8. Texts that Swift takes for equal and that have other bytes ("é" as one
  /// character or two) are two keys, as they are for every other tool.
  public static var text: CDBKeyCoding<String> {
    CDBKeyCoding(
      encode: { Array($0.utf8) },
      decode: { bytes throws(CairnError) in
        guard let text = bytes.text(0..<bytes.count) else {
          throw CairnError(
            .badType, "a key is not UTF-8; open the store with keys that are bytes")
        }
        return text
      })
  }
}

extension CDBKeyCoding where Key == [UInt8] {
  /// Bytes as they are.
  public static var bytes: CDBKeyCoding<[UInt8]> {
    CDBKeyCoding(encode: { $0 }, decode: { $0 })
  }
}

extension CDBKeyCoding where Key: FixedWidthInteger {
  /// Integers, in decimal digits: so that other tools can show them and ask for them.
  public static var decimal: CDBKeyCoding<Key> {
    CDBKeyCoding(
      encode: { Array(String($0).utf8) },
      decode: { bytes throws(CairnError) in
        let text = bytes.text(0..<bytes.count) ?? ""
        // One form only, or a key would be in the file and not be found.
        guard let key = Key(text), String(key) == text else {
          throw CairnError(
            .badType, "a key is no \(Key.self) in decimal digits; open the store with keys that "
              + "are bytes")
        }
        return key
      })
  }
}
