import CairnDisk
import Foundation
import Synchronization
import TestSupport

@testable import TestServers

/// Passes requests on to a server, and spoils some of them.
final class FaultProxy: Sendable {
  enum Fault: Sendable, CaseIterable {
    /// The server never sees the request.
    case refused
    /// Half of the request comes to the server.
    case cutRequest
    /// The server does what it was asked, and nobody hears of it; or does so only when it was asked
    /// for something else since.
    case lostReply, lateUpload
    /// Half of the answer comes.
    case cutReply
    /// Too busy, come back later.
    case busy
    /// Too many requests, come back when so many seconds have passed.
    case tooMany
    case broken
    case late
    /// The log-in page of a network, as if all were well.
    case page
    /// The same, on a server of its own.
    case elsewhere

    /// A listing as it was before, one that lacks files, and one in another order.
    case oldListing, shortListing, mixedListing
    /// A file as it was before; one that was listed and is not there, or has nothing in it yet.
    case oldFile, missingFile, emptyFile
    /// A file of which a bit has turned on its way.
    case garbage

    /// Those that look like an answer: who believes them does not fail.
    static let lies: [Fault] = [
      .oldListing, .shortListing, .mixedListing, .oldFile, .missingFile, .emptyFile, .garbage,
    ]
    static let open = allCases.filter { !lies.contains($0) }
  }

  let server: TestServer
  private let retryAfter: Int
  private let port: UInt16
  private let faults = Lock<@Sendable (Asked) -> Fault?>({ _ in nil })
  private let taken = Lock<[Fault]>([])
  private let parts = Lock(0)
  private let end = Lock<End?>(nil)
  /// An upload that comes after what comes next.
  private let late = Lock<Asked?>(nil)
  private let told = Lock(false)
  private let truthful = Lock(false)
  let memory = FaultMemory()

  private struct End {
    var rest: Int
    let happen: @Sendable () -> Void
  }

  /// - Parameter retryAfter: Seconds that somebody who has asked too often is to wait.
  init(to port: UInt16, retryAfter: Int = 0) throws {
    (self.retryAfter, self.port) = (retryAfter, port)
    server = try TestServer()
    server.handle { [weak self] asked in
      guard let self else { return .hangUp }
      let before = late.withLock { $0 }
      let reply = pass(asked, port)
      if before != nil { deliverLate() }
      return reply
    }
  }

  /// What is still under way arrives.
  func deliverLate() {
    let asked = late.withLock { late in
      defer { late = nil }
      return late
    }
    if let asked { _ = FaultProxy.forward(asked, port) }
  }

  /// Which fault a request meets.
  func set(_ fault: @escaping @Sendable (Asked) -> Fault?) { faults.withLock { $0 = fault } }
  func heal() { set { _ in nil } }
  var faultsTaken: [Fault] { taken.withLock { $0 } }
  /// Requests with a part of a large file that met a fault.
  var spoiltParts: Int { parts.withLock { $0 } }

  /// `happen` is called when the request of this number from now on comes, which is the last one
  /// that comes through; nobody hears of its answer. nil: all come through again.
  func stop(at number: Int?, happen: @escaping @Sendable () -> Void = {}) {
    end.withLock { $0 = number.map { End(rest: $0, happen: happen) } }
  }

  /// No answer is a lie for now: what it says is what is there.
  func tellTheTruth(_ isTrue: Bool) { truthful.withLock { $0 = isTrue } }

  /// Somebody has waited as long as was asked for: nobody is told again that there were too many.
  func noteWaited() { told.withLock { $0 = true } }

  /// One request in `every`, by a seed: all kinds of faults in turn, in an order that is another
  /// one each time.
  func spoil(every: UInt64, seed: UInt64, with kinds: [Fault] = Fault.open) {
    let random = SeededRandom(seed)
    let deck = Lock<[Fault]>([])
    set { [weak self] asked in
      guard let self, random.next() % every == 0 else { return nil }
      let isTold = told.withLock { $0 }
      return deck.withLock { deck -> Fault? in
        // What was dealt may never be possible again, or not for long: what is left is dealt anew.
        if deck.count <= 2 { deck += random.shuffled(kinds.filter { !deck.contains($0) }) }
        deck.removeAll { $0 == .tooMany && isTold }
        guard let place = deck.firstIndex(where: { self.memory.allows($0, asked) }) else {
          return nil
        }
        return deck.remove(at: place)
      }
    }
  }

