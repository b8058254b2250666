import CairnMerge
import Testing

@Suite struct ShareableIDTests {
  @Test func `base 64 for names has no padding and no other characters`() {
    func text(_ text: String) -> String { ShareableID.dbase64(Array(text.utf8)) }
    #expect(text("") == "" && text("f") == "Zg" && text("fo") == "Zm8" && text("foo") == "Zm9v")
    #expect(ShareableID.dbase64([0xFB, 0xFF, 0xFE]) == "-__-")
  }

  @Test func `an id is a dot and its bits`() {
    let random = [UInt8](0..<32)
    let id = ShareableID.make(random)
    #expect(id == ".AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
    #expect(id.count == 44 && Identifier.isValidShareable(id))
  }
}
