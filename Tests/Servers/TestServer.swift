import CairnDisk
import Foundation
import Glibc
import Synchronization

/// What a server was asked.
struct Asked: Sendable {
  /// Which request of this server it is, from 0 on.
  var number: Int
  var message: Message
  var method: String
  /// Decoded, without the query.
  var path: String
  var query: [String: String]
  var body: [UInt8] { message.body }

  subscript(_ name: String) -> String? { message[name] }
}

/// What a server answers, or does instead.
enum Reply: Sendable {
  case answer(Int, [(String, String)] = [], [UInt8] = [])
  /// The beginning of an answer that says it is longer.
  case cut(Int, [(String, String)] = [], [UInt8], says: Int)
  /// The connection closes without an answer.
  case hangUp
  /// Nothing, for as long as the connection stays.
  case silence
  /// An answer that never stops, and says so little at a time that it never ends: a byte every so
  /// many seconds.
  case trickle(Double)
  /// These bytes, and the connection closes.
  case bytes([UInt8])

  static func text(_ status: Int, _ text: String, type: String = "text/plain") -> Reply {
    .answer(status, [("Content-Type", type)], Array(text.utf8))
  }
}

/// An HTTP server on this machine that does what a test says.
final class TestServer: Sendable {
  typealias Handler = @Sendable (Asked) -> Reply

  let port: UInt16
  private let descriptor: Int32
  private let state = Lock(State())

  private struct State {
    var handler: Handler
    var log: [String] = []
    var wires: [Int32] = []
    var isStopped = false
    /// Keeps the port of a server that was stopped, so that none of another test gets it.
    var kept: Int32?
    var largestBody = 0
    var underWay = 0
    var mostAtOnce = 0
    var observer: @Sendable (Asked) -> Void = { _ in }
    var pace: @Sendable (Int) -> Void = { _ in }
    var hello: [UInt8] = []
    var hellos = 0
    var answersHellos = true

    init() { handler = { _ in .answer(404) } }
  }

  init(_ handler: @escaping Handler = { _ in .answer(404) }) throws {
    guard let (descriptor, port) = Wire.listen() else { throw POSIXError(.EADDRINUSE) }
    (self.descriptor, self.port) = (descriptor, port)
    state.withLock { $0.handler = handler }
    Thread.detachNewThread { [weak self] in TestServer.accept(descriptor) { self } }
  }

  deinit {
    end()
    if let kept = state.withLock({ $0.kept }) { _ = Glibc.close(kept) }
  }

  /// From now on nothing listens at its port.
  func stop() {
    guard end() else { return }
    let kept = Wire.keep(port)
    state.withLock { $0.kept = kept }
  }

  /// False if it had ended before.
  @discardableResult
  private func end() -> Bool {
    let wires = state.withLock { state in
      defer { (state.wires, state.isStopped) = ([], true) }
      return state.isStopped ? nil : state.wires
    }
    guard let wires else { return false }
    _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
    _ = Glibc.close(descriptor)
    for wire in wires { Wire(descriptor: wire).hangUp() }
    return true
  }

  var origin: String { "http://127.0.0.1:\(port)" }

  func handle(_ handler: @escaping Handler) { state.withLock { $0.handler = handler } }

  /// `METHOD path` of each request so far.
  var log: [String] { state.withLock { $0.log } }
  var count: Int { log.count }
  /// The most bytes of a body that came or went.
  var largestBody: Int { state.withLock { $0.largestBody } }
  /// The most requests that were under way at once.
  var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
  /// Called before each request is answered.
  func observe(_ observer: @escaping @Sendable (Asked) -> Void) {
    state.withLock { $0.observer = observer }
  }
  /// Called before more of a body is received, with how much of it has come: a slow server sleeps
  /// in it.
  func pace(_ pace: @escaping @Sendable (Int) -> Void) { state.withLock { $0.pace = pace } }
  /// How the last one began that wanted to encrypt.
  var hello: [UInt8] { state.withLock { $0.hello } }
  /// How many wanted to.
  var hellos: Int { state.withLock { $0.hellos } }
  /// From now on the connection of who wants to encrypt closes without a word.
  func hangUpOnHellos() { state.withLock { $0.answersHellos = false } }
  func clearLog() { state.withLock { $0.log = [] } }

