/// An address of a folder on a server, taken apart: `scheme://host:port/path?name=value&…`.
package struct ServerAddress: Hashable, Sendable {
  /// In lower case.
  package let scheme: String
  /// In lower case; an IPv6 address keeps its brackets.
  package let host: String
  package let port: Int?
  /// The names between the slashes, percent-decoded, without empty ones.
  package let path: [String]
  package let query: [String: String]

  private static let bytesMax = 2048

  package init(_ text: String) throws(CairnError) {
    func wrong(_ what: String) -> CairnError {
      CairnError(.illegalArgument, "\(what); an address looks like webdav+https://host/folder or "
        + "s3://bucket/folder?endpoint=https://host")
    }
    guard text.utf8.count <= ServerAddress.bytesMax,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { throw wrong("an address holds at most 2048 printable ASCII characters, and no spaces") }
    guard let mark = text.firstRange(of: "://") else { throw wrong("the address has no scheme") }
    let scheme = text[..<mark.lowerBound].lowercased()
    guard scheme.first?.isLetter == true,
      scheme.allSatisfy({ $0.isLetter || $0.isNumber || "+-.".contains($0) })
    else { throw wrong("the address has no scheme") }
    self.scheme = scheme
    var rest = text[mark.upperBound...]
    if rest.contains("#") { throw wrong("an address has no fragment (#)") }
    var queryText: Substring = ""
    if let question = rest.firstIndex(of: "?") {
      queryText = rest[rest.index(after: question)...]
      rest = rest[..<question]
    }
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    let authority = rest[..<slash]
    // Not repeated in the message: there may be a password in it.
    if authority.contains("@") {
      throw wrong("an address must not have a user or password in it (they would be kept in files)")
    }
    (host, port) = try ServerAddress.split(authority, wrong)
    var path: [String] = []
    for part in rest[slash...].split(separator: "/") {
      guard let name = PercentCoding.decode(part), name != ".", name != "..",
        !name.utf8.contains(0), !name.contains("/")
      else { throw wrong("the path of the address can't be used") }
      path.append(name)
    }
    self.path = path
    var query: [String: String] = [:]
    for pair in queryText.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentCoding.decode(parts[0]),
        let value = PercentCoding.decode(parts.count > 1 ? parts[1] : "")
      else { throw wrong("what follows the ? can't be used") }
      query[name] = value
    }
    self.query = query
  }

  private static func split(
    _ authority: Substring, _ wrong: (String) -> CairnError
  ) throws(CairnError) -> (String, Int?) {
    var name = authority
    var port: Int?
    let afterBracket = authority.lastIndex(of: "]") ?? authority.startIndex
    if let colon = authority[afterBracket...].lastIndex(of: ":") {
      let digits = authority[authority.index(after: colon)...]
      guard let number = Int(digits), (1...65535).contains(number), digits.first != "+" else {
        throw wrong("the port of the address is no number from 1 to 65535")
      }
      port = number
      name = authority[..<colon]
    }
    let host = name.lowercased()
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    guard !host.isEmpty, isBracketed || !host.contains(where: { "[]:%\\\"<>".contains($0) }) else {
      throw wrong("the address names no host")
    }
    return (host, port)
  }

  /// Whether the host is this machine, so that nothing crosses a network.
  package var isLoopback: Bool {
    host == "localhost" || host == "[::1]" || host.hasPrefix("127.")
      && host.split(separator: ".").count == 4 && host.allSatisfy { $0.isNumber || $0 == "." }
  }

  /// `host:port` as it stands in a request: without a port that goes without saying, which is not
  /// in the header `Host`, either.
  ///
  /// - Parameter isEncrypted: Whether it is asked by https.
  package func authority(isEncrypted: Bool) -> String {
    guard let port, port != (isEncrypted ? 443 : 80) else { return host }
    return "\(host):\(port)"
  }
}

/// Escapes of bytes in URLs: `%2F`.
package enum PercentCoding {
  /// nil for a broken escape, or if the result is no UTF-8.
  package static func decode(_ text: some StringProtocol) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Everything but letters, digits and `-._~` becomes `%XX`; "/" too, unless it is kept.
  package static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      let isPlain =
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        case UInt8(ascii: "/"): keepingSlashes
        default: false
        }
      if isPlain {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }
}
