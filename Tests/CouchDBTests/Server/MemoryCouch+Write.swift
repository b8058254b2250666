import CairnDisk
import Crypto
import Foundation
import Synchronization

@testable import CairnCouchDB
@testable import TestServers

extension MemoryCouch {
  func put(_ asked: Asked, _ name: String, _ id: String) -> Reply {
    state.withLock { state in
      guard var database = state.databases[name] else { return .answer(404) }
      var body: JSONText?
      if asked.method == "PUT" {
        body = try? JSONText(asked.body)
        if body == nil { return Self.error(400, "bad_request", "invalid UTF-8 JSON") }
      }
      let base = asked.query["rev"] ?? (try? body?.member("_rev"))?.string
      var document = database.documents[id] ?? Document(leaves: [], place: 0)
      let old = document.leaves.first { $0.revision == base }
      let winner = document.leaves.isEmpty ? nil : document.winner
      guard old != nil || base == nil && winner?.isDeleted != false else {
        return Self.error(409, "conflict", "Document update conflict.")
      }
      let parent = old ?? winner
      database.place += 1
      state.seed &+= 1
      let revision =
        "\((parent?.generation ?? 0) + 1)-\(String(state.seed &* 0x9E37_79B9, radix: 16))"
      document.leaves.removeAll { $0.revision == parent?.revision }
      let keeps = (try? body?.member("_attachments")) != nil
      document.leaves.append(
        Leaf(
          revision: revision, isDeleted: asked.method == "DELETE",
          members: body.map(Self.members) ?? "",
          attachments: keeps ? old?.attachments ?? [:] : [:]))
      document.place = database.place
      database.documents[id] = document
      state.databases[name] = database
      return .text(
        201, "{\"ok\":true,\"id\":\(Self.text(id)),\"rev\":\"\(revision)\"}", type: Self.json)
    }
  }

  /// Without those of the server, each with a comma before it.
  private static func members(_ body: JSONText) -> String {
    ((try? body.members()) ?? []).filter { $0.name.string?.hasPrefix("_") != true }.map {
      "," + $0.name.text + ":" + $0.value.text
    }.joined()
  }

  /// With `new_edits` false: revisions as they are given.
  func bulkDocs(_ asked: Asked, _ name: String) -> Reply {
    state.withLock { state in
      guard var database = state.databases[name], let body = try? JSONText(asked.body),
        let documents = try? body.member("docs")?.items(),
        (try? body.member("new_edits"))?.bool == false
      else { return Self.error(400, "bad_request", "invalid") }
      for json in documents {
        guard let id = try? json.member("_id")?.string,
          let revision = try? json.member("_rev")?.string
        else { continue }
        var document = database.documents[id] ?? Document(leaves: [], place: 0)
        if document.leaves.contains(where: { $0.revision == revision }) { continue }
        var ancestors: [String] = []
        if let revisions = try? json.member("_revisions"),
          let start = try? revisions.member("start")?.int,
          let ids = try? revisions.member("ids")?.items()
        {
          ancestors = ids.enumerated().map { "\(Int(start) - $0)-\($1.string ?? "")" }
        }
        document.leaves.removeAll { ancestors.contains($0.revision) }
        database.place += 1
        document.place = database.place
        document.leaves.append(
          Leaf(
            revision: revision, isDeleted: (try? json.member("_deleted"))?.bool == true,
            members: Self.members(json), attachments: [:]))
        database.documents[id] = document
      }
      state.databases[name] = database
      return .text(201, "[]", type: Self.json)
    }
  }

  func attach(_ asked: Asked, _ name: String, _ id: String, _ title: String) -> Reply {
    let type = asked["content-type"] ?? "application/octet-stream"
    let packs = state.withLock(\.packs)
    let isPacked = packs && (type.hasPrefix("text/") || type == Self.json)
    let kept = isPacked ? Self.packed(asked.body) : asked.body
    return state.withLock { state in
      guard var database = state.databases[name], var document = database.documents[id],
        let index = document.leaves.firstIndex(where: { $0.revision == asked.query["rev"] })
      else { return Self.error(409, "conflict", "Document update conflict.") }
      var leaf = document.leaves[index]
      database.place += 1
      state.seed &+= 1
      leaf.revision = "\(leaf.generation + 1)-\(String(state.seed &* 0x9E37_79B9, radix: 16))"
      leaf.attachments[title] = Attachment(
        type: type, plain: asked.body, kept: kept, isPacked: isPacked, position: leaf.generation,
        digest: "md5-" + Data(Insecure.MD5.hash(data: kept)).base64EncodedString())
      document.leaves[index] = leaf
      document.place = database.place
      database.documents[id] = document
      state.databases[name] = database
      return .text(
        201, "{\"ok\":true,\"id\":\(Self.text(id)),\"rev\":\"\(leaf.revision)\"}", type: Self.json)
    }
  }

  /// What gzip makes of it.
  static func packed(_ bytes: [UInt8], _ level: String = "-6") -> [UInt8] {
    let path = FileManager.default.temporaryDirectory.path + "/cairn-gzip-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/bin/gzip")
    process.arguments = ["-n", "-c", level, path]
    process.standardOutput = output
    guard (try? Data(bytes).write(to: URL(fileURLWithPath: path))) != nil,
      (try? process.run()) != nil
    else { return [] }
    let packed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return [UInt8](packed)
  }
}
