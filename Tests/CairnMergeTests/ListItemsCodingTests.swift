import CairnBytes
import Testing

@testable import CairnMerge

/// The items of a list, handed out straight from bytes that may be damaged.
struct ListItemsCodingTests {
  private func read(_ count: Int, _ bytes: [UInt8]) throws(DecodeError) -> [FieldValue] {
    var reader = ByteReader(bytes)
    var values: [FieldValue] = []
    try ListItemsCoding.forEachValue(count, &reader) { values.append($0) }
    return values
  }

  @Test func `bytes that end before the items are refused`() throws {
    #expect(throws: DecodeError.self) { try read(1, []) }
    #expect(try read(0, []) == [])
  }

  @Test func `one byte is a letter, or no text`() throws {
    for byte in 0...255 as ClosedRange<UInt8> {
      let bytes = [CellTag.string, 1, byte]
      if byte < 0x80 {
        #expect(try read(1, bytes) == [.string(String(UnicodeScalar(byte)))])
      } else {
        #expect(throws: DecodeError.malformed("text is not UTF-8")) { try read(1, bytes) }
      }
    }
  }
}