  private func pass(_ asked: Asked, _ port: UInt16) -> Reply {
    let last = end.withLock { end -> End? in
      end?.rest -= 1
      return end
    }
    if let last, last.rest <= 0 {
      guard last.rest == 0 else { return .hangUp }
      last.happen()
      _ = FaultProxy.forward(asked, port)
      return .hangUp
    }
    var fault = faults.withLock { $0 }(asked)
    if let lie = fault, Fault.lies.contains(lie), truthful.withLock({ $0 }) { fault = nil }
    if let fault, Fault.lies.contains(fault) {
      let reply = FaultProxy.forward(asked, port)
      guard let lie = memory.lie(fault, asked, reply) else { return reply }
      taken.withLock { $0.append(fault) }
      return lie
    }
    if let fault {
      taken.withLock { $0.append(fault) }
      if asked.query["partNumber"] != nil { parts.withLock { $0 += 1 } }
    }
    if fault == .lateUpload {
      late.withLock { $0 = asked }
      return .hangUp
    }
    if let refusal = refusal(fault, asked, port) { return refusal }
    let reply = FaultProxy.forward(asked, port)
    memory.keep(asked, reply)
    if fault == .lostReply { return .hangUp }
    guard fault == .cutReply, case .answer(let status, let headers, let body) = reply else {
      return reply
    }
    return .cut(status, headers, Array(body[..<(body.count / 2)]), says: max(1, body.count))
  }

  /// What is answered instead of asking the server; nil if it is to be asked.
  private func refusal(_ fault: Fault?, _ asked: Asked, _ port: UInt16) -> Reply? {
    switch fault {
    case .refused: return .hangUp
    case .cutRequest:
      FaultProxy.forwardHalf(asked, port)
      return .hangUp
    case .busy: return .answer(503, [("Retry-After", "0")])
    case .tooMany: return .answer(429, [("Retry-After", "\(retryAfter)")])
    case .broken: return .text(500, "it is broken")
    case .page: return .text(200, "<html><body>Welcome</body></html>", type: "text/html")
    case .elsewhere: return .answer(302, [("Location", "http://127.0.0.1:1/login")])
    case .late: Thread.sleep(forTimeInterval: 0.05)
    default: break
    }
    return nil
  }

  private static func head(_ asked: Asked) -> [UInt8] {
    var text = asked.message.line + "\r\n"
    for (name, value) in asked.message.headers
    where !["connection", "transfer-encoding", "content-length"].contains(name.lowercased()) {
      text += "\(name): \(value)\r\n"
    }
    text += "Content-Length: \(asked.body.count)\r\nConnection: close\r\n\r\n"
    return Array(text.utf8)
  }

  private static func forwardHalf(_ asked: Asked, _ port: UInt16) {
    guard let wire = Wire.connect(port) else { return }
    defer { wire.close() }
    wire.send(head(asked) + asked.body.prefix(asked.body.count / 2))
  }

  private static func forward(_ asked: Asked, _ port: UInt16) -> Reply {
    guard let wire = Wire.connect(port) else { return .hangUp }
    defer { wire.close() }
    wire.send(head(asked) + asked.body)
    var rest: [UInt8] = []
    let isHead = asked.method == "HEAD"
    guard let message = Message.read(
        wire, &rest, hasNoBody: isHead, isAnswer: true),
      let status = message.line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { return .hangUp }
    let dropped = ["connection", "transfer-encoding", "keep-alive", isHead ? "" : "content-length"]
    let headers = message.headers.filter { !dropped.contains($0.name.lowercased()) }
    return .answer(status, headers.map { ($0.name, $0.value) }, message.body)
  }
}

extension SeededRandom {
  func shuffled<Value>(_ values: [Value]) -> [Value] {
    var values = values
    for end in values.indices.dropFirst().reversed() { values.swapAt(end, below(end + 1)) }
    return values
  }
}
