import CairnDisk
import Foundation
import Synchronization

@testable import CairnCouchDB
@testable import TestServers

extension MemoryCouch {
  func changes(_ asked: Asked, _ name: String) -> Reply {
    let deadline = Date.now.addingTimeInterval(
      asked.query["feed"] == "longpoll"
        ? min(5, (Double(asked.query["timeout"] ?? "") ?? 60_000) / 1000) : 0)
    while true {
      let (reply, isEmpty) = state.withLock { state -> (Reply, Bool) in
        guard let database = state.databases[name] else {
          return (Self.error(404, "not_found", "Database does not exist."), false)
        }
        guard let place = Self.place(asked.query["since"] ?? "0", database) else {
          return (Self.error(400, "bad_request", "Malformed sequence supplied"), false)
        }
        return changes(asked, &state, database, since: place)
      }
      if !isEmpty || Date.now >= deadline { return reply }
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  private func changes(
    _ asked: Asked, _ state: inout State, _ database: Database, since: Int
  ) -> (Reply, Bool) {
    let all = database.documents.filter { $0.value.place > since }
      .sorted { $0.value.place < $1.value.place }
    let limit = Int(asked.query["limit"] ?? "") ?? .max
    var page = Array(all.prefix(limit))
    let last = page.last?.value.place ?? max(since, database.place)
    // Shards answer in no order.
    let seed = state.seed
    page.sort { Self.mixed($0.key, seed) < Self.mixed($1.key, seed) }
    let showsAll = asked.query["style"] == "all_docs"
    let rows = page.map { id, document -> String in
      let winner = document.winner
      let leaves = showsAll ? document.leaves.map(\.revision) : [winner.revision]
      let changes = leaves.map { "{\"rev\":\"\($0)\"}" }.joined(separator: ",")
      let deleted = winner.isDeleted ? ",\"deleted\":true" : ""
      return "{\"seq\":null,\"id\":\(Self.text(id)),\"changes\":[\(changes)]\(deleted)}"
    }
    let text = """
      {"results":[
      \(rows.joined(separator: ",\n"))
      ],
      "last_seq":\(Self.text(opaque(&state, database, last))),"pending":\(all.count - page.count)}

      """
    return (.text(200, text, type: Self.json), rows.isEmpty)
  }

  private static func mixed(_ text: String, _ seed: UInt64) -> UInt64 {
    text.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  func allDocs(_ asked: Asked, _ name: String) -> Reply {
    let database = state.withLock { $0.databases[name] } ?? Database(instance: "")
    var rows: [String] = []
    if asked.method == "POST" {
      guard let body = try? JSONSerialization.jsonObject(with: Data(asked.body)),
        let keys = (body as? [String: [String]])?["keys"]
      else { return Self.error(400, "bad_request", "invalid UTF-8 JSON") }
      for key in keys { rows.append(row(key, database, asked)) }
    } else {
      var ids = database.documents.filter { !$0.value.winner.isDeleted }.keys.sorted {
        $0.utf8.lexicographicallyPrecedes($1.utf8)
      }
      if let start = asked.query["startkey"], let text = try? JSONText(Array(start.utf8)).string {
        ids.removeAll { $0.utf8.lexicographicallyPrecedes(text.utf8) }
      }
      rows = ids.prefix(Int(asked.query["limit"] ?? "") ?? .max).map { row($0, database, asked) }
    }
    let text =
      "{\"total_rows\":1,\"offset\":null,\"rows\":[\n\(rows.joined(separator: ",\n"))\n]}\n"
    return .text(200, text, type: Self.json)
  }

  private func row(_ key: String, _ database: Database, _ asked: Asked) -> String {
    let text = Self.text(key)
    guard let document = database.documents[key] else {
      return "{\"key\":\(text),\"error\":\"not_found\"}"
    }
    let winner = document.winner
    let head = "{\"id\":\(text),\"key\":\(text),\"value\":{\"rev\":\"\(winner.revision)\""
    if winner.isDeleted { return head + ",\"deleted\":true},\"doc\":null}" }
    guard asked.query["include_docs"] == "true" else { return head + "}}" }
    return head + "},\"doc\":\(json(key, document, asked))}"
  }

  private func json(_ id: String, _ document: Document, _ asked: Asked) -> String {
    let winner = document.winner
    var out = "{\"_id\":\(Self.text(id)),\"_rev\":\"\(winner.revision)\"" + winner.members
    if !winner.attachments.isEmpty {
      let stubs = winner.attachments.sorted { $0.key < $1.key }.map { name, attachment in
        var stub = """
          \(Self.text(name)):{"content_type":"\(attachment.type)","revpos":\(attachment.position),\
          "digest":"\(attachment.digest)",\
          "length":\(attachment.length ?? attachment.plain.count),"stub":true
          """
        if attachment.isPacked, asked.query["att_encoding_info"] == "true" {
          stub += ",\"encoding\":\"gzip\",\"encoded_length\":\(attachment.kept.count)"
        }
        return stub + "}"
      }
      out += ",\"_attachments\":{\(stubs.joined(separator: ","))}"
    }
    let lost = document.leaves.filter { !$0.isDeleted && $0.revision != winner.revision }
    if asked.query["conflicts"] == "true", !lost.isEmpty {
      out += ",\"_conflicts\":[\(lost.map { "\"\($0.revision)\"" }.joined(separator: ","))]"
    }
    return out + "}"
  }

  func attachment(_ asked: Asked, _ name: String, _ id: String, _ title: String) -> Reply {
    let document = state.withLock { $0.databases[name]?.documents[id] }
    let leaf =
      asked.query["rev"].map { revision in
        document?.leaves.first { $0.revision == revision }
      } ?? document?.winner
    guard let attachment = leaf?.attachments[title] else {
      return Self.error(404, "not_found", "Document is missing attachment")
    }
    var headers = [("Content-Type", attachment.type), ("ETag", "\"\(attachment.digest)\"")]
    let asksForGzip = asked["accept-encoding"]?.contains("gzip") == true
    headers.append(("Accept-Ranges", attachment.isPacked ? "none" : "bytes"))
    if attachment.isPacked, asksForGzip { headers.append(("Content-Encoding", "gzip")) }
    return .answer(
      200, headers, attachment.isPacked && asksForGzip ? attachment.kept : attachment.plain)
  }
}
