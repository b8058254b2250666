import CairnBytes
import Testing

/// The examples of FIPS 180-4, and every length around the ends of blocks.
@Suite struct SHA256Tests {
  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func `known texts`(text: String, expected: String) {
    #expect(hex(SHA256.hash(Array(text.utf8))) == expected)
  }

  @Test func `a million letters`() {
    let message = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
    #expect(
      hex(SHA256.hash(message))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test func `every length up to two blocks has a hash of its own`() {
    let hashes = Set((0...130).map { SHA256.hash([UInt8](repeating: 0, count: $0)) })
    #expect(hashes.count == 131 && hashes.allSatisfy { $0.count == 32 })
  }
}
