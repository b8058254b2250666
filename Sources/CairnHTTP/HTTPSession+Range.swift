internal import Cairn

extension HTTPSession {
  /// A part of a file, shorter if it ends before; nil if it is not there. Takes every answer that
  /// servers give: a part, a part that says that it is all, and all.
  package func read(
    _ request: HTTPRequest, range: Range<UInt64>
  ) async throws(HTTPFailure) -> [UInt8]? {
    if range.isEmpty { return [] }
    var request = request
    request.accepted = [200, 206, 404, 410, 416]
    request.expected = range.upperBound - range.lowerBound
    request.headers.append(("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
    let answer = try await send(request) { RangeSink(range) }
    switch answer.reply.status {
    case 404, 410: return nil
    case 416: return []
    default: return answer.sink.bytes
    }
  }
}

/// Keeps a part, whatever comes around it.
private struct RangeSink: HTTPSink {
  private(set) var bytes: [UInt8] = []
  private let range: Range<UInt64>
  private var position: UInt64 = 0
  private var isWanted = false
  /// A server that knows no parts sends all of the file, however long it is.
  var hasEnough: Bool { isWanted && position > range.upperBound }

  init(_ range: Range<UInt64>) { self.range = range }

  mutating func begin(_ reply: HTTPReply, _ request: HTTPRequest) throws(HTTPFailure) {
    isWanted = reply.status == 200 || reply.status == 206
    if let part = reply.contentRange {
      guard part.start <= range.lowerBound else {
        throw HTTPFailure(
          .foreign, request.label, "bytes from \(part.start) on came instead of those asked for")
      }
      position = part.start
    } else if reply.status == 206 {
      throw HTTPFailure(.foreign, request.label, "a part came that does not say which")
    }
  }

  mutating func take(_ more: [UInt8], _ request: HTTPRequest) throws(HTTPFailure) {
    guard isWanted else { return }
    let start = max(range.lowerBound, position)
    let end = min(range.upperBound, position + UInt64(more.count))
    if start < end { bytes += more[Int(start - position)..<Int(end - position)] }
    position += UInt64(more.count)
  }
}
