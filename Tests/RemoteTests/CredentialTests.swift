import CairnDisk
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import TestServers

/// Who says who we are, and who never hears it.
@Suite struct ServerCredentialTests {
  static let secret = "s3cr3t-pa55"

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
    #expect(try CredentialSource.read(path, .real) == .password(user: "ana", password: "a=b c"))
    try Data("nothing".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: CairnError.self) { try CredentialSource.read(path, .real) }
  }

  @Test func `variables say one thing or the other`() {
    func from(_ values: [String: String]) -> Credentials? { CredentialSource.from { values[$0] } }
    #expect(from([:]) == nil)
    #expect(from(["CAIRN_USER": "a"]) == nil)
    #expect(from(["CAIRN_TOKEN": "t"]) == .bearer("t"))
    #expect(
      from(["AWS_ACCESS_KEY_ID": "i", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"])
        == .accessKey(id: "i", secret: "s", sessionToken: "t"))
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
