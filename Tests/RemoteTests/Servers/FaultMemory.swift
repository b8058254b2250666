import CairnDisk
import Foundation
import Synchronization
import TestSupport

@testable import TestServers

/// What a proxy remembers of the answers that came through it, to lie with.
final class FaultMemory: Sendable {
  private struct State {
    /// By request: the answers that differ, the oldest first.
    var answers: [String: [Reply]] = [:]
    /// Files that were written, by the last name of their path.
    var written: [String: [UInt8]] = [:]
    let random = SeededRandom(11)
  }

  private let state = Lock(State())
  private static let answersMax = 4

  /// Files whose names end so, as they were written last, by name.
  func written(_ suffix: String) -> [(name: String, bytes: [UInt8])] {
    state.withLock { state in
      state.written.filter { $0.key.hasSuffix(suffix) }.sorted { $0.key < $1.key }
        .map { (name: $0.key, bytes: $0.value) }
    }
  }

  /// Whether a fault can be made of a request.
  func allows(_ fault: FaultProxy.Fault, _ asked: Asked) -> Bool {
    let isWhole = asked.method == "GET" && !asked.isListing
    return switch fault {
    case .cutRequest: !asked.body.isEmpty
    case .shortListing, .mixedListing: asked.isListing
    case .oldListing: asked.isListing && hasAnswer(asked)
    // The others never change.
    case .oldFile: isWhole && hasAnswer(asked) && asked.path.hasSuffix(".head")
    case .missingFile, .emptyFile, .garbage: isWhole
    case .lateUpload: asked.method == "PUT" && !asked.body.isEmpty
    default: true
    }
  }

  private func hasAnswer(_ asked: Asked) -> Bool {
    state.withLock { $0.answers[asked.question] != nil }
  }

  func keep(_ asked: Asked, _ reply: Reply) {
    guard case .answer(let status, _, let body) = reply, [200, 201, 204, 207].contains(status)
    else { return }
    state.withLock { state in
      if asked.method == "PUT", let name = asked.path.split(separator: "/").last {
        state.written[String(name)] = asked.body
      }
      guard asked.isListing || asked.method == "GET" else { return }
      var answers = state.answers[asked.question] ?? []
      if answers.last?.body == body { return }
      answers.append(reply)
      state.answers[asked.question] = answers.suffix(FaultMemory.answersMax)
    }
  }

  /// What is said instead of the truth; nil if that would be the same.
  func lie(_ fault: FaultProxy.Fault, _ asked: Asked, _ reply: Reply) -> Reply? {
    keep(asked, reply)
    guard case .answer(let status, let headers, let body) = reply, (200..<300).contains(status)
    else { return nil }
    switch fault {
    case .oldListing, .oldFile:
      return state.withLock { state in
        let old = (state.answers[asked.question] ?? []).filter { $0.body != body }
        return old.isEmpty ? nil : old[state.random.below(old.count)]
      }
    case .shortListing, .mixedListing:
      guard var listing = Listing(body) else { return nil }
      state.withLock { state in
        if fault == .shortListing {
          listing.items.removeAll { !$0.contains("collection/>") && state.random.coin() }
        } else {
          listing.items = state.random.shuffled(listing.items)
        }
      }
      return listing.bytes == body ? nil : .answer(status, headers, listing.bytes)
    case .missingFile: return .answer(404)
    case .garbage:
      guard !body.isEmpty else { return nil }
      var bent = body
      state.withLock { bent[$0.random.below(bent.count)] ^= 0x10 }
      return .answer(status, headers, bent)
    case .emptyFile:
      let kept = headers.filter { $0.0.lowercased() != "content-range" }
      return body.isEmpty ? nil : .answer(200, kept, [])
    default: return nil
    }
  }

  /// A listing in XML, taken apart.
  private struct Listing {
    var before: Substring
    var items: [Substring]
    var after: Substring

    init?(_ body: [UInt8]) {
      let text = String(decoding: body, as: UTF8.self)
      let item = #/<((?:[A-Za-z0-9]+:)?response|Contents)[\s>].*?</\1>/#.dotMatchesNewlines()
      let ranges = text.matches(of: item).map(\.range)
      guard let first = ranges.first, let last = ranges.last else { return nil }
      before = text[..<first.lowerBound]
      items = ranges.map { text[$0] }
      after = text[last.upperBound...]
    }

    var bytes: [UInt8] { Array((before + items.joined() + after).utf8) }
  }
}

extension Reply {
  fileprivate var body: [UInt8] {
    if case .answer(_, _, let body) = self { body } else { [] }
  }
}

extension Asked {
  /// A listing of all that is in a directory.
  var isListing: Bool {
    method == "PROPFIND" ? self["depth"] == "1" : method == "GET" && query["list-type"] != nil
  }

  /// What is asked; who asks the same again may be told something else meanwhile.
  fileprivate var question: String { message.line + " " + (self["range"] ?? "") }
}
