import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// cairn.json decides whether a folder is the right one, so no damage may make it another.
@Suite struct FolderIdentityTests {
  private static let identity: UInt128 = 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF

  @Test func `the page shows what is written`() throws {
    let page = try ProjectFile.bytes("Sources/CairnLog/FORMAT.md")
    let written = FolderIdentity.encode(Self.identity)
    let text = String(decoding: written, as: UTF8.self)
    #expect(String(decoding: page, as: UTF8.self).contains(text))
    #expect(try FolderIdentity.decode(written, path: "cairn.json") == Self.identity)
  }

  @Test func `no flipped bit and no cut makes it another folder`() {
    let whole = FolderIdentity.encode(Self.identity)
    for bit in 0..<(whole.count * 8) {
      var bent = whole
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      let found = try? FolderIdentity.decode(bent, path: "cairn.json")
      #expect(found == nil || found == Self.identity, "bit \(bit)")
    }
    for length in 0..<whole.count {
      let found = try? FolderIdentity.decode(Array(whole[..<length]), path: "cairn.json")
      #expect(found == nil || found == Self.identity, "cut to \(length)")
    }
  }

  @Test func `a file of the first version, without a check, is read`() throws {
    let text = """
      {"cairn":"shared folder","identity":"00112233445566778899aabbccddeeff","floor":1}

      """
    #expect(try FolderIdentity.decode(Array(text.utf8), path: "x") == Self.identity)
    for wrong in ["AABB", "+011"] {
      let bent = text.replacing("0011", with: wrong, maxReplacements: 1)
      #expect(throws: LogError.self) { try FolderIdentity.decode(Array(bent.utf8), path: "x") }
    }
  }
}
