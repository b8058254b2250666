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
    /// The server does what it was asked, and nobody hears of it.
    case lostReply
    /// Half of the answer comes.
    case cutReply
    /// Too busy, come back later.
    case busy
    case broken
    case late
  }

  let server: TestServer
  private let faults = Lock<@Sendable (Asked) -> Fault?>({ _ in nil })
  private let taken = Lock<[Fault]>([])

  init(to port: UInt16) throws {
    server = try TestServer()
    server.handle { [weak self] asked in self?.pass(asked, port) ?? .hangUp }
  }

  /// Which fault a request meets.
  func set(_ fault: @escaping @Sendable (Asked) -> Fault?) { faults.withLock { $0 = fault } }
  func heal() { set { _ in nil } }
  var faultsTaken: [Fault] { taken.withLock { $0 } }

  /// One request in `every`, by a seed.
  func spoil(every: UInt64, seed: UInt64) {
    let random = SeededRandom(seed)
    set { _ in
      guard random.next() % every == 0 else { return nil }
      return Fault.allCases[random.below(Fault.allCases.count)]
    }
  }

  private func pass(_ asked: Asked, _ port: UInt16) -> Reply {
    let fault = faults.withLock { $0 }(asked)
    if let fault { taken.withLock { $0.append(fault) } }
    switch fault {
    case .refused: return .hangUp
    case .busy: return .answer(503, [("Retry-After", "0")])
    case .broken: return .text(500, "it is broken")
    case .late: Thread.sleep(forTimeInterval: 0.05)
    default: break
    }
    let reply = FaultProxy.forward(asked, port)
    if fault == .lostReply { return .hangUp }
    guard fault == .cutReply, case .answer(let status, let headers, let body) = reply else {
      return reply
    }
    return .cut(status, headers, Array(body[..<(body.count / 2)]), says: max(1, body.count))
  }

  private static func forward(_ asked: Asked, _ port: UInt16) -> Reply {
    guard let wire = Wire.connect(port) else { return .hangUp }
    defer { wire.close() }
    var text = asked.message.line + "\r\n"
    for (name, value) in asked.message.headers
    where !["connection", "transfer-encoding", "content-length"].contains(name.lowercased()) {
      text += "\(name): \(value)\r\n"
    }
    text += "Content-Length: \(asked.body.count)\r\nConnection: close\r\n\r\n"
    wire.send(Array(text.utf8) + asked.body)
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
