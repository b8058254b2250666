import CairnDisk
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// Who says who we are, and who never hears it.
@Suite struct ServerCredentialTests {
  static let secret = "s3cr3t-pa55"

  private final class Counter: Sendable {
    private let count = Lock(0)
    var value: Int { count.withLock { $0 } }

    @discardableResult
    func add() -> Int {
      count.withLock { count in
        count += 1
        return count
      }
    }
  }

  @Test func `a password is sent as the server wants it`() async throws {
    let bench = try HTTPSessionTests.Bench(
      credentials: .given(.password(user: "ana", password: Self.secret))
    ) { asked in .text(200, asked["authorization"] ?? "none") }
    let expected = "Basic " + Data("ana:\(Self.secret)".utf8).base64EncodedString()
    #expect(String(decoding: try await bench.get(), as: UTF8.self) == expected)
  }

  @Test func `a token is sent as the server wants it`() async throws {
    let bench = try HTTPSessionTests.Bench(credentials: .given(.bearer("tok"))) { asked in
      .text(200, asked["authorization"] ?? "none")
    }
    #expect(String(decoding: try await bench.get(), as: UTF8.self) == "Bearer tok")
  }

  @Test func `after a refusal the source is asked again, once`() async throws {
    let tokens = Shared(["old", "new", "newest"])
    let source = CredentialSource.closure { () async throws(CairnError) in
      .bearer(tokens.value.removeFirst())
    }
    let bench = try HTTPSessionTests.Bench(credentials: source) { asked in
      asked["authorization"] == "Bearer new" ? .answer(200, [], [1]) : .answer(401)
    }
    #expect(try await bench.get() == [1])
    #expect(bench.server.count == 2)
    bench.server.handle { _ in .answer(401) }
    #expect(await bench.failure()?.kind == .status(401))
    #expect(tokens.value == [])
  }

  @Test func `requests that meet a token that has run out all go on with the new one`()
    async throws
  {
    let calls = Counter()
    let source = CredentialSource.closure { () async throws(CairnError) in
      .bearer(calls.add() == 1 ? "old" : "new")
    }
    let bench = try HTTPSessionTests.Bench(credentials: source) { _ in .answer(200) }
    _ = try await bench.get()
    let refused = Counter()
    bench.server.handle { asked in
      if asked["authorization"] == "Bearer new" { return .answer(200, [], [1]) }
      // Both were sent with the old one before either is told.
      refused.add()
      while refused.value < 2 { Thread.sleep(forTimeInterval: 0.001) }
      return .answer(401)
    }
    async let first = bench.get("/first")
    async let second = bench.get("/second")
    #expect(try await [first, second] == [[1], [1]])
    // Of tokens that are good once, a second question would spoil the first one's answer.
    #expect(calls.value == 2)
  }

  /// A source that has something to say when it may, or ends when nobody asks any more; and how
  /// often it was asked.
  private func waiting(_ mayAnswer: Shared<Bool>) -> (KnownCredentials, calls: Counter) {
    let calls = Counter()
    let source = CredentialSource.closure { () async throws(CairnError) in
      calls.add()
      while !mayAnswer.value {
        if Task.isCancelled { throw CairnError(.cancelled, "nobody asks any more") }
        await Task.yield()
      }
      return .bearer("token")
    }
    return (KnownCredentials(source) { _ in true }, calls)
  }

  /// One who waits; the number of the answer.
  private func ask(_ known: KnownCredentials) -> Task<Result<Int, CairnError>, Never> {
    Task {
      do throws(CairnError) { return .success(try await known.answer(after: 0).number) } catch {
        return .failure(error)
      }
    }
  }

