/// Reads XML as it comes, an event at a time. Nothing in it is trusted: what it keeps in memory is
/// bounded, there are no document types and so no entities but the five that XML has by itself.
package struct XMLReader {
  package enum Event: Equatable, Sendable {
    /// The name without its prefix, and what the prefix stands for.
    case start(name: String, namespace: String)
    case end(name: String, namespace: String)
    case text(String)
  }

  package struct Failure: Error, Equatable, Sendable {
    package var reason: String

    package init(reason: String) { self.reason = reason }
  }

  /// The most bytes of one tag, or of one piece of text.
  package static let tokenBytesMax = 64 << 10
  package static let depthMax = 64
  private static let bindingsMax = 256

  private struct Element {
    var qualified: String
    var name: String
    var namespace: String
    var bindingCount: Int
  }

  private var buffer: [UInt8] = []
  private var position = 0
  private var elements: [Element] = []
  /// Prefixes and what they stand for, the innermost last.
  private var bindings: [(prefix: String, namespace: String)] = []
  private var pendingEnd: Event?
  private var hasBegun = false
  private var hasRoot = false

  package init() {}

  /// Whether the root element was closed.
  package var isComplete: Bool { hasRoot && elements.isEmpty && pendingEnd == nil }

  package mutating func feed(_ bytes: [UInt8]) {
    if position > 0 {
      buffer.removeFirst(position)
      position = 0
    }
    buffer += bytes
  }

  /// The next event; nil if more bytes are needed for it, or the document is complete.
  package mutating func next() throws(Failure) -> Event? {
    if let end = pendingEnd {
      pendingEnd = nil
      return end
    }
    while position < buffer.count {
      if !hasBegun {
        guard skipMark() else { return nil }
        // The mark may be all that is there.
        continue
      }
      if buffer[position] == UInt8(ascii: "<") {
        guard let event = try markup() else { return nil }
        if case .some(let event) = event { return event }
      } else {
        guard let text = try text() else { return nil }
        if !text.isEmpty { return .text(text) }
      }
    }
    return nil
  }

  /// What says that the bytes are UTF-8. False if more of it may come.
  private mutating func skipMark() -> Bool {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let start = Array(buffer.prefix(3))
    if start == mark {
      position = 3
    } else if start.count < 3, mark.starts(with: start) {
      return false
    }
    hasBegun = true
    return true
  }

  // MARK: text

  /// Up to the next tag. All of a text is in one event.
  private mutating func text() throws(Failure) -> String? {
    guard let end = buffer[position...].firstIndex(of: UInt8(ascii: "<")) else {
      try checkToken()
      if elements.isEmpty {
        // What follows the root, or comes before it, is white space without an end.
        try checkSpace(buffer[position...])
        position = buffer.count
      }
      return nil
    }
    let bytes = buffer[position..<end]
    position = end
    if elements.isEmpty {
      try checkSpace(bytes)
      return ""
    }
    return try unescaped(bytes)
  }

  private func checkSpace(_ bytes: ArraySlice<UInt8>) throws(Failure) {
    guard bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }) else {
      throw Failure(reason: "text outside of the root element")
    }
  }

  private func checkToken() throws(Failure) {
    guard buffer.count - position <= XMLReader.tokenBytesMax else {
      throw Failure(reason: "a piece of more than \(XMLReader.tokenBytesMax) bytes")
    }
  }

  private func unescaped(_ bytes: ArraySlice<UInt8>) throws(Failure) -> String {
    guard bytes.count <= XMLReader.tokenBytesMax else {
      throw Failure(reason: "a text of more than \(XMLReader.tokenBytesMax) bytes")
    }
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "&") else {
        out.append(byte)
        continue
      }
      guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
        throw Failure(reason: "an escape without an end")
      }
      out += try XMLReader.character(rest[rest.startIndex..<end])
      rest = rest[(end + 1)...]
    }
    return try valid(out[...])
  }

  private func valid(_ bytes: ArraySlice<UInt8>) throws(Failure) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure(reason: "bytes that are no UTF-8")
    }
    return text
  }

  private static func character(_ name: ArraySlice<UInt8>) throws(Failure) -> [UInt8] {
    switch String(decoding: name, as: UTF8.self) {
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "amp": return [UInt8(ascii: "&")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    case let text where text.hasPrefix("#"):
      let isHex = text.hasPrefix("#x")
      let digits = text.dropFirst(isHex ? 2 : 1)
      guard digits.first?.isHexDigit == true, let number = UInt32(digits, radix: isHex ? 16 : 10),
        number > 0, let scalar = Unicode.Scalar(number)
      else { throw Failure(reason: "an escape of no character") }
      return Array(String(Character(scalar)).utf8)
    default: throw Failure(reason: "an entity that XML does not have by itself")
    }
  }

  // MARK: tags

  /// nil: more bytes are needed. `.some(nil)`: something that is no event was passed.
  private mutating func markup() throws(Failure) -> Event?? {
    if hasPrefix("<!--") { return try skip(to: "-->") }
    if hasPrefix("<![CDATA[") { return try characterData() }
    if hasPrefix("<?") { return try skip(to: "?>") }
    if hasPrefix("<!") {
      // It may be the beginning of one of the above.
      if buffer.count - position < 9, isBeginning("<!--") || isBeginning("<![CDATA[") {
        return nil
      }
      throw Failure(reason: "a document type, of which nothing good comes")
    }
    guard let end = tagEnd() else {
      try checkToken()
      return nil
    }
    let tag = buffer[(position + 1)..<end]
    position = end + 1
    guard tag.count <= XMLReader.tokenBytesMax else { throw Failure(reason: "a tag without end") }
    return tag.first == UInt8(ascii: "/") ? try close(tag.dropFirst()) : try open(tag)
  }

  private func hasPrefix(_ text: StaticString) -> Bool {
    buffer[position...].starts(with: "\(text)".utf8)
  }

  private func isBeginning(_ text: StaticString) -> Bool {
    "\(text)".utf8.starts(with: buffer[position...])
  }

  private mutating func skip(to end: StaticString) throws(Failure) -> Event?? {
    guard let found = find(end, from: position + 2) else {
      try checkToken()
      return nil
    }
    position = found + "\(end)".utf8.count
    return .some(nil)
  }

  private func find(_ text: StaticString, from start: Int) -> Int? {
    let wanted = Array("\(text)".utf8)
    var index = start
    while index + wanted.count <= buffer.count {
      if buffer[index] == wanted[0], buffer[index...].starts(with: wanted) { return index }
      index += 1
    }
    return nil
  }

  private mutating func characterData() throws(Failure) -> Event?? {
    let start = position + 9
    guard let end = find("]]>", from: start) else {
      try checkToken()
      return nil
    }
    guard !elements.isEmpty else { throw Failure(reason: "text outside of the root element") }
    let text = try valid(buffer[start..<end])
    position = end + 3
    return .some(text.isEmpty ? nil : .text(text))
  }

  /// Where the tag at the position ends; not inside of a quoted value.
  private func tagEnd() -> Int? {
    var quote: UInt8?
    for index in (position + 1)..<buffer.count {
      let byte = buffer[index]
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      } else if byte == UInt8(ascii: ">") {
        return index
      }
    }
    return nil
  }

  private mutating func open(_ tag: ArraySlice<UInt8>) throws(Failure) -> Event?? {
    guard !hasRoot || !elements.isEmpty else { throw Failure(reason: "a second root element") }
    guard elements.count < XMLReader.depthMax else {
      throw Failure(reason: "elements nested more than \(XMLReader.depthMax) deep")
    }
    let isEmpty = tag.last == UInt8(ascii: "/")
    var parser = TagParser(isEmpty ? tag.dropLast() : tag)
    let qualified = try parser.name()
    let bindingCount = bindings.count
    while let (name, value) = try parser.attribute() {
      if name == "xmlns" {
        bindings.append(("", try unescaped(value)))
      } else if name.hasPrefix("xmlns:") {
        bindings.append((String(name.dropFirst(6)), try unescaped(value)))
      }
    }
    guard bindings.count <= XMLReader.bindingsMax else {
      throw Failure(reason: "more than \(XMLReader.bindingsMax) namespaces")
    }
    let (name, namespace) = try resolve(qualified)
    hasRoot = true
    if isEmpty {
      bindings.removeSubrange(bindingCount...)
      pendingEnd = .end(name: name, namespace: namespace)
    } else {
      elements.append(
        Element(
          qualified: qualified, name: name, namespace: namespace, bindingCount: bindingCount))
    }
    return .some(.start(name: name, namespace: namespace))
  }

  private mutating func close(_ tag: ArraySlice<UInt8>) throws(Failure) -> Event?? {
    var parser = TagParser(tag)
    let qualified = try parser.name()
    guard parser.isAtEnd, let element = elements.popLast(), element.qualified == qualified else {
      throw Failure(reason: "an end without its beginning")
    }
    bindings.removeSubrange(element.bindingCount...)
    return .some(.end(name: element.name, namespace: element.namespace))
  }

  private func resolve(
    _ qualified: String
  ) throws(Failure) -> (name: String, namespace: String) {
    let parts = qualified.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count <= 2, !parts.contains(where: \.isEmpty) else {
      throw Failure(reason: "a name that is none")
    }
    let prefix = parts.count == 2 ? String(parts[0]) : ""
    let name = String(parts[parts.count - 1])
    if let binding = bindings.last(where: { $0.prefix == prefix }) {
      return (name, binding.namespace)
    }
    guard prefix.isEmpty else { throw Failure(reason: "a prefix that stands for nothing") }
    return (name, "")
  }
}

