import Testing

@testable import Cairn

/// Texts of others in the middle of a message.
@Suite struct OneLineTests {
  @Test func `a text of others begins no line of its own`() {
    for text in ["", "Ann", "\u{FC}\t\u{1F600}"] { #expect(text.onOneLine == text) }
    #expect("Ann\nnote: all is well".onOneLine == "Ann note: all is well")
    #expect("a\r\nb\u{85}c\u{2028}d\u{2029}e\u{B}f\u{C}".onOneLine == "a  b c d e f ")
  }

  @Test func `whoever deleted much is named on one line`() {
    let one = MassDelete.Device(id: "aa", user: "Ann\n  -> do this", records: 1)
    let held = MassDelete(devices: [one], records: 1, recordsHere: 2)
    #expect(!held.message.contains("\n"))
  }
}
