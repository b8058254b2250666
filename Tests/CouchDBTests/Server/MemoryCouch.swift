import CairnDisk
import Foundation
import Synchronization
import TestSupport

@testable import CairnCouchDB
@testable import TestServers

/// A server of databases that behaves, in what a follower sees, as CouchDB 3.5 was seen to.
final class MemoryCouch: Sendable {
  struct Attachment: Sendable {
    var type: String
    var plain: [UInt8]
    /// As it is kept: packed, if it is a text.
    var kept: [UInt8]
    var isPacked: Bool
    var position: Int
    /// What the server says, right or not.
    var digest: String
    /// What it says where that is not the number of plain bytes.
    var length: Int?
  }

  struct Leaf: Sendable {
    var revision: String
    var isDeleted: Bool
    /// Members with their commas, as they were spelled.
    var members: String
    var attachments: [String: Attachment]

    var generation: Int { Int(revision.split(separator: "-")[0]) ?? 0 }
  }

  struct Document: Sendable {
    var leaves: [Leaf]
    var place: Int

    /// The one that lives, has the longest history, and the greatest name.
    var winner: Leaf {
      leaves.max {
        ($0.isDeleted ? 0 : 1, $0.generation, $0.revision)
          < ($1.isDeleted ? 0 : 1, $1.generation, $1.revision)
      } ?? leaves[0]
    }
  }

  struct Database: Sendable {
    var instance: String
    var documents: [String: Document] = [:]
    var place = 0
  }

  struct State: Sendable {
    var databases: [String: Database] = [:]
    var made = 0
    var seed: UInt64 = 1
    /// What happens instead of the answer, if anything does.
    var fault: @Sendable (Asked) -> Reply? = { _ in nil }
    /// Who may ask; nil: everybody.
    var user: (name: String, password: String)?
    var sessions = 0
    /// Whether texts are kept packed, as by default.
    var packs = true
    var endedSessions: Set<String> = []
  }

  let state = Lock(State())
  let server: TestServer

  init() throws {
    server = try TestServer()
    server.handle { [weak self] asked in self?.answer(asked) ?? .hangUp }
  }

  func set(_ fault: @escaping @Sendable (Asked) -> Reply?) {
    state.withLock { $0.fault = fault }
  }
  func heal() { set { _ in nil } }
  func setUser(_ name: String, _ password: String) {
    state.withLock { $0.user = (name, password) }
  }
  /// Sessions that there are now are over.
  func endSessions() {
    state.withLock { state in
      for number in 0...state.sessions { state.endedSessions.insert("s\(number)") }
    }
  }

  /// Changes a database behind everybody's back.
  func change(_ name: String, _ body: (inout Database) -> Void) {
    state.withLock { state in
      if var database = state.databases[name] {
        body(&database)
        state.databases[name] = database
      }
    }
  }

  // MARK: answering

  private func answer(_ asked: Asked) -> Reply {
    let fault = state.withLock { $0.fault }
    if let reply = fault(asked) { return reply }
    if asked.path == "/_session", asked.method == "POST" { return logIn(asked) }
    if let refusal = refusal(asked) { return refusal }
    if asked.path == "/" { return .text(200, "{\"couchdb\":\"Welcome\"}\n", type: Self.json) }
    // Escapes count: a document's id may have a slash.
    let target = asked.message.line.split(separator: " ")[1].split(separator: "?")[0]
    let names = target.split(separator: "/").map { String($0).removingPercentEncoding ?? "" }
    if names.count == 1 { return root(asked, names[0]) }
    let isThere = state.withLock { $0.databases[names[0]] != nil }
    guard isThere else { return Self.error(404, "not_found", "Database does not exist.") }
    switch (asked.method, names[1], names.count) {
    case ("GET", "_changes", 2): return changes(asked, names[0])
    case ("POST", "_all_docs", 2), ("GET", "_all_docs", 2): return allDocs(asked, names[0])
    case ("POST", "_bulk_docs", 2): return bulkDocs(asked, names[0])
    case ("PUT", _, 2): return put(asked, names[0], names[1])
    case ("DELETE", _, 2): return put(asked, names[0], names[1])
    case ("GET", _, 3): return attachment(asked, names[0], names[1], names[2])
    case ("PUT", _, 3): return attach(asked, names[0], names[1], names[2])
    default: return Self.error(405, "method_not_allowed", "not here")
    }
  }

