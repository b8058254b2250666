import CairnToolText
import Testing

/// Text of others, as it is shown where it might be taken for commands.
@Suite struct HarmlessTextTests {
  @Test func `control characters but line ends and tabs are spelled out`() {
    let same = [
      "", "line\n\tnext", "\u{20}\u{7E}\u{A0}\u{FC}", "\u{200D}\u{2027}\u{202F}\u{2070}\u{1F600}",
      "\\u001b[2J",
    ]
    for text in same { #expect(Array(text.harmless.utf8) == Array(text.utf8)) }
    let spelled = [
      ("\u{1B}[2J", "\\u001b[2J"),
      ("\u{0}\u{8}\u{1F}", "\\u0000\\u0008\\u001f"),
      ("\u{7F}\u{80}\u{9B}\u{9F}", "\\u007f\\u0080\\u009b\\u009f"),
      ("a\r\nb\r", "a\\u000d\nb\\u000d"),
      ("\u{61C}\u{200E}\u{200F}", "\\u061c\\u200e\\u200f"),
      ("a\u{202E}b\u{202C}", "a\\u202eb\\u202c"),
      ("\u{202A}\u{2066}\u{2069}", "\\u202a\\u2066\\u2069"),
      ("\u{2028}\u{2029}", "\\u2028\\u2029"),
    ]
    for (text, shown) in spelled { #expect(Array(text.harmless.utf8) == Array(shown.utf8)) }
  }
}
