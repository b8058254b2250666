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
    // For that, and not for a port that "pass-word@host" would be.
    #expect(secret.errors.contains("must not have a user or password in it"))
    #expect(!secret.errors.contains("pass-word"))
    let unknown = try run("c", "sync", "--folder", "gopher://host/f")
    #expect(unknown.status == 2)
    #expect(unknown.errors.contains("webdav+https://, webdav+http://, s3://"))
    server.stop()
    let gone = try run("a", "sync", "--folder", address, environment: user)
    #expect(gone.status == 1)
    #expect(gone.errors.contains("no connection: nothing listens there"))
  }

  @Test func `what was cut or lost on the server is whole after the next sync`() throws {
    #expect(try run("a", "sync", "--folder", address, environment: user).status == 0)
    #expect(try run("a", "set", "t", "r1", "x=1", "--insert", environment: user).status == 0)
    #expect(try run("a", "sync", environment: user).status == 0)
    let name = try #require(memory.names.first { $0.hasSuffix(".seg") })
    let bytes = try #require(memory.bytes(name))
    for left in [Array(bytes.prefix(bytes.count / 2)), nil] {
      memory.put(name, left)
      let sync = try run("a", "sync", environment: user)
      #expect(sync.status == 0, "\(sync.errors)")
      #expect(memory.bytes(name) == bytes)
    }
    #expect(try run("b", "sync", "--folder", address, environment: user).status == 0)
    #expect(try run("b", "get", "t", "r1", environment: user).output.contains("1"))
  }

  private let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"]

  @Test func `two roots meet in a bucket, whatever else the environment has`() throws {
    let bucket = MemoryS3()
    let server = try TestServer { asked in
      asked["authorization"]?.contains("Credential=id/") == true
        ? bucket.answer(asked) : .answer(403)
    }
    let address = "s3://\(bucket.bucket)/f?endpoint=\(server.origin)"
    let both = user.merging(keys) { $1 }
    for root in ["a", "b"] {
      let sync = try run(root, "sync", "--folder", address, environment: both)
      #expect(sync.status == 0, "\(sync.errors)")
    }
    #expect(try run("a", "set", "t", "r1", "x=7", "--insert", environment: keys).status == 0)
    for root in ["a", "b"] {
      let sync = try run(root, "sync", environment: keys)
      #expect(sync.status == 0, "\(sync.errors)")
      #expect(sync.output.contains(/[0-9]+ requests?, [0-9]+ bytes sent/))
    }
    #expect(try run("b", "get", "t", "r1", environment: keys).output.contains("7"))
    #expect(try run("b", "doctor", environment: keys).status == 0)
    #expect(bucket.names.contains { $0.hasSuffix(".head") })
    // A server that wants no credentials is not given those of a bucket.
    let open = try TestServer { [memory] asked in
      asked["authorization"] == nil ? memory.answer(asked) : .answer(400)
    }
    let plain = try run("c", "sync", "--folder", "webdav+\(open.origin)/f", environment: keys)
    #expect(plain.status == 0, "\(plain.errors)")
  }

  @Test func `a folder on a server is followed, and local datastores are moved to one`() throws {
    #expect(try run("local", "set", "t", "r1", "x=1", "--insert").status == 0)
    let migration = try run(
      "local", "migrate", "--to", place.path + "/a", "--folder", address, environment: user)
    #expect(migration.status == 0, "\(migration.errors)")
    let sync = try run("a", "sync", environment: user)
    #expect(sync.output.contains("published 1 delta"), "\(sync.errors)")
    let names = memory.names
    let follow = try run("copy", "follow", address, environment: user)
    #expect(follow.status == 0, "\(follow.errors)")
    #expect(try run("copy", "get", "t", "r1").output.contains("1"))
    #expect(memory.names == names)
    #expect(try run("a", "set", "t", "r2", "x=2", "--insert", environment: user).status == 0)
    #expect(try run("a", "sync", environment: user).status == 0)
    let again = try run("copy", "sync", environment: user)
    #expect(again.status == 0, "\(again.errors)")
    #expect(try run("copy", "query", "t").output.contains("r2"))
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
  func `a terminal is shown how far a sync is`() throws {
    #expect(try run("a", "sync", "--folder", address, environment: user).status == 0)
    #expect(try run("a", "set", "t", "r1", "x=1", "--insert", environment: user).status == 0)
    #expect(try run("a", "sync", environment: user).status == 0)
    let server = server
    let memory = memory
    server.handle { asked in
      // As long as nobody could miss the bar.
      if asked.path.hasSuffix(".seg") { Thread.sleep(forTimeInterval: 0.3) }
      return memory.answer(asked)
    }
    let command = "\(Tool.directory)cairn sync --root \(place.path)/b --folder \(address)"
    let shown = try Tool.run(
      ["-qefc", command, "/dev/null"], program: "/usr/bin/script",
      environment: ["PATH": "/usr/bin:/bin"].merging(user) { $1 })
    #expect(shown.status == 0, "\(shown)")
    #expect(shown.output.contains(/\rsyncing \[[#·]{20}\] 0 of 1 files, [0-9]+ %/), "\(shown)")
    // It is wiped before what the sync has done is said.
    let parts = shown.output.components(separatedBy: "\r\u{1B}[K")
    #expect(parts.count > 1 && parts.last?.contains("syncing [") == false, "\(shown)")
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
  func `a terminal is told that a server hangs before anything is on its way`() async throws {
    #expect(try run("a", "sync", "--folder", address, environment: user).status == 0)
    let memory = memory
    let isFirst = Shared(true)
    server.handle { asked in
      guard asked.method == "PROPFIND", isFirst.value else { return memory.answer(asked) }
      isFirst.value = false
      return .silence
    }
    let command = "\(Tool.directory)cairn sync --root \(place.path)/a"
    let environment = ["PATH": "/usr/bin:/bin"].merging(user) { $1 }
    // Half a minute goes by until it counts as hanging: other tests need this thread meanwhile.
    let result: Result<Tool.Outcome, any Error> = await withCheckedContinuation { waiting in
      Thread.detachNewThread {
        waiting.resume(
          returning: Result {
            try Tool.run(
              ["-qefc", command, "/dev/null"], program: "/usr/bin/script",
              environment: environment)
          })
      }
    }
    let shown = try result.get()
    #expect(shown.status == 0, "\(shown)")
    #expect(!isFirst.value)
    let line = "\rsyncing stalled: the server is asked again\u{1B}[K"
    #expect(shown.output.contains(line), "\(shown)")
    // The line goes when the server has answered.
    let parts = shown.output.components(separatedBy: "\r\u{1B}[K")
    #expect(parts.count > 1 && parts.last?.contains("syncing ") == false, "\(shown)")
  }

  @Test func `the first sync of 100,000 records has few of them in memory at once`() throws {
    let bound = 96 << 20
    let file = place.path + "/rows.csv"
    let random = SeededRandom(9)
    let rows = (0..<100_000).map { "r\($0),\($0),\(random.next())\(random.next())" }
    try Data(("id,n,text\n" + rows.joined(separator: "\n") + "\n").utf8).write(
      to: URL(fileURLWithPath: file))
    let made = try run("a", "sync", "--folder", address, "--limits", "large", environment: user)
    #expect(made.status == 0, "\(made.errors)")
    let filled = try run("a", "import", "t", file, "--key", "id", environment: user)
    #expect(filled.status == 0, "\(filled.errors)")
    let published = try peak("a", "sync")
    #expect(published - (try opened("a")) < bound)
    let fetched = try peak("b", "sync", "--folder", address, "--limits", "large")
    #expect(fetched - (try opened("b")) < bound)
    #expect(try run("b", "get", "t", "r99999").output.contains("99999"))
  }

  @Test func `a sync takes no more than its budget, and the next process begins anew`() throws {
    #expect(try run("a", "sync", "--folder", address, environment: user).status == 0)
    for options in [["--requests-per-hour", "1"], ["--metered", "--requests-per-hour", "1"]] {
      server.clearLog()
      let few = try sync("a", options)
      #expect(few.status == 1 && server.log.count == 1, "\(few)")
      #expect(few.errors.contains("the budget of 1 requests an hour is used up"))
    }
    let short = try sync("a", ["--bytes-per-hour", "1"])
    #expect(short.status == 1)
    #expect(short.errors.contains("the budget of 1 bytes an hour"))
    for options in [["--metered"], ["--requests-per-hour", "99", "--bytes-per-hour", "99999"], []] {
      let enough = try sync("a", options)
      #expect(enough.status == 0, "\(enough.errors)")
    }
    #expect(try sync("a", ["--requests-per-hour", "0"]).status == 2)
    for command in ["sync", "watch"] {
      let plain = try run(
        "b", command, "--folder", "dir:\(place.path)/shared", "--bytes-per-hour", "1000")
      #expect(plain.status == 2 && plain.errors.contains("for folders on servers"))
      let help = try run("b", command, "--help").output
      for option in ["--metered", "--requests-per-hour <n>", "--bytes-per-hour <n>"] {
        #expect(help.contains(option), "\(help)")
      }
    }
  }

  private func sync(_ root: String, _ options: [String]) throws -> Tool.Outcome {
    try Tool.run(
      ["sync", "--root", place.path + "/" + root] + options,
      environment: ["PATH": "/usr/bin:/bin"].merging(user) { $1 })
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
    #expect(published - (try opened("a")) < bound)
    #expect(memory.names.contains { $0.hasSuffix(".blob") })
    #expect(try run("b", "sync", "--folder", address, environment: user).status == 0)
    let fetched = try peak("b", "blob", "fetch")
    #expect(fetched - (try opened("b")) < bound)
    let back = try run("b", "blob", "fetch", environment: user)
    #expect(back.output == "fetched 0 attachments\n", "\(back.errors)")
    // Neither was any of it in one request that would have to be in memory as a whole.
    #expect(server.log.count { $0.hasPrefix("GET") && $0.hasSuffix(".blob") } == size / (4 << 20))
  }

  /// What is needed to have a datastore open. That is over so soon that on a busy machine the end
  /// of it is easily missed.
  private func opened(_ root: String) throws -> Int {
    try (0..<4).map { _ in try peak(root, "status") }.max() ?? 0
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