/// What stands between the angle brackets.
private struct TagParser {
  private var rest: ArraySlice<UInt8>

  init(_ tag: ArraySlice<UInt8>) { rest = tag }

  var isAtEnd: Bool { rest.allSatisfy(TagParser.isSpace) }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  mutating func name() throws(XMLReader.Failure) -> String {
    let name = rest.prefix { byte in
      !TagParser.isSpace(byte) && byte != UInt8(ascii: "=") && byte != UInt8(ascii: "<")
        && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "'") && byte != UInt8(ascii: "&")
        && byte != UInt8(ascii: "/")
    }
    rest = rest[name.endIndex...]
    guard !name.isEmpty, name.count <= 1024,
      let text = String(validating: name, as: UTF8.self)
    else { throw XMLReader.Failure(reason: "a name that is none") }
    return text
  }

  /// The next attribute with its value as it stands there; nil at the end.
  mutating func attribute() throws(XMLReader.Failure) -> (String, ArraySlice<UInt8>)? {
    skipSpace()
    if rest.isEmpty { return nil }
    let name = try name()
    skipSpace()
    guard rest.popFirst() == UInt8(ascii: "=") else {
      throw XMLReader.Failure(reason: "an attribute without a value")
    }
    skipSpace()
    guard let quote = rest.popFirst(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
      let end = rest.firstIndex(of: quote)
    else { throw XMLReader.Failure(reason: "an attribute without a value") }
    let value = rest[rest.startIndex..<end]
    rest = rest[(end + 1)...]
    return (name, value)
  }

  private mutating func skipSpace() { rest = rest.drop(while: TagParser.isSpace) }
}