  @Test func `all who wait for the same credentials ask for them once`() async throws {
    let mayAnswer = Shared(false)
    let (known, calls) = waiting(mayAnswer)
    let all = (0..<5).map { _ in ask(known) }
    while calls.value == 0 { await Task.yield() }
    for _ in 0..<100 { await Task.yield() }
    mayAnswer.value = true
    for task in all { #expect(await task.value == .success(1)) }
    #expect(calls.value == 1)
    // They are asked for again by who was refused with them.
    let second = try await known.answer(after: 1)
    #expect(second.number == 2 && second.credentials == .bearer("token"))
  }

  @Test func `who is cancelled while others wait for credentials harms nobody`() async throws {
    let mayAnswer = Shared(false)
    let (known, calls) = waiting(mayAnswer)
    // The last one who leaves ends the question.
    let alone = ask(known)
    while calls.value == 0 { await Task.yield() }
    alone.cancel()
    #expect(await code(alone) == .cancelled)
    let (leaving, staying) = (ask(known), ask(known))
    while calls.value < 2 { await Task.yield() }
    leaving.cancel()
    for _ in 0..<100 { await Task.yield() }
    mayAnswer.value = true
    #expect(await staying.value == .success(1))
    _ = await leaving.value
  }

  /// A source that takes its time, whoever is cancelled; and how often it was asked. It ends if it
  /// has waited too long for a test, too.
  private func stubborn(_ mayAnswer: Shared<Bool>) -> (KnownCredentials, calls: Counter) {
    let calls = Counter()
    let source = CredentialSource.closure { () async throws(CairnError) in
      calls.add()
      for _ in 0..<100_000 where !mayAnswer.value { await Task.yield() }
      return .bearer("token")
    }
    return (KnownCredentials(source) { _ in true }, calls)
  }

  private func code(_ task: Task<Result<Int, CairnError>, Never>) async -> CairnError.Code? {
    let result = await task.value
    guard case .failure(let error) = result else { return nil }
    return error.code
  }

  @Test func `who is cancelled does not wait for the source, and the others still do`()
    async throws
  {
    let mayAnswer = Shared(false)
    let (known, calls) = stubborn(mayAnswer)
    let (leaving, staying) = (ask(known), ask(known))
    while calls.value == 0 { await Task.yield() }
    leaving.cancel()
    #expect(await code(leaving) == .cancelled)
    mayAnswer.value = true
    #expect(await staying.value == .success(1))
    #expect(calls.value == 1)
  }

  @Test func `what a source says after all have left is an answer for who comes next`()
    async throws
  {
    let mayAnswer = Shared(false)
    let (known, calls) = stubborn(mayAnswer)
    let all = (0..<3).map { _ in ask(known) }
    while calls.value == 0 { await Task.yield() }
    for task in all { task.cancel() }
    for task in all { #expect(await code(task) == .cancelled) }
    // It is not asked twice at once.
    let next = ask(known)
    for _ in 0..<100 { await Task.yield() }
    #expect(calls.value == 1)
    // Who is cancelled before it waits does not begin to.
    let early = Task { () async -> CairnError.Code? in
      while !Task.isCancelled { await Task.yield() }
      do throws(CairnError) { _ = try await known.answer(after: 0) } catch { return error.code }
      return nil
    }
    early.cancel()
    #expect(await early.value == .cancelled)
    mayAnswer.value = true
    #expect(await next.value == .success(1))
    #expect(calls.value == 1)
  }

  @Test func `what can't be had is an error of its own`() async throws {
    let bench = try HTTPSessionTests.Bench(credentials: .file("/nowhere/at/all")) { _ in
      .answer(200)
    }
    let failure = try #require(await bench.failure())
    #expect(CairnError(failure).code == .notFound)
    #expect(bench.server.count == 0)
  }

  @Test func `no secret is in an error or a description`() async throws {
    let credentials = Credentials.accessKey(
      id: "id", secret: Self.secret, sessionToken: Self.secret)
    let source = CredentialSource.given(credentials)
    var settings = ServerSettings(credentials: source)
    settings.attempts = 1
    var texts = ["\(credentials)", "\(source)", "\(settings)", String(reflecting: source)]
    var dumped = ""
    dump(source, to: &dumped)
    dump(settings, to: &dumped)
    texts.append(dumped)
    for status in [400, 401, 403, 500] {
      let bench = try HTTPSessionTests.Bench(
        credentials: .given(.password(user: "ana", password: Self.secret))
      ) { _ in .text(status, "no") }
      let failure = try #require(await bench.failure("/a"))
      texts += ["\(failure)", "\(CairnError(failure))"]
    }
    for text in texts { #expect(!text.contains(Self.secret)) }
  }

  @Test func `a file of credentials is read if nobody else can`() throws {
    let place = try TemporaryDirectory()
    let path = place.path + "/credentials"
    let text = "# for the tests\nCAIRN_USER=ana\nCAIRN_PASSWORD=a=b c\n\n"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    #expect(throws: CairnError.self) { try CredentialSource.read(path, .real) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    #expect(try CredentialSource.read(path, .real) == [.password(user: "ana", password: "a=b c")])
    try Data("nothing".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: CairnError.self) { try CredentialSource.read(path, .real) }
  }

  @Test func `variables say one thing or the other`() {
    func from(_ values: [String: String]) -> [Credentials] { CredentialSource.from { values[$0] } }
    #expect(from([:]) == [])
    #expect(from(["CAIRN_USER": "a"]) == [])
    #expect(from(["CAIRN_TOKEN": "t"]) == [.bearer("t")])
    #expect(
      from(["AWS_ACCESS_KEY_ID": "i", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"])
        == [.accessKey(id: "i", secret: "s", sessionToken: "t")])
  }

  @Test func `of several credentials each server is given those that it takes`() async throws {
    let place = try TemporaryDirectory()
    let path = place.path + "/credentials"
    func write(_ text: String) throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
    /// What the header says that a server gets of each kind of folder.
    func sent() async throws -> (plain: String, bucket: String) {
      let server = try TestServer { asked in .text(200, asked["authorization"] ?? "none") }
      var settings = ServerSettings.test
      settings.credentials = .file(path)
      let plain = try FolderKind.webDAV(settings).open("webdav+\(server.origin)/f")
      let bucket = try FolderKind.s3(settings).open("s3://cairn/f?endpoint=\(server.origin)")
      func answer(_ folder: any Folder) async throws -> String {
        String(decoding: try await folder.read("a", limit: 1000) ?? [], as: UTF8.self)
      }
      return (try await answer(plain), try await answer(bucket))
    }
    let keys = "AWS_ACCESS_KEY_ID=id\nAWS_SECRET_ACCESS_KEY=s\n"
    for plain in ["CAIRN_TOKEN=tok\n", "CAIRN_USER=ana\nCAIRN_PASSWORD=pw\nCAIRN_TOKEN=tok\n"] {
      try write(plain + keys)
      let sent = try await sent()
      #expect(sent.plain.hasPrefix(plain.contains("USER") ? "Basic " : "Bearer tok"))
      #expect(sent.bucket.contains("Credential=id/"))
    }
    // What is there and does not fit is told, and not passed over.
    try write(keys)
    let error = await #expect(throws: CairnError.self) { try await sent() }
    #expect(error?.code == .auth && error?.message.contains("no access key") == true)
  }

  @Test func `what no header can have in it is told at once, and not sent`() async throws {
    for character in ["\n", "\r", "\u{7F}", "\0"] {
      let bench = try HTTPSessionTests.Bench(
        credentials: .given(.bearer(Self.secret + character))
      ) { _ in .answer(200) }
      let failure = try #require(await bench.failure())
      #expect(CairnError(failure).code == .auth)
      #expect(failure.detail.contains("control character") && !failure.detail.contains(Self.secret))
      #expect(bench.server.count == 0 && bench.log.all.isEmpty)
    }
    let server = try TestServer { _ in .answer(200) }
    for (id, token) in [("id", "token\n"), ("id\n", nil)] as [(String, String?)] {
      var settings = ServerSettings.test
      settings.credentials = .given(.accessKey(id: id, secret: "s", sessionToken: token))
      let folder = try FolderKind.s3(settings).open("s3://cairn/f?endpoint=\(server.origin)")
      let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
      #expect(error?.code == .auth && error?.message.contains("control character") == true)
    }
    #expect(server.count == 0)
  }

  @Test func `a user's name that servers would cut is refused, and not sent`() async throws {
    let bench = try HTTPSessionTests.Bench(
      credentials: .given(.password(user: "an:a", password: Self.secret))
    ) { _ in .answer(200) }
    let failure = try #require(await bench.failure())
    #expect(CairnError(failure).code == .auth)
    #expect(failure.detail.contains("colon") && !failure.detail.contains(Self.secret))
    #expect(bench.server.count == 0 && bench.log.all.isEmpty)
    // What comes after the first one is the password, whatever is in it.
    let other = try HTTPSessionTests.Bench(
      credentials: .given(.password(user: "ana", password: "p:w"))
    ) { asked in .text(200, asked["authorization"] ?? "none") }
    let expected = "Basic " + Data("ana:p:w".utf8).base64EncodedString()
    #expect(String(decoding: try await other.get(), as: UTF8.self) == expected)
  }

  @Test(
    arguments: [
      "https://ana:pw@host/x", "webdav+https://ana@host/", "s3://", "s3:///x", "nothing",
      "webdav+https://host:0/", "webdav+https://host:x/", "webdav+https://host/a%2Fb",
      "webdav+https://host/%zz", "webdav+https://host/../x", "webdav+https://host/#x", "a b://c",
    ])
  func `an address that can't be used is refused, and its secret not repeated`(_ text: String) {
    let error = #expect(throws: CairnError.self) { try ServerAddress(text) }
    #expect(error?.code == .illegalArgument)
    #expect(error?.message.contains("pw") == false)
  }

  @Test func `an address is taken apart`() throws {
    let address = try ServerAddress("webdav+https://Host.Example:8443/some%20place//x/?a=b%26c")
    #expect(address.scheme == "webdav+https")
    #expect(address.host == "host.example")
    #expect(address.port == 8443)
    #expect(address.path == ["some place", "x"])
    #expect(address.query == ["a": "b&c"])
    #expect(!address.isLoopback)
    for loopback in ["http://127.0.0.1/", "http://[::1]:80/x", "http://localhost"] {
      #expect(try ServerAddress(loopback).isLoopback)
    }
    #expect(try !ServerAddress("http://127.0.0.1.example.com/").isLoopback)
  }
}
