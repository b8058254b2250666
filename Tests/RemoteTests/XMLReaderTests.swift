import TestSupport
import Testing

@testable import CairnHTTP
@testable import TestServers

/// XML from servers, and from those who would do harm with it.
@Suite struct XMLReaderTests {
  typealias Event = XMLReader.Event

  static func events(
    _ text: String, piece: Int = .max
  ) throws(XMLReader.Failure) -> (events: [Event], isComplete: Bool) {
    var reader = XMLReader()
    var events: [Event] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      reader.feed(Array(rest.prefix(piece)))
      rest = rest.dropFirst(piece)
      while let event = try reader.next() { events.append(event) }
    }
    return (events, reader.isComplete)
  }

  static let sample = """
    \u{FEFF}<?xml version="1.0" encoding="utf-8"?>
    <!-- a comment with <tags> -->
    <D:a xmlns:D="DAV:" xmlns='urn:x' b="1 > 0">
      <D:b/>text &lt;&amp;&gt;&quot;&apos;&#65;&#x1F600;<c
        xmlns="urn:y" ></c ><![CDATA[<raw>&]]></D:a>

    """

  @Test func `a document is read`() throws {
    let (events, isComplete) = try Self.events(Self.sample)
    #expect(
      events.filter { if case .text(let text) = $0 { !text.trimmed.isEmpty } else { true } } == [
        .start(name: "a", namespace: "DAV:"), .start(name: "b", namespace: "DAV:"),
        .end(name: "b", namespace: "DAV:"), .text("text <&>\"'A😀"),
        .start(name: "c", namespace: "urn:y"), .end(name: "c", namespace: "urn:y"),
        .text("<raw>&"), .end(name: "a", namespace: "DAV:"),
      ])
    #expect(isComplete)
  }

  @Test func `pieces of any size give the same events`() throws {
    let whole = try Self.events(Self.sample).events
    for piece in 1...40 { #expect(try Self.events(Self.sample, piece: piece).events == whole) }
  }

  @Test func `what ends early is not complete`() throws {
    let bytes = Array(Self.sample.utf8)
    // All that follows the root's end is white space.
    let end = try #require(bytes.lastIndex(of: UInt8(ascii: ">")))
    var refused = 0
    for count in 0..<end {
      let text = String(decoding: bytes[..<count], as: UTF8.self)
      if let result = try? Self.events(text) { #expect(!result.isComplete) } else { refused += 1 }
    }
    // A part of the mark that it begins with is none.
    #expect(refused <= 2)
  }

  @Test(
    arguments: [
      "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<!DOCTYPE a SYSTEM \"http://evil/\"><a/>",
      "<a>&nbsp;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#99999999999;</a>", "<a>&#-1;</a>",
      "<a>&unended and more text</a>", "<a></b>", "<a></a></a>", "<a/><b/>", "text", "<a/>text",
      "<a b></a>", "<a b=1></a>", "<x:a/>", "<:a/>", "<a:/>", "<a:b:c/>", "< a/>", "<>", "</a>",
      "<a \"\">",
    ])
  func `what is no XML, or more than that, is refused`(_ text: String) {
    #expect(throws: XMLReader.Failure.self) { try Self.events(text) }
  }

  @Test func `nothing takes more memory than is its share`() {
    let many = 100_000
    let deep = String(repeating: "<a>", count: 65)
    let longTag = "<a b=\"" + String(repeating: "x", count: many)
    let longText = "<a>" + String(repeating: "x", count: many)
    let longComment = "<!--" + String(repeating: "x", count: many)
    let spaces =
      "<a " + (0..<300).map { "xmlns:n\($0)=\"x\" " }.joined() + ">"
    for text in [deep, longTag, longText, longComment, spaces] {
      #expect(throws: XMLReader.Failure.self) { try Self.events(text, piece: 1000) }
    }
  }

  @Test func `bytes at random never trap`() {
    let random = SeededRandom(11)
    let sample = Array(Self.sample.utf8)
    for _ in 0..<3000 {
      var bytes = sample
      for _ in 0...random.below(6) {
        switch random.below(3) {
        case 0: bytes[random.below(bytes.count)] = UInt8(random.below(256))
        case 1: bytes.remove(at: random.below(bytes.count))
        default: bytes.insert(UInt8(ascii: "<"), at: random.below(bytes.count))
        }
      }
      var reader = XMLReader()
      reader.feed(bytes)
      var count = 0
      while let _ = try? reader.next() { count += 1 }
      #expect(count < bytes.count)
    }
  }

  @Test func `dates of servers are read`() {
    #expect(HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777_000)
    #expect(HTTPDate.parse("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
    #expect(HTTPDate.parse("Thu, 29 Feb 2024 12:00:00 GMT") == 1_709_208_000_000)
    #expect(HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 +0000") == 784_111_777_000)
    #expect(HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 UTC") == 784_111_777_000)
    for bad in [
      "", "yesterday", "Sun, 06 Xyz 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:37 +0100",
      "Sun, 06 Nov 1994 08:49:37 -0800",
    ] {
      #expect(HTTPDate.parse(bad) == nil)
    }
    #expect(HTTPDate.compact(1_369_353_600_000) == "20130524T000000Z")
    #expect(HTTPDate.compact(1_709_208_061_999) == "20240229T120101Z")
    #expect(HTTPDate.compact(-1) == "19691231T235959Z")
  }

  @Test func `base 64 is that of everybody`() {
    let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]
    for (count, text) in expected.enumerated() {
      #expect(Base64.encode(Array("foobar".utf8.prefix(count))) == text)
    }
  }
}
