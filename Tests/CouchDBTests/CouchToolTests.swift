import Foundation
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// `cairn pull`, and the example of the documentation.
@Suite struct CouchToolTests {
  private func run(
    _ program: String, _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> Tool.Outcome {
    try Tool.run(
      arguments, program: program,
      environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 })
  }

  private func cairn(
    _ world: CouchWorld, _ arguments: String..., environment: [String: String] = [:]
  ) throws -> Tool.Outcome {
    try run("cairn", arguments + ["--root", world.directory.path("tool")], environment)
  }

  @Test func `a database is pulled, counted, exported as it was, emptied and forgotten`()
    async throws
  {
    let world = try await CouchWorld()
    let revision = try await world.put("b", #"{"z":1,"a":{"deep":[null,1e2]}}"#)
    let second = try await world.put("a", #"{"title":"One"}"#)
    let last = try await world.attach("a", second, "x.txt", Array("hello".utf8), type: "text/plain")
    try #require(world.memory).setUser("ana", "pass-word")
    let user = ["CAIRN_USER": "ana", "CAIRN_PASSWORD": "pass-word"]
    let refused = try cairn(world, "pull", "couchdb", world.url, "--name", "notes")
    #expect(refused.status == 1)
    #expect(refused.errors.contains("check the credentials"))
    let pull = try cairn(
      world, "pull", "couchdb", world.url, "--name", "notes", "--session", environment: user)
    #expect(pull.status == 0, "\(pull.errors)")
    #expect(pull.output.hasPrefix("notes: 2 documents, 0 deletions, 1 attachment; "))
    // No bar where nobody looks.
    #expect(pull.errors == "")
    let databases = try cairn(world, "pull", "databases", "--json")
    #expect(databases.output.contains(#""documents":2,"attachments":1,"staleAttachments":0"#))
    #expect(!databases.output.contains("pass-word"))
    let export = try cairn(world, "pull", "export", "notes")
    #expect(
      export.output == """
        {"_id":"a","_rev":"\(last)","title":"One"}
        {"_id":"b","_rev":"\(revision)","z":1,"a":{"deep":[null,1e2]}}

        """)
    let get = try cairn(world, "get", "notes", "a")
    #expect(get.output.contains("One"))
    let json = try cairn(
      world, "pull", "couchdb", world.url, "--name", "notes", "--json",
      environment: user)
    #expect(json.output.contains(#""documents":0"#))
    #expect(try cairn(world, "pull", "purge", "notes").status == 0)
    #expect(try cairn(world, "pull", "export", "notes").output == "")
    #expect(try cairn(world, "pull", "forget", "notes").status == 0)
    #expect(try cairn(world, "pull", "export", "notes").status != 0)
  }

  @Test func `what can't be is told in a sentence`() async throws {
    let world = try await CouchWorld()
    let secret = try cairn(world, "pull", "couchdb", "https://ana:pass-word@host/db")
    #expect(secret.status == 1)
    #expect(!secret.errors.contains("pass-word"))
    let gone = try cairn(world, "pull", "couchdb", world.url + "x")
    #expect(gone.status == 4)
    #expect(gone.errors.contains("check the address"))
    #expect(try cairn(world, "pull", "couchdb", world.url, "--max-fetches", "0").status == 2)
  }

  @Test func `the example prints what the page says`() async throws {
    let world = try await CouchWorld()
    for (id, title) in [("walk", "A walk"), ("swim", "A swim")] {
      let first = try await world.put(id, #"{"type":"note","title":"\#(title)"}"#)
      _ = try await world.attach(id, first, "map.txt", Array("here".utf8), type: "text/plain")
    }
    for number in 0..<2 { try await world.put("draft-\(number)", #"{"type":"draft"}"#) }
    let outcome = try run("FollowExample", [world.url])
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.output.hasPrefix("4 documents, 2 attachments\n"))
    #expect(outcome.output.contains("walk A walk\n  map.txt: 4 bytes\n"))
    #expect(outcome.output.contains("2 left; stale: 0\n"))
    #expect(outcome.output.contains(#""type":"note","title":"A walk"}"#))
    let page = try String(
      decoding: ProjectFile.bytes("Sources/Cairn/Cairn.docc/CouchDB.md"), as: UTF8.self)
    #expect(page.contains("```\n4 documents, 2 attachments\n```"))
  }

  @Test func `the page's code is the example's`() throws {
    let page = try String(
      decoding: ProjectFile.bytes("Sources/Cairn/Cairn.docc/CouchDB.md"), as: UTF8.self)
    let source = try String(
      decoding: ProjectFile.bytes("Tools/Examples/Follow/FollowExample.swift"), as: UTF8.self)
    let lines = Set(source.split(separator: "\n").map { $0.drop { $0 == " " } })
    let blocks = page.components(separatedBy: "```swift\n").dropFirst()
    #expect(blocks.count == 4)
    for block in blocks {
      for line in block.components(separatedBy: "```")[0].split(separator: "\n") {
        #expect(lines.contains(line.drop { $0 == " " }), "not in the example: \(line)")
      }
    }
  }
}
