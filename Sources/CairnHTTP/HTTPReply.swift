/// The head of an answer, with header names in lower case.
package struct HTTPReply: Sendable {
  package var status: Int
  package var headers: [String: String]
  /// The length that it says its body has.
  package var length: UInt64?

  package init(status: Int, headers: [String: String], length: UInt64? = nil) {
    self.status = status
    self.headers = headers
    self.length = length
  }

  package subscript(_ name: String) -> String? { headers[name] }

  /// The server's clock, in milliseconds since 1970.
  package var serverTime: Int64? { headers["date"].flatMap(HTTPDate.parse) }

  /// Seconds that it wants to be left alone: a number, or the distance to a date on its own clock.
  package var retryAfter: Double? {
    guard let text = headers["retry-after"] else { return nil }
    if let seconds = UInt32(text) { return Double(seconds) }
    guard let then = HTTPDate.parse(text) else { return nil }
    guard let now = serverTime else { return nil }
    return max(0, Double(then - now) / 1000)
  }

  /// The type of its body without parameters, in lower case.
  package var contentType: String {
    let type = headers["content-type"]?.split(separator: ";").first ?? ""
    return type.trimmed.lowercased()
  }

  /// Digest keeps a password from those who listen, which encryption does already, by a hash that
  /// is no protection any more.
  package var wantsOnlyDigest: Bool {
    let offers = headers["www-authenticate"]?.lowercased() ?? ""
    return offers.contains("digest") && !offers.contains("basic") && !offers.contains("bearer")
  }

  /// The first byte and the length of the whole of which this is a part: `bytes 5-9/100`.
  package var contentRange: (start: UInt64, total: UInt64?)? {
    guard let text = headers["content-range"], text.hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/")
    guard parts.count == 2, let start = parts[0].split(separator: "-").first.flatMap({ UInt64($0) })
    else { return nil }
    return (start, UInt64(parts[1]))
  }
}

extension StringProtocol {
  /// Without spaces, tabs and ends of lines around it.
  package var trimmed: String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0.isNewline }
    let start = firstIndex { !isSpace($0) } ?? endIndex
    guard start < endIndex, let last = lastIndex(where: { !isSpace($0) }) else { return "" }
    return String(self[start...last])
  }
}
