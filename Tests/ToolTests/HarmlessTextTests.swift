import CairnToolText
import Testing

/// Text of others, as it is shown where it might be taken for commands.
@Suite struct HarmlessTextTests {
  @Test func `control characters but line ends and tabs are spelled out`() {
    let same = ["", "line\n\tnext", "\u{20}\u{7E}\u{A0}\u{FC}\u{2028}", "\\u001b[2J"]
    for text in same { #expect(Array(text.harmless.utf8) == Array(text.utf8)) }
    let spelled = [
      ("\u{1B}[2J", "\\u001b[2J"),
      ("\u{0}\u{8}\u{1F}", "\\u0000\\u0008\\u001f"),
      ("\u{7F}\u{80}\u{9B}\u{9F}", "\\u007f\\u0080\\u009b\\u009f"),
      ("a\r\nb\r", "a\\u000d\nb\\u000d"),
    ]
    for (text, shown) in spelled { #expect(Array(text.harmless.utf8) == Array(shown.utf8)) }
  }
}