  static let json = "application/json"

  static func error(_ status: Int, _ error: String, _ reason: String) -> Reply {
    .text(status, "{\"error\":\"\(error)\",\"reason\":\"\(reason)\"}\n", type: json)
  }

  private func refusal(_ asked: Asked) -> Reply? {
    let (user, ended) = state.withLock { ($0.user, $0.endedSessions) }
    guard let user else { return nil }
    let pair = Data("\(user.name):\(user.password)".utf8).base64EncodedString()
    if asked["authorization"] == "Basic \(pair)" { return nil }
    if let cookie = asked["cookie"], cookie.hasPrefix("AuthSession=s"),
      !ended.contains(String(cookie.dropFirst(12)))
    {
      return nil
    }
    return Self.error(401, "unauthorized", "You are not authorized to access this db.")
  }

  private func logIn(_ asked: Asked) -> Reply {
    state.withLock { state in
      guard let user = state.user,
        let body = try? JSONSerialization.jsonObject(with: Data(asked.body)) as? [String: String],
        body["name"] == user.name, body["password"] == user.password
      else { return Self.error(401, "unauthorized", "Name or password is incorrect.") }
      state.sessions += 1
      let cookie = "AuthSession=s\(state.sessions); Version=1; Path=/; HttpOnly"
      return .answer(
        200, [("Content-Type", Self.json), ("Set-Cookie", cookie)], Array("{\"ok\":true}".utf8))
    }
  }

  private func root(_ asked: Asked, _ name: String) -> Reply {
    state.withLock { state in
      switch asked.method {
      case "PUT":
        if state.databases[name] != nil { return Self.error(412, "file_exists", "It exists.") }
        state.made += 1
        state.databases[name] = Database(instance: String(1_700_000_000 + state.made))
        return .text(201, "{\"ok\":true}", type: Self.json)
      case "DELETE":
        state.databases[name] = nil
        return .text(200, "{\"ok\":true}", type: Self.json)
      default:
        guard let database = state.databases[name] else {
          return Self.error(404, "not_found", "Database does not exist.")
        }
        let alive = database.documents.values.count { !$0.winner.isDeleted }
        return .text(
          200,
          """
          {"instance_start_time":"\(database.instance)","db_name":"\(name)","doc_count":\(alive),\
          "update_seq":\(Self.text(opaque(&state, database, database.place)))}\n
          """, type: Self.json)
      }
    }
  }

  static func text(_ string: String) -> String { JSONString.quoted(string) }

  // MARK: places

  /// Another text each time, as those of several shards are.
  func opaque(_ state: inout State, _ database: Database, _ place: Int) -> String {
    state.seed &+= 1
    let inside = Data("\(database.instance):\(place):\(state.seed)".utf8).base64EncodedString()
    return "\(place)-g1AAAACb\(inside.replacingOccurrences(of: "=", with: "."))"
  }

  /// The place that an opaque text stands for; nil if this server never gave it. That of a database
  /// which is gone is the beginning.
  static func place(_ text: String, _ database: Database) -> Int? {
    if text == "0" || text.isEmpty { return 0 }
    guard let mark = text.range(of: "-g1AAAACb") else { return nil }
    let inside = text[mark.upperBound...].replacingOccurrences(of: ".", with: "=")
    guard let data = Data(base64Encoded: inside) else { return nil }
    let words = String(decoding: data, as: UTF8.self).split(separator: ":")
    guard words.count == 3, let place = Int(words[1]) else { return nil }
    return words[0] == database.instance ? place : 0
  }
}
