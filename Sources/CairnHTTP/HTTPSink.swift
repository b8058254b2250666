/// Takes the body of an answer as it comes. Each try has a new one.
package protocol HTTPSink {
  /// Before the first bytes. Throws if the body is not wanted.
  mutating func begin(_ reply: HTTPReply, _ request: HTTPRequest) throws(HTTPFailure)

  mutating func take(_ bytes: [UInt8], _ request: HTTPRequest) throws(HTTPFailure)

  /// What it was given and does not keep, since it was last asked.
  mutating func given() -> [UInt8]

  /// More has come than is wanted: the rest is not read, which costs the connection.
  var hasEnough: Bool { get }

  /// The body is a file, of which a budget has to have room for all that is said to come.
  var needsRoom: Bool { get }
}

extension HTTPSink {
  package mutating func given() -> [UInt8] { [] }
  package var hasEnough: Bool { false }
  package var needsRoom: Bool { false }
}

/// Counts what has come of a body that is not kept whole, and has to end some time all the same.
package struct ByteLimit: Sendable {
  private var rest: Int
  private let limit: Int

  package init(_ limit: Int) { (rest, self.limit) = (limit, limit) }

  package mutating func take(_ bytes: [UInt8], _ request: HTTPRequest) throws(HTTPFailure) {
    guard bytes.count <= rest else {
      throw HTTPFailure(.tooLarge, request.label, "the answer has more than \(limit) bytes")
    }
    rest -= bytes.count
  }
}

/// Names that are longer are none of ours: nobody keeps them.
package enum NameLimit {
  package static let bytesMax = 1024
}

/// Keeps all of it, up to a limit.
package struct BytesSink: HTTPSink {
  package private(set) var bytes: [UInt8] = []
  package let needsRoom: Bool
  private let limit: Int

  package init(limit: Int, needsRoom: Bool = false) {
    (self.limit, self.needsRoom) = (max(0, limit), needsRoom)
  }

  package mutating func begin(
    _ reply: HTTPReply, _ request: HTTPRequest
  ) throws(HTTPFailure) {
    // Of a file that is only looked at the length comes, and no bytes.
    guard let length = reply.length, request.method != "HEAD" else { return }
    try check(length, request)
    bytes.reserveCapacity(Int(length))
  }

  package mutating func take(
    _ bytes: [UInt8], _ request: HTTPRequest
  ) throws(HTTPFailure) {
    try check(UInt64(self.bytes.count) + UInt64(bytes.count), request)
    self.bytes += bytes
  }

  private func check(_ count: UInt64, _ request: HTTPRequest) throws(HTTPFailure) {
    guard count <= UInt64(limit) else {
      throw HTTPFailure(
        .tooLarge, request.label, "the answer has \(count) bytes or more; at most \(limit) may be")
    }
  }
}
