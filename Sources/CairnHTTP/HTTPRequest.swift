package import Cairn

/// One request, as it is sent each time that it is tried.
package struct HTTPRequest: Sendable {
  package var method: String
  /// `https://host:port`, without a slash at its end.
  package var origin: String
  /// From the slash on, percent-encoded.
  package var path: String
  /// Names and values, not encoded, in the order in which they are sent.
  package var query: [(name: String, value: String)] = []
  package var headers: [(name: String, value: String)] = []
  package var body = Body.none
  /// Bytes that the answer is known to have, if it is long: it may take longer then, and
  /// needs room in the budget.
  package var expected: UInt64 = 0
  /// Statuses that are an answer and not a failure.
  package var accepted: Set<Int>
  /// Without it something half done would lie about: no budget stands against it.
  package var endsWhatWasBegun = false
  /// How a budget stands against it otherwise.
  package var need = BudgetNeed.waits
  /// Nothing is lost if it fails: it is not tried again.
  package var isWorthOneTry = false
  /// What is asked for may itself be a web page, which is then taken for none of a log-in.
  package var mayBePage = false

  /// What is sent along.
  package enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// A part of a file, read while it is sent.
    case part(any FolderSource, Range<UInt64>)

    package var count: UInt64 {
      switch self {
      case .none: 0
      case .bytes(let bytes): UInt64(bytes.count)
      case .part(_, let range): range.upperBound - range.lowerBound
      }
    }

    /// Some of it.
    package func slice(_ wanted: Range<UInt64>) throws(CairnError) -> [UInt8] {
      switch self {
      case .none: []
      case .bytes(let bytes): Array(bytes[Int(wanted.lowerBound)..<Int(wanted.upperBound)])
      case .part(let source, let range):
        try source.read(
          range.lowerBound + wanted.lowerBound..<range.lowerBound + wanted.upperBound)
      }
    }
  }

  package init(
    _ method: String, _ origin: String, _ path: String, accepted: Set<Int>
  ) {
    self.method = method
    self.origin = origin
    self.path = path
    self.accepted = accepted
  }

  package var url: String { origin + path + queryText }

  package var queryText: String {
    if query.isEmpty { return "" }
    return "?"
      + query.map { PercentCoding.encode($0.name) + "=" + PercentCoding.encode($0.value) }
      .joined(separator: "&")
  }

  /// Goes to another path of the same server, and so does what names its target there (MOVE): what
  /// the two paths end with alike is called the same, and what stands before that otherwise.
  mutating func follow(to target: String) {
    var old = path.split(separator: "/", omittingEmptySubsequences: false)
    var new = target.split(separator: "/", omittingEmptySubsequences: false)
    while let name = old.last, name == new.last {
      old.removeLast()
      new.removeLast()
    }
    let before = origin + old.joined(separator: "/")
    let after = origin + new.joined(separator: "/")
    for index in headers.indices where headers[index].name == "Destination" {
      let value = headers[index].value
      guard value.hasPrefix(before + "/") else { continue }
      headers[index].value = after + String(value.dropFirst(before.count))
    }
    path = target
  }

  /// How errors call it: no query, no header, nothing secret.
  package var label: String { "\(method) \(origin)\(path)" }
}