  /// The requests that are made while `body` runs.
  func requests<R>(
    during body: () async throws -> R
  ) async rethrows -> (result: R, log: [String]) {
    let before = count
    let result = try await body()
    return (result, Array(log.dropFirst(before)))
  }

  private static func accept(_ descriptor: Int32, _ server: () -> TestServer?) {
    while true {
      let accepted = Glibc.accept(descriptor, nil, nil)
      guard accepted >= 0, let server = server() else {
        if accepted >= 0 { Wire(descriptor: accepted).close() }
        return
      }
      // Linux does not pass it on from the socket that listens.
      _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
      server.serve(Wire(descriptor: accepted))
    }
  }

  private func serve(_ wire: Wire) {
    let isStopped = state.withLock { state in
      state.wires.append(wire.descriptor)
      return state.isStopped
    }
    if isStopped { return wire.close() }
    Thread.detachNewThread { [weak self] in
      var rest: [UInt8] = []
      let pace: (Int) -> Void = { count in
        let pace = self?.state.withLock { $0.pace }
        pace?(count)
      }
      while let message = Message.read(wire, &rest, pace: pace) {
        guard let server = self, server.answer(message, wire),
          message["connection"]?.lowercased() != "close"
        else { break }
      }
      if rest.first == 0x16, self?.noteHello(rest) != false {
        wire.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
      }
      self?.forget(wire)
      wire.close()
    }
  }

  /// Whether it is answered.
  private func noteHello(_ hello: [UInt8]) -> Bool {
    state.withLock { state in
      state.hello = hello
      state.hellos += 1
      return state.answersHellos
    }
  }

  private func forget(_ wire: Wire) {
    state.withLock { $0.wires.removeAll { $0 == wire.descriptor } }
  }

  /// False if the connection is to end.
  private func answer(_ message: Message, _ wire: Wire) -> Bool {
    let words = message.line.split(separator: " ").map(String.init)
    guard words.count == 3 else { return false }
    let parts = words[1].split(separator: "?", maxSplits: 1).map(String.init)
    var query: [String: String] = [:]
    for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      query[sides[0].removingPercentEncoding ?? ""] =
        sides.count > 1 ? sides[1].removingPercentEncoding : ""
    }
    let path = parts[0].removingPercentEncoding ?? parts[0]
    let (handler, observer, number) = state.withLock { state in
      state.log.append("\(words[0]) \(path)")
      state.underWay += 1
      state.mostAtOnce = max(state.mostAtOnce, state.underWay)
      return (state.handler, state.observer, state.log.count - 1)
    }
    let asked = Asked(
      number: number, message: message, method: words[0], path: path, query: query)
    defer { state.withLock { $0.underWay -= 1 } }
    observer(asked)
    let reply = handler(asked)
    var size = asked.body.count
    if case .answer(_, _, let body) = reply { size = max(size, body.count) }
    state.withLock { $0.largestBody = max($0.largestBody, size) }
    return wire.send(reply, isHead: words[0] == "HEAD")
  }
}

extension Wire {
  /// False if the connection is to end.
  func send(_ reply: Reply, isHead: Bool) -> Bool {
    switch reply {
    case .answer(let status, let headers, let body):
      let isEmpty = status == 204 || status == 304
      let says = isEmpty ? nil : isHead ? nil : body.count
      return send(Wire.head(status, headers, says) + (isHead || isEmpty ? [] : body))
    case .cut(let status, let headers, let body, let says):
      send(Wire.head(status, headers, says) + body)
      return false
    case .hangUp: return false
    case .silence:
      while receive() != nil {}
      return false
    case .trickle(let seconds):
      guard send(Wire.head(200, [], 1 << 20)) else { return false }
      while send([65]) { Thread.sleep(forTimeInterval: seconds) }
      return false
    case .bytes(let bytes):
      send(bytes)
      return false
    }
  }

  private static func head(
    _ status: Int, _ headers: [(String, String)], _ length: Int?
  ) -> [UInt8] {
    var text = "HTTP/1.1 \(status) Status\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if let length { text += "Content-Length: \(length)\r\n" }
    return Array((text + "\r\n").utf8)
  }
}
