package import Cairn

/// Says in a request who asks.
package protocol HTTPAuthorizer: Sendable {
  /// The headers to add. Called before each try.
  ///
  /// - Parameters:
  ///   - now: The server's time as far as that is known, in milliseconds since 1970.
  func headers(
    for request: HTTPRequest, _ credentials: Credentials?, now: Int64
  ) throws(CairnError) -> [(name: String, value: String)]

  /// Whether it knows what to do with such credentials.
  func takes(_ kind: Credentials.Kind) -> Bool

  /// Whether the server may do it for other credentials.
  func isRefusal(_ failure: HTTPFailure) -> Bool

  /// Whether the same request may succeed a little later.
  func isPassing(_ failure: HTTPFailure) -> Bool
}

extension HTTPAuthorizer {
  package func takes(_ kind: Credentials.Kind) -> Bool { kind != .accessKey }
  package func isPassing(_ failure: HTTPFailure) -> Bool { failure.isPassing }
  package func isRefusal(_ failure: HTTPFailure) -> Bool { failure.kind == .status(401) }
}

/// User and password, or a token: what WebDAV servers ask for.
package struct PlainAuthorizer: HTTPAuthorizer {
  package init() {}

  package func headers(
    for request: HTTPRequest, _ credentials: Credentials?, now: Int64
  ) throws(CairnError) -> [(name: String, value: String)] {
    switch credentials?.kind {
    case nil: return []
    case .bearer:
      let token = try HTTPHeader.checked(credentials?.secret ?? "", "token")
      return [("Authorization", "Bearer \(token)")]
    case .password:
      let name = credentials?.name ?? ""
      // The server would take what follows for the beginning of the password (RFC 7617, 2).
      if name.utf8.contains(UInt8(ascii: ":")) {
        throw CairnError(
          .auth, "the user's name has a colon in it; for a server the name ends there, so that "
            + "none can be part of it: is it the right name?")
      }
      let pair = "\(name):\(credentials?.secret ?? "")"
      return [("Authorization", "Basic \(Base64.encode(Array(pair.utf8)))")]
    default:
      throw CairnError(
        .auth, "this server wants a user and a password, or a token, and no access key")
    }
  }
}

/// What may stand in a header.
package enum HTTPHeader {
  /// The text itself. The network library would send none of it, and say that the connection broke.
  package static func checked(_ text: String, _ what: String) throws(CairnError) -> String {
    if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      throw CairnError(
        .auth, "the \(what) has a line end or another control character in it; it is sent in a "
          + "header, where there can be none: remove it where the \(what) comes from")
    }
    return text
  }
}

/// RFC 4648, with padding.
package enum Base64 {
  private static let letters = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var word: UInt32 = 0
      for index in 0..<3 {
        word = word << 8 | (start + index < bytes.count ? UInt32(bytes[start + index]) : 0)
      }
      for place in 0..<4 {
        let letter = letters[Int(word >> UInt32(18 - 6 * place) & 63)]
        out.append(place <= group.count ? letter : UInt8(ascii: "="))
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
}
