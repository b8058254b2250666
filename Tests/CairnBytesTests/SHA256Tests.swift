import CairnBytes
import TestSupport
import Testing

/// FIPS 180-4 with the vectors that NIST gives for it.
struct SHA256Tests {
  @Test(
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
          + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
      ),
    ])
  func `the vectors for texts`(text: String, hash: String) {
    #expect(SHA256.hash(Array(text.utf8)).hex == hash)
  }

  @Test(
    arguments: [
      ([0xBD], "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"),
      (
        [0xC9, 0x8C, 0x8E, 0x55],
        "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"
      ),
    ] as [([UInt8], String)])
  func `the vectors for bytes`(bytes: [UInt8], hash: String) {
    #expect(SHA256.hash(bytes).hex == hash)
  }

  @Test(
    arguments: [
      (55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"),
      (56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"),
      (57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"),
      (64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"),
      (1000, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"),
    ])
  func `the vectors for zeros at the edges of a block`(count: Int, hash: String) {
    #expect(SHA256.hash([UInt8](repeating: 0, count: count)).hex == hash)
  }

  @Test func `the vectors for a thousand and a million bytes`() {
    #expect(
      SHA256.hash([UInt8](repeating: 0x41, count: 1000)).hex
        == "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4")
    var million = SHA256()
    for _ in 0..<1000 { million.update([UInt8](repeating: 0x61, count: 1000)) }
    #expect(
      million.digest().hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test func `pieces hash like the whole, and the hash so far can be asked for`() {
    let random = SeededRandom(3)
    let bytes = random.bytes(1000)
    for _ in 0..<50 {
      var hash = SHA256()
      var place = 0
      while place < bytes.count {
        let end = min(bytes.count, place + random.below(200))
        hash.update(bytes, place..<end)
        #expect(hash.digest() == SHA256.hash(Array(bytes[..<end])))
        place = end
      }
      #expect(hash.count == 1000)
    }
  }

  @Test func `a hash is its digits and its bytes`() throws {
    let hash = SHA256.hash([1, 2, 3])
    #expect(ContentHash(hex: hash.hex) == hash)
    #expect(ContentHash([9] + hash.bytes, at: 1) == hash)
    #expect(hash.bytes.count == 32)
    for bad in ["", hash.hex.uppercased(), String(hash.hex.dropLast()), hash.hex + "0"] {
      #expect(ContentHash(hex: bad) == nil)
    }
    #expect(SHA256.hash([1]) != hash)
    #expect(hash < SHA256.hash([1]) || SHA256.hash([1]) < hash)
  }
}
