import CairnDisk
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// Accounts whose folder is on a server.
@Suite struct RemoteAccountTests {
  static let secret = "a-very-secret-word"

  /// A server that lets in who knows the password.
  private func guarded() throws -> (MemoryDAV, TestServer) {
    let memory = MemoryDAV()
    let expected = "Basic " + Data("ana:\(Self.secret)".utf8).base64EncodedString()
    let server = try TestServer { asked in
      asked["authorization"] == expected ? memory.answer(asked) : .answer(401)
    }
    return (memory, server)
  }

  private func manager(_ directory: String, _ kinds: [FolderKind]) throws -> AccountManager {
    var options = Options()
    options.folderKinds = kinds
    return try AccountManager(directory: directory, options: options)
  }

  @Test func `an account on a server is opened by its address in the next process`() async throws {
    let place = try TemporaryDirectory()
    let (memory, server) = try guarded()
    let location = FolderLocation.webDAV("\(server.origin)/f", .test)
    do {
      let accounts = try manager(place.path + "/accounts", [.webDAV(.test)])
      let account = try accounts.link(
        Account(user: "ana", folder: location),
        credentials: .password(user: "ana", password: Self.secret))
      let datastore = try accounts.openDefaultDatastore(for: account)
      try datastore.add("first")
      try await datastore.exchange()
      try accounts.manager(for: account).shutDown()
    }
    #expect(memory.names.contains { $0.hasSuffix(".head") })
    let accounts = try manager(place.path + "/accounts", [.webDAV(.test)])
    let account = try #require(try accounts.linkedAccount)
    #expect(account.folder == location)
    let datastore = try accounts.openDefaultDatastore(for: account)
    try datastore.add("second")
    #expect(try await datastore.exchange().publishedDeltas == 1)
    #expect(try await datastore.manager.refresh().problems.isEmpty)
    try accounts.manager(for: account).shutDown()
    // The secret is where secrets are, and nowhere else, here or there.
    #expect(try Self.filesThatSay(Self.secret, in: place.path) == [])
    for name in memory.names {
      let bytes = try #require(memory.bytes(name))
      #expect(Data(bytes).range(of: Data(Self.secret.utf8)) == nil, "\(name)")
    }
  }

  /// Files that contain a text, those of secrets left out.
  private static func filesThatSay(_ text: String, in directory: String) throws -> [String] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: directory)
    #expect(names.count > 10)
    return names.filter { name in
      let bytes = FileManager.default.contents(atPath: directory + "/" + name)
      return !name.contains("/secrets/") && bytes?.range(of: Data(text.utf8)) != nil
    }
  }

  @Test func `without its kind an address is refused, and nothing is linked`() throws {
    let place = try TemporaryDirectory()
    let accounts = try manager(place.path + "/accounts", [])
    for address in ["webdav+https://host/f", "s3://bucket/f", "gopher://host/"] {
      let error = #expect(throws: CairnError.self) {
        try accounts.link(Account(user: "ana", folder: .server(ServerFolder(address))))
      }
      #expect(error?.code == .illegalArgument)
      #expect(error?.message.contains("folderKinds") == true, "\(address)")
    }
    #expect(try accounts.linkedAccounts.isEmpty)
    let error = #expect(throws: CairnError.self) {
      try DatastoreManager(
        root: place.path + "/root",
        account: Account(user: "ana", folder: .server(ServerFolder("s3://bucket/f"))))
    }
    #expect(error?.code == .illegalArgument)
    #expect(error?.message.contains("folderKinds") == true)
  }

  @Test func `an address with a password in it is refused`() throws {
    let place = try TemporaryDirectory()
    let error = #expect(throws: CairnError.self) {
      try DatastoreManager(
        root: place.path + "/root",
        account: Account(user: "ana", folder: .webDAV("https://ana:\(Self.secret)@host/f")))
    }
    #expect(error?.code == .illegalArgument)
    // For that, and not for a port that the password would be.
    #expect(error?.message.contains("must not have a user or password in it") == true)
    #expect(error?.message.contains(Self.secret) == false)
  }

  @Test func `the doctor looks into a folder on a server`() async throws {
    let place = try TemporaryDirectory()
    let memory = MemoryDAV()
    let server = try TestServer { memory.answer($0) }
    let account = Account(user: "ana", folder: .webDAV("\(server.origin)/f", .test))
    let root = place.path + "/root"
    let datastore = try DatastoreManager(root: root, account: account).openOrCreateDatastore("n")
    try datastore.add("a")
    try await datastore.exchange()
    try datastore.close()
    let doctor = Doctor(root: root, account: account)
    #expect(await doctor.examine().isHealthy)
    let segment = try #require(memory.names.first { $0.hasSuffix(".seg") })
    memory.put(segment, nil)
    #expect(await !doctor.examine().isHealthy)
    // By its address alone it needs somebody who opens it.
    let bare = Account(user: "ana", folder: .server(ServerFolder("webdav+\(server.origin)/f")))
    let closed = await Doctor(root: root, account: bare).examine().findings
    #expect(closed.contains { $0.severity == .error && $0.message.contains("folderKinds") })
    let known = Doctor(root: root, account: bare, folderKinds: [.webDAV(.test)])
    let findings = await known.examine().findings
    #expect(findings.contains { $0.severity == .error && !$0.message.contains("folderKinds") })
  }

  @Test func `a budget ends rounds and loses nothing`() async throws {
    let memory = MemoryDAV()
    let server = try TestServer { memory.answer($0) }
    var settings = ServerSettings.test
    settings.budget = TransferBudget(requestsPerHour: 8)
    let bench = try RemoteBench(.webDAV("\(server.origin)/f", settings))
    let a = try bench.open("a")
    var error: CairnError?
    for number in 0..<9 where error == nil {
      try a.add("r\(number)")
      do throws(CairnError) { try await a.exchange() } catch let failure { error = failure }
    }
    #expect(error?.code == .quota)
    #expect(server.count == 8)
    // Another process, in another hour, has it all.
    try a.close()
    let again = try DatastoreManager(
      root: bench.place.path + "/a",
      account: Account(user: "ann", folder: .webDAV("\(server.origin)/f", .test))
    ).openOrCreateDatastore(bench.id)
    try await again.exchange()
    #expect(again.publishedDeltas == again.committedDeltas)
  }
}
