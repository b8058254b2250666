/// A body that is XML, read an event at a time as it comes; only what is asked for is kept.
package protocol XMLSink: HTTPSink {
  var source: XMLSource { get set }

  mutating func handle(_ event: XMLReader.Event) throws(XMLReader.Failure)
}

/// Where the events of a body come from, and how much of it there may be.
package struct XMLSource: Sendable {
  fileprivate var reader = XMLReader()
  fileprivate var limit: ByteLimit
  /// The text since the last tag, as far as it is kept.
  package fileprivate(set) var text = ""

  /// - Parameter bytesMax: Longer documents are none.
  package init(bytesMax: Int) { limit = ByteLimit(bytesMax) }

  fileprivate mutating func next() throws(XMLReader.Failure) -> XMLReader.Event? {
    let event = try reader.next()
    guard case .text(let more) = event else { return event }
    if text.utf8.count + more.utf8.count <= XMLReader.tokenBytesMax { text += more }
    return event
  }
}

extension XMLSink {
  package mutating func begin(_ reply: HTTPReply, _ request: HTTPRequest) throws(HTTPFailure) {}

  package mutating func take(_ bytes: [UInt8], _ request: HTTPRequest) throws(HTTPFailure) {
    try source.limit.take(bytes, request)
    source.reader.feed(bytes)
    do throws(XMLReader.Failure) {
      while let event = try source.next() {
        if case .text = event { continue }
        try handle(event)
        source.text = ""
      }
    } catch {
      throw HTTPFailure(.foreign, request.label, "the answer can't be read (\(error.reason))")
    }
  }

  /// What ended early looks like a listing with fewer files, and is none.
  package func checkComplete(_ request: HTTPRequest) throws(HTTPFailure) {
    guard source.reader.isComplete else {
      throw HTTPFailure(.cut, request.label, "the answer has no end")
    }
  }
}
