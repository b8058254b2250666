/// A page for people, such as that of a network which wants a log-in.
enum WebPage {
  private static let marks = [
    "<!doctype html", "<html", "<head", "<body", "<script", "<meta",
  ]
  private static let byteMark: [UInt8] = [0xEF, 0xBB, 0xBF]
  /// What is behind more than that says nothing.
  private static let bytesMax = 512

  /// Whether these are the first bytes of one, and not of a file or of XML; nil if more are needed
  /// to tell.
  static func begins(_ bytes: [UInt8]) -> Bool? {
    let unclear: Bool? = bytes.count < bytesMax ? nil : false
    var start = bytes.prefix(bytesMax)
    if start.starts(with: byteMark) {
      start = start.dropFirst(3)
    } else if byteMark.starts(with: start) {
      return unclear
    }
    var text = String(decoding: start, as: UTF8.self).trimmed.lowercased()
    if text.hasPrefix("<!--") { return true }
    // Pages may be XML, and have its first line; XML that is none of them has a comment there, too.
    if text.hasPrefix("<?xml") {
      guard let end = text.firstRange(of: "?>") else { return unclear }
      text = text[end.upperBound...].trimmed
    }
    if marks.contains(where: text.hasPrefix) { return true }
    return (marks + ["<!--", "<?xml"]).contains { $0.hasPrefix(text) } ? unclear : false
  }
}
