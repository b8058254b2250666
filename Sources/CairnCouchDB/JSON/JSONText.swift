internal import Cairn

/// A value of JSON as it was spelled. The command line's reader makes values and refuses what they
/// can't hold (integers beyond 64 bits, halves of surrogate pairs); what a follower has to give
/// back as it came stays text here, and is taken apart only as far as somebody asks.
struct JSONText: Sendable {
  private let bytes: [UInt8]
  /// Where the value is, without space around it.
  private let range: Range<Int>

  /// The one value in these bytes.
  ///
  /// - Throws: `response` if they are not exactly one value in UTF-8.
  init(_ bytes: [UInt8]) throws(CairnError) {
    var scanner = JSONScanner(bytes, 0..<bytes.count)
    scanner.skipSpace()
    let start = scanner.position
    try scanner.skipValue()
    range = start..<scanner.position
    scanner.skipSpace()
    guard scanner.current == nil else { throw scanner.fault("more after the value") }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw scanner.fault("it is not UTF-8")
    }
    self.bytes = bytes
  }

  private init(_ bytes: [UInt8], _ range: Range<Int>) { (self.bytes, self.range) = (bytes, range) }

  /// How it is spelled.
  var spelling: ArraySlice<UInt8> { bytes[range] }
  var text: String { String(decoding: spelling, as: UTF8.self) }

  private var first: UInt8 { bytes[range.lowerBound] }
  var isObject: Bool { first == UInt8(ascii: "{") }
  var isArray: Bool { first == UInt8(ascii: "[") }
  var isString: Bool { first == UInt8(ascii: "\"") }
  var isNull: Bool { first == UInt8(ascii: "n") }
  var isNumber: Bool { first == UInt8(ascii: "-") || (0x30...0x39).contains(first) }

  struct Member {
    /// A string.
    var name: JSONText
    var value: JSONText
  }

  /// The members of an object in their order, twins among them; none of anything else.
  func members() throws(CairnError) -> [Member] {
    guard isObject else { return [] }
    var scanner = JSONScanner(bytes, (range.lowerBound + 1)..<(range.upperBound - 1))
    var members: [Member] = []
    scanner.skipSpace()
    while scanner.current != nil {
      let start = scanner.position
      try scanner.skipString()
      let name = JSONText(bytes, start..<scanner.position)
      scanner.skipSpace()
      try scanner.expect(":")
      scanner.skipSpace()
      members.append(Member(name: name, value: try JSONText(value: &scanner, bytes)))
      scanner.skipSpace()
      if scanner.take(",") { scanner.skipSpace() }
    }
    return members
  }

  /// The items of an array; none of anything else.
  func items() throws(CairnError) -> [JSONText] { try items(atMost: .max) ?? [] }

  /// Nil if there are more.
  func items(atMost most: Int) throws(CairnError) -> [JSONText]? {
    guard isArray else { return [] }
    var scanner = JSONScanner(bytes, (range.lowerBound + 1)..<(range.upperBound - 1))
    var items: [JSONText] = []
    scanner.skipSpace()
    while scanner.current != nil {
      if items.count >= most { return nil }
      items.append(try JSONText(value: &scanner, bytes))
      scanner.skipSpace()
      if scanner.take(",") { scanner.skipSpace() }
    }
    return items
  }

  private init(value scanner: inout JSONScanner, _ bytes: [UInt8]) throws(CairnError) {
    let start = scanner.position
    try scanner.skipValue()
    self.init(bytes, start..<scanner.position)
  }

  /// The member of a name; the last one, if there are twins.
  func member(_ name: String) throws(CairnError) -> JSONText? {
    try members().last { $0.name.string == name }?.value
  }

  // MARK: values

  /// Nil for anything but a string, and for one that is no Unicode (half of a surrogate pair).
  var string: String? {
    guard isString else { return nil }
    let content = bytes[(range.lowerBound + 1)..<(range.upperBound - 1)]
    if !content.contains(UInt8(ascii: "\\")) { return String(decoding: content, as: UTF8.self) }
    return JSONString.unescaped(content)
  }

  var bool: Bool? {
    switch first {
    case UInt8(ascii: "t"): true
    case UInt8(ascii: "f"): false
    default: nil
    }
  }

  /// Nil for anything but an integer of 64 bits that is spelled as this one would be.
  var int: Int64? {
    guard isNumber, let value = Int64(text), String(value) == text else { return nil }
    return value
  }

  /// The nearest double of a number that is none of those integers; nil beyond the range of one.
  var double: Double? {
    guard isNumber, spelling.contains(where: { [0x2E, 0x65, 0x45].contains($0) }),
      let value = Double(text), value.isFinite
    else { return nil }
    return value
  }
}
