package import Cairn

extension HTTPSession {
  private static let partBytesMax: UInt64 = 4 << 20
  private static let partBytesMin: UInt64 = 4 << 10

  /// Bytes that are asked for at once, of `rest` that may come: at most half of what a budget has
  /// left for that, so that whoever asks for something else meanwhile is not refused.
  private func partBytes(_ rest: UInt64, _ label: String) throws(HTTPFailure) -> UInt64 {
    let most = min(HTTPSession.partBytesMax, rest)
    guard let room = roomForParts else { return most }
    let part = min(most, max(HTTPSession.partBytesMin, room / 2))
    guard part <= room else {
      throw HTTPFailure(
        .budget, label, "what is left of this hour's budget is for changes and listings; "
          + "snapshots and attachments wait")
    }
    return part
  }

  /// Calls `body` with the bytes of a file from a place on, piece by piece; false if it is not
  /// there. No byte is given twice, whatever breaks.
  ///
  /// A file comes in parts, each of which is a request that a budget has room for or not. Every
  /// answer that servers give is taken: a part, a part that says that it is all, and all. A server
  /// that sends all of a long file is asked once more, for just that, and then read to the end, so
  /// that what it sends grows with the file and not with its square.
  ///
  /// - Parameters:
  ///   - length: How long the file is, if that is known: so much is taken from the budget.
  ///   - missing: The statuses that say that it is not there; others are failures.
  package func read(
    _ request: HTTPRequest, from offset: UInt64, of length: UInt64? = nil,
    missing: Set<Int> = [404, 410], _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(HTTPFailure) -> Bool {
    let progress = StreamProgress(offset, of: length)
    var request = request
    request.accepted = missing.union([200, 206, 416])
    while true {
      let before = progress.count
      let status = try await readPart(request, progress, body)
      if missing.contains(status) { return false }
      // There is nothing behind that place.
      if status == 416 || progress.isAtEnd { return true }
      guard progress.count > before else {
        throw HTTPFailure(.foreign, request.label, "a part came in which there is nothing")
      }
    }
  }

  private func readPart(
    _ request: HTTPRequest, _ progress: StreamProgress,
    _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(HTTPFailure) -> Int {
    var request = request
    let part = try partBytes(progress.rest, request.label)
    let (end, isTooFar) = progress.count.addingReportingOverflow(part)
    if isTooFar { return 416 }
    request.expected = end - progress.count
    let plain = request
    request.headers.append(("Range", "bytes=\(progress.count)-\(end - 1)"))
    do throws(HTTPFailure) {
      do throws(HTTPFailure) { return try await send(request, end, progress, body) } catch {
        guard !progress.isAtEnd, error.kind == .tooLarge, let whole = progress.whole else {
          throw error
        }
        request = plain
        request.expected = whole
        return try await send(request, .max, progress, body)
      }
    } catch {
      if progress.isAtEnd { return 200 }
      throw error
    }
  }

  /// Asks for what is still missing of a part, up to a place.
  private static func renew(
    _ request: inout HTTPRequest, _ progress: StreamProgress, _ end: UInt64
  ) {
    guard progress.count < end, let last = request.headers.indices.last,
      request.headers[last].name == "Range"
    else { return }
    request.headers[last].value = "bytes=\(progress.count)-\(end - 1)"
    request.expected = end - progress.count
  }

  private func send(
    _ request: HTTPRequest, _ end: UInt64, _ progress: StreamProgress,
    _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(HTTPFailure) -> Int {
    let answer = try await send(
      request, into: { StreamSink(progress, end: end) },
      giving: { bytes throws(CairnError) in
        try body(bytes)
        progress.count += UInt64(bytes.count)
      }, renew: { HTTPSession.renew(&$0, progress, end) })
    // Where nothing says how long the file is, an answer that is no part is all of it, and a part
    // that ends early was the last one.
    let sink = answer.sink
    if sink.isAll { try progress.checkWhole(sink.total ?? sink.position, request) }
    progress.note(length: sink.total)
    progress.isAtEnd =
      sink.isAll || sink.total.map { progress.count >= $0 } ?? (progress.count < end)
    return answer.reply.status
  }
}

/// How far a file has come, through all tries.
private final class StreamProgress {
  /// Up to which byte it was given to who wants it.
  var count: UInt64
  var isAtEnd = false
  /// How long it is, if the server would send all of it.
  var whole: UInt64?
  /// How long it is, as far as anybody has said.
  private(set) var length: UInt64?
  /// How long it is, by the server.
  private var said: UInt64?

  init(_ count: UInt64, of length: UInt64?) { (self.count, self.length) = (count, length) }

  /// What may still come. A file that was to be at its end, and is asked for once more, may have
  /// grown.
  var rest: UInt64 {
    guard let length, length > count else { return .max }
    return length - count
  }

  /// The server has said how long it is.
  func note(length told: UInt64?) {
    guard let told else { return }
    (length, said) = (told, told)
  }

  /// What comes as all of a file can't be shorter than the server has said that it is: it is what
  /// somebody else says, a proxy for one.
  func checkWhole(_ length: UInt64, _ request: HTTPRequest) throws(HTTPFailure) {
    guard let said, length < said else { return }
    throw HTTPFailure(
      .foreign, request.label, "\(length) bytes came as all of a file of \(said)")
  }
}

/// Gives on what has not come before, whatever comes around it.
private struct StreamSink: HTTPSink {
  private let progress: StreamProgress
  private let end: UInt64
  private(set) var position: UInt64 = 0
  private var isWanted = false
  /// The answer is no part.
  private(set) var isAll = false
  private var pending: [UInt8] = []
  /// The length of the file, if the server says it.
  private(set) var total: UInt64?

  init(_ progress: StreamProgress, end: UInt64) { (self.progress, self.end) = (progress, end) }

  var hasEnough: Bool { isWanted && !isAll && position > end }

  mutating func begin(_ reply: HTTPReply, _ request: HTTPRequest) throws(HTTPFailure) {
    isWanted = reply.status == 200 || reply.status == 206
    guard isWanted else { return }
    if let part = reply.contentRange {
      guard part.start <= progress.count else {
        throw HTTPFailure(
          .foreign, request.label, "bytes from \(part.start) on came instead of those asked for")
      }
      (position, total) = (part.start, part.total)
      return
    }
    guard reply.status == 200 else {
      throw HTTPFailure(.foreign, request.label, "a part came that does not say which")
    }
    (isAll, total) = (true, reply.length)
    if let length = reply.length, length > 0, length <= progress.count {
      // A page is short, too: whether it is one, its first bytes say.
      if reply.contentType == "text/html" { return }
      try progress.checkWhole(length, request)
      progress.isAtEnd = true
      throw HTTPFailure(.tooLarge, request.label, "all of it has come before, and comes again")
    }
    // Not what was taken from the budget for it.
    guard let length = reply.length, length > request.expected, progress.whole == nil else {
      return
    }
    progress.whole = length
    throw HTTPFailure(.tooLarge, request.label, "\(length) bytes come, and not a part of them")
  }

  mutating func take(_ bytes: [UInt8], _ request: HTTPRequest) throws(HTTPFailure) {
    guard isWanted else { return }
    let start = max(progress.count, position)
    let stop = min(isAll ? .max : end, position + UInt64(bytes.count))
    if start < stop { pending += bytes[Int(start - position)..<Int(stop - position)] }
    position += UInt64(bytes.count)
  }

  mutating func given() -> [UInt8] {
    defer { pending = [] }
    return pending
  }
}
