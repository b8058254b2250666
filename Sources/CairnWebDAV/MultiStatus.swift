internal import Cairn
internal import CairnHTTP

/// What PROPFIND answers: for each file its properties.
struct MultiStatus: XMLSink {
  struct Item: Equatable {
    /// Decoded, without host and without slashes around it.
    var path: String
    var isDirectory = false
    var size: UInt64?
    var modified: String?
    var tag: String?
  }

  /// What the server says of something instead of what it is.
  struct Refusal {
    /// nil: what it says is no number.
    var status: Int?
    var text: String
  }

  static let body = Array(
    """
    <?xml version="1.0" encoding="utf-8"?>\
    <D:propfind xmlns:D="DAV:"><D:prop><D:getcontentlength/><D:getlastmodified/><D:getetag/>\
    <D:resourcetype/></D:prop></D:propfind>
    """.utf8)
  static let itemsMax = 1_000_000
  private static let dav = "DAV:"

  private(set) var items: [Item] = []
  /// Of whatever it was.
  private(set) var hasResponse = false
  /// The first one of a response as a whole, unless that says only that something is not there.
  private(set) var refusal: Refusal?
  var source: XMLSource
  /// Elements of WebDAV that we are in, by name; others as "".
  private var stack: [String] = []
  private var href: String?
  private var status: String?
  /// The status of a response as a whole, if it has one.
  private var wholeStatus: String?
  /// Properties of the part that is being read, which count if its status says so.
  private var part = Item(path: "")
  private var whole = Item(path: "")

  /// - Parameter bytesMax: Longer documents are none; a million files are half of that.
  init(bytesMax: Int = 512 << 20) { source = XMLSource(bytesMax: bytesMax) }

  mutating func handle(_ event: XMLReader.Event) throws(XMLReader.Failure) {
    switch event {
    case .start(let name, let namespace):
      let name = namespace == MultiStatus.dav ? name : ""
      guard !stack.isEmpty || name == "multistatus" else {
        throw XMLReader.Failure(reason: "it is none of WebDAV")
      }
      stack.append(name)
      begin(name)
    case .end: try end(stack.popLast() ?? "")
    case .text: break
    }
  }

  private mutating func begin(_ name: String) {
    switch (name, stack.count) {
    case ("response", 2):
      hasResponse = true
      (href, status, wholeStatus) = (nil, nil, nil)
      whole = Item(path: "")
    case ("propstat", 3):
      part = Item(path: "")
      status = nil
    case ("collection", 6) where stack[4] == "resourcetype": part.isDirectory = true
    default: break
    }
  }

  private mutating func end(_ name: String) throws(XMLReader.Failure) {
    let value = source.text.trimmed
    switch (name, stack.count) {
    case ("href", 2): href = value
    case ("status", 3): status = value
    case ("status", 2): wholeStatus = value
    case ("propstat", 2): if MultiStatus.isFine(status) { add(part) }
    case ("response", 1): try close()
    case ("getcontentlength", 4): part.size = UInt64(value)
    case ("getlastmodified", 4): part.modified = MultiStatus.kept(value)
    case ("getetag", 4): part.tag = MultiStatus.kept(value).flatMap(EntityTag.text)
    default: break
    }
  }

  /// What is longer than any tag says nothing.
  private static func kept(_ value: String) -> String? {
    value.isEmpty || value.utf8.count > NameLimit.bytesMax ? nil : value
  }

  /// "HTTP/1.1 200 OK"; servers that leave it out mean that.
  private static func isFine(_ status: String?) -> Bool {
    guard let parts = status?.split(separator: " "), parts.count >= 2 else { return true }
    return parts[1] == "200"
  }

  private mutating func add(_ part: Item) {
    whole.isDirectory = whole.isDirectory || part.isDirectory
    whole.size = part.size ?? whole.size
    whole.modified = part.modified ?? whole.modified
    whole.tag = part.tag ?? whole.tag
  }

  private mutating func close() throws(XMLReader.Failure) {
    guard MultiStatus.isFine(wholeStatus) else { return noteRefusal() }
    guard let href, let path = MultiStatus.path(href), path.utf8.count <= NameLimit.bytesMax
    else { return }
    guard items.count < MultiStatus.itemsMax else {
      throw XMLReader.Failure(reason: "more than \(MultiStatus.itemsMax) files")
    }
    whole.path = path
    // No file has a slash at its end.
    if href.hasSuffix("/") { whole.isDirectory = true }
    items.append(whole)
  }

  private mutating func noteRefusal() {
    guard refusal == nil, let text = wholeStatus else { return }
    let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    if let status, status < 300 || status == 404 || status == 410 { return }
    refusal = Refusal(status: status, text: String(text.prefix(100)))
  }

  /// An href is an URL or a path, with or without a slash at its end, encoded one way or another.
  static func path(_ href: String) -> String? {
    var rest = Substring(href)
    if let mark = rest.firstRange(of: "://") {
      rest = rest[mark.upperBound...]
      rest = rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...]
    }
    rest = rest[..<(rest.firstIndex { $0 == "?" || $0 == "#" } ?? rest.endIndex)]
    var names: [String] = []
    for part in rest.split(separator: "/") {
      guard let name = PercentCoding.decode(part), !name.contains("/"), !name.utf8.contains(0),
        name != ".", name != ".."
      else { return nil }
      names.append(name)
    }
    return names.joined(separator: "/")
  }
}

/// Tags of versions as servers write them: `"abc"`, `W/"abc"`, or without quotes.
enum EntityTag {
  /// Without what is around it; nil if nothing is left.
  static func text(_ value: String) -> String? {
    var rest = Substring(value.trimmed)
    if rest.hasPrefix("W/") { rest = rest.dropFirst(2) }
    if rest.hasPrefix("\""), rest.hasSuffix("\""), rest.utf8.count >= 2 {
      rest = rest.dropFirst().dropLast()
    }
    return rest.isEmpty ? nil : String(rest)
  }

  static func isWeak(_ value: String) -> Bool { value.trimmed.hasPrefix("W/") }
}
