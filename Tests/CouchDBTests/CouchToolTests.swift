import Cairn
import CairnDisk
import Foundation
import Synchronization
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

  /// Who may ask that world's server, as the tool is told it.
  private func user(of world: CouchWorld) async throws -> [String: String] {
    guard let memory = world.memory else {
      let found = try await world.settings.credentials.credentials()
      return found.map { ["CAIRN_USER": $0.name ?? "", "CAIRN_PASSWORD": $0.secret] } ?? [:]
    }
    memory.setUser("ana", "pass-word")
    return ["CAIRN_USER": "ana", "CAIRN_PASSWORD": "pass-word"]
  }

  @Test(arguments: CouchPlace.all)
  func `a database is pulled, counted, exported as it was, emptied and forgotten`(
    _ place: CouchPlace
  ) async throws {
    let world = try await CouchWorld(place)
    // CouchDB spells numbers its own way.
    let number = place == .memory ? "1e2" : "2.5"
    let revision = try await world.put("b", #"{"z":1,"a":{"deep":[null,\#(number)]}}"#)
    let second = try await world.put("a", #"{"title":"One"}"#)
    let last = try await world.attach("a", second, "x.txt", Array("hello".utf8), type: "text/plain")
    let user = try await user(of: world)
    if place == .memory || CouchPlace.hasUser {
      let refused = try cairn(world, "pull", "couchdb", world.url, "--name", "notes")
      #expect(refused.status == 1)
      #expect(refused.errors.contains("check the credentials"))
    }
    var pull = ["pull", "couchdb", world.url, "--name", "notes"]
    if !user.isEmpty { pull.append("--session") }
    let root = ["--root", world.directory.path("tool")]
    let outcome = try run("cairn", pull + root, user)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.output.hasPrefix("notes: 2 documents, 0 deletions, 1 attachment; "))
    // No bar where nobody looks.
    #expect(outcome.errors == "")
    let databases = try cairn(world, "pull", "databases", "--json")
    #expect(databases.output.contains(#""documents":2,"attachments":1,"staleAttachments":0"#))
    for secret in user.values { #expect(!databases.output.contains(secret)) }
    let export = try cairn(world, "pull", "export", "notes")
    #expect(
      export.output == """
        {"_id":"a","_rev":"\(last)","title":"One"}
        {"_id":"b","_rev":"\(revision)","z":1,"a":{"deep":[null,\(number)]}}

        """)
    let file = world.directory.path("notes.jsonl")
    let written = try cairn(world, "pull", "export", "notes", file)
    #expect(written.output.hasPrefix("2 documents of notes into "))
    #expect(FileManager.default.contents(atPath: file) == Data(export.output.utf8))
    let get = try cairn(world, "get", "notes", "a")
    #expect(get.output.contains("One"))
    let json = try run("cairn", pull + root + ["--json"], user)
    #expect(json.output.contains(#""documents":0"#))
    #expect(try cairn(world, "pull", "purge", "notes").status == 0)
    #expect(try cairn(world, "pull", "export", "notes").output == "")
    #expect(try cairn(world, "pull", "forget", "notes").status == 0)
    #expect(try cairn(world, "pull", "export", "notes").status != 0)
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `contents stay where they are, if that is asked for`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    for id in ["a", "b", "c"] { try await world.put(id, "{}") }
    let revision = try await world.put("d", "{}")
    _ = try await world.attach("d", revision, "x", [1, 2, 3])
    let user = try await user(of: world)
    let outcome = try run(
      "cairn",
      [
        "pull", "couchdb", world.url, "--name", "notes", "--no-attachments", "--docs-per-request",
        "2", "--json", "--root", world.directory.path("tool"),
      ], user)
    #expect(outcome.output.contains(#""documents":4"#))
    #expect(outcome.output.contains(#""attachments":0"#))
    // Which database it is, what has changed, and two times two documents.
    #expect(outcome.output.contains(#""requests":4"#), "\(outcome.output)")
    let databases = try cairn(world, "pull", "databases", "--json")
    #expect(databases.output.contains(#""documents":4,"attachments":1,"staleAttachments":1"#))
    await world.end()
  }

  private static let script = "/usr/bin/script"

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: script)))
  func `at a terminal a bar says how far it is`() async throws {
    let world = try await CouchWorld()
    for id in ["a", "b"] { try await world.put(id, "{}") }
    // A bar is drawn ten times in a second at most.
    try #require(world.memory).set { asked in
      if asked.path.hasSuffix("_all_docs") { Thread.sleep(forTimeInterval: 0.2) }
      return nil
    }
    let words = [
      Tool.directory + "cairn", "pull", "couchdb", world.url, "--docs-per-request", "1",
      "--max-fetches", "1", "--root", world.directory.path("tool"),
    ]
    let outcome = try Tool.run(
      ["-qec", words.joined(separator: " "), "/dev/null"], program: Self.script,
      environment: ["PATH": "/usr/bin:/bin"])
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.output.contains("pulling ["))
    #expect(outcome.output.contains(" of 2 documents, 0 of 0 attachments, "))
    #expect(outcome.output.contains(": 2 documents, 0 deletions"))
  }

  @Test func `following goes on, and ends when nobody reads any more`() async throws {
    let world = try await CouchWorld()
    let memory = try #require(world.memory)
    try await world.put("a", "{}")
    let count = Lock(0)
    memory.set { asked in
      // There is news whenever it is asked for.
      guard asked.query["feed"] == "longpoll" else { return nil }
      let number = count.withLock {
        $0 += 1
        return $0
      }
      world.placeDocument("n\(number)")
      return nil
    }
    let outcome = try Tool.run(
      [
        "-c", #"{ timeout 100 "$0" "$@"; echo "ended with $?" >&2; } | head -n 2"#,
        Tool.directory + "cairn", "pull", "couchdb", world.url, "--name", "notes", "--follow",
        "--root", world.directory.path("tool"),
      ], program: "/bin/sh", environment: ["PATH": "/usr/bin:/bin"])
    memory.heal()
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("notes: 1 document, ") })
    #expect(outcome.errors.contains("can't write standard output"))
    #expect(outcome.errors.hasSuffix("ended with 1\n"), "\(outcome.errors)")
  }

  @Test func `what can't be is told in a sentence`() async throws {
    let world = try await CouchWorld()
    let secret = try cairn(world, "pull", "couchdb", "https://ana:pass-word@host/db")
    #expect(secret.status == 1)
    // For that, and not for a port that "pass-word@host" would be.
    #expect(secret.errors.contains("must not have a user or password in it"))
    #expect(!secret.errors.contains("pass-word"))
    let gone = try cairn(world, "pull", "couchdb", world.url + "x")
    #expect(gone.status == 4)
    #expect(gone.errors.contains("check the address"))
    // Nothing is left of an address that was mistyped.
    #expect(try cairn(world, "pull", "databases", "--json").output == "{\"databases\":[]}\n")
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
