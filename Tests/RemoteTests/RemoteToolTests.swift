import Foundation
import TestSupport
import Testing

@testable import TestServers

/// The command line with folders on servers.
@Suite struct RemoteToolTests {
  let place: TemporaryDirectory
  let memory: MemoryDAV
  let server: TestServer

  init() throws {
    place = try TemporaryDirectory()
    let memory = MemoryDAV()
    self.memory = memory
    let expected = "Basic " + Data("ana:pass-word".utf8).base64EncodedString()
    server = try TestServer { asked in
      asked["authorization"] == expected ? memory.answer(asked) : .answer(401)
    }
  }

  private var address: String { "webdav+\(server.origin)/f" }

  private func run(
    _ root: String, _ arguments: String..., environment: [String: String] = [:]
  ) throws -> Tool.Outcome {
    try Tool.run(
      arguments + ["--root", place.path + "/" + root],
      environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 })
  }

  private let user = ["CAIRN_USER": "ana", "CAIRN_PASSWORD": "pass-word"]

  @Test func `two roots meet on a server, and requests are told`() throws {
    let made = try run("a", "sync", "--folder", address, environment: user)
    #expect(made.status == 0, "\(made.errors)")
    let set = try run("a", "set", "t", "r1", "x=1", "--insert", environment: user)
    #expect(set.status == 0, "\(set.errors)")
    let sync = try run("a", "sync", environment: user)
    #expect(sync.status == 0, "\(sync.errors)")
    #expect(sync.output.contains("published 1 delta"))
    #expect(sync.output.contains(/[0-9]+ requests?, [0-9]+ bytes sent, [0-9]+ bytes received/))
    // No bar where nobody looks.
    #expect(sync.errors == "")
    let other = try run("b", "sync", "--folder", address, "--json", environment: user)
    #expect(other.status == 0, "\(other.errors)")
    #expect(other.output.contains("\"receivedBytes\""))
    #expect(try run("b", "get", "t", "r1", environment: user).output.contains("1"))
    #expect(try run("b", "doctor", environment: user).status == 0)
    #expect(try run("b", "devices", environment: user).status == 0)
  }

  @Test func `status says what the last sync and all of them have cost`() throws {
    #expect(try run("a", "sync", "--folder", address, environment: user).status == 0)
    #expect(try run("a", "sync", environment: user).status == 0)
    let status = try run("a", "status", environment: user)
    #expect(status.status == 0, "\(status.errors)")
    let cost = "[0-9]+ requests?, [0-9]+ bytes sent, [0-9]+ bytes received"
      + "( \\([0-9]+ tried again\\))?"
    let line = try Regex("traffic +last sync \(cost); 2 syncs in all \(cost)")
    #expect(status.output.contains(line), "\(status.output)")
    let json = try run("a", "status", "--json", environment: user)
    #expect(json.output.contains("\"traffic\":{\"syncs\":2,"), "\(json.output)")
    // What has never synced with a server has no such line.
    #expect(try run("b", "sync", "--folder", "dir:\(place.path)/shared").status == 0)
    #expect(try !run("b", "status").output.contains("traffic"))
  }

  @Test func `credentials come from a file that nobody else can read`() throws {
    let path = place.path + "/credentials"
    try Data("CAIRN_USER=ana\nCAIRN_PASSWORD=pass-word\n".utf8).write(
      to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    let sync = try run("a", "sync", "--folder", address, "--credentials", path)
    #expect(sync.status == 0, "\(sync.errors)")
    // Its path is remembered, and nothing that is in it.
    #expect(try run("a", "sync").status == 0)
    let settings = try String(contentsOfFile: place.path + "/a.settings", encoding: .utf8)
    #expect(settings.contains("credentials \(path)\n"))
    #expect(!settings.contains("pass-word"))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let exposed = try run("a", "sync")
    #expect(exposed.status == 1)
    #expect(exposed.errors.contains("chmod 600"))
  }

  @Test func `what can't be is told in a sentence`() throws {
    let wrong = try run("a", "sync", "--folder", address)
    #expect(wrong.status == 1)
    #expect(wrong.errors.contains("given no credentials; check the credentials (--credentials"))
    let secret = try run("b", "sync", "--folder", "webdav+https://ana:pass-word@host/f")
    #expect(secret.status == 1)
    #expect(!secret.errors.contains("pass-word"))
    let unknown = try run("c", "sync", "--folder", "gopher://host/f")
    #expect(unknown.status == 2)
    #expect(unknown.errors.contains("webdav+https://, webdav+http://, s3://"))
    server.stop()
    let gone = try run("a", "sync", "--folder", address, environment: user)
    #expect(gone.status == 1)
    #expect(gone.errors.contains("no connection: nothing listens there"))
  }

  @Test func `dir is a directory`() throws {
    #expect(try run("a", "sync", "--folder", "dir:\(place.path)/shared").status == 0)
    #expect(FileManager.default.fileExists(atPath: place.path + "/shared/cairn.json"))
    #expect(try run("a", "status").output.contains("\(place.path)/shared, as"))
  }

  @Test func `a large file passes a piece at a time, up and down`() throws {
    let (size, bound) = (24 << 20, 16 << 20)
    #expect(try run("a", "sync", "--folder", address, environment: user).status == 0)
    #expect(
      try run("a", "set", "t", "r", "x=1", "--insert", environment: user).status == 0)
    let file = place.path + "/large"
    try Data(SeededRandom(8).bytes(1 << 20)).write(to: URL(fileURLWithPath: file))
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: UInt64(size))
    try handle.close()
    let put = try run("a", "blob", "put", file, "t", "r", "photo", environment: user)
    #expect(put.status == 0, "\(put.errors)")
    let published = try peak("a", "sync")
    #expect(published - (try peak("a", "status")) < bound)
    #expect(memory.names.contains { $0.hasSuffix(".blob") })
    #expect(try run("b", "sync", "--folder", address, environment: user).status == 0)
    let fetched = try peak("b", "blob", "fetch")
    #expect(fetched - (try peak("b", "status")) < bound)
    let back = try run("b", "blob", "fetch", environment: user)
    #expect(back.output == "fetched 0 attachments\n", "\(back.errors)")
    // Neither was any of it in one request that would have to be in memory as a whole.
    #expect(server.log.count { $0.hasPrefix("GET") && $0.hasSuffix(".blob") } == size / (4 << 20))
  }

  /// The most memory that a command ever had.
  private func peak(_ root: String, _ arguments: String...) throws -> Int {
    let outcome = try PeakMemory.of(
      Tool.directory + "cairn", arguments + ["--root", place.path + "/" + root],
      environment: ["PATH": "/usr/bin:/bin"].merging(user) { $1 })
    #expect(outcome.status == 0)
    return outcome.bytes
  }
}
