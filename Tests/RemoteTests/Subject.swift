import CairnDisk
import CairnHTTP
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Cairn
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// A folder to be tested, of some kind, new and empty.
struct Place: Sendable {
  let folder: any Folder
  /// Another one that looks at the same place, as another device does.
  let other: any Folder
  /// Keeps what the folder stands on.
  let keeping: [any Sendable]
}

/// A kind of folder, and how to make an empty one.
struct Subject: Sendable, CustomTestStringConvertible {
  let name: String
  let make: @Sendable () async throws -> Place

  var testDescription: String { name }

  /// What every machine has.
  static let own: [Subject] = [
    memory, directory, dav("WebDAV", MemoryDAV.Manners()),
    dav(
      "WebDAV, weak tags, URLs",
      MemoryDAV.Manners(
        tags: .weak, tagInAnswer: false, server: "Apache/2.4", prefix: "x", hrefsAreURLs: true,
        escapesAreLowerCase: true, depthIsIgnored: true)),
    dav(
      "WebDAV, no tags, default namespace",
      MemoryDAV.Manners(
        tags: .none, tagInAnswer: false, server: "nginx", prefix: "", clockTicks: true)),
    dav(
      "WebDAV, unknown server", MemoryDAV.Manners(tags: .unquoted, server: "Another/1")),
    dav("WebDAV without parts", MemoryDAV.Manners(knowsParts: false)),
    s3("S3", MemoryS3.Manners()),
    s3(
      "S3, odd", MemoryS3.Manners(
        pageSize: 7, partsAreWhole: true, conditions: .ignored, tagsAreHashes: false)),
  ]

  /// Those, and the servers that Tools/servers has started.
  static let all: [Subject] = own + Given.webDAV.map(real) + Given.s3.map(real)

  static let memory = Subject(name: "memory") {
    let folder = MemoryFolder()
    return Place(folder: folder, other: folder, keeping: [])
  }

  static let directory = Subject(name: "directory") {
    let place = try TemporaryDirectory()
    return Place(
      folder: DirectoryFolder(place.path + "/folder"),
      other: DirectoryFolder(place.path + "/folder"), keeping: [place])
  }

  static func dav(_ name: String, _ manners: MemoryDAV.Manners) -> Subject {
    Subject(name: name) {
      let memory = MemoryDAV(manners)
      let server = try TestServer { memory.answer($0) }
      let address = "webdav+\(server.origin)/some%20place/f"
      return Place(
        folder: try FolderKind.webDAV(.test).open(address),
        other: try FolderKind.webDAV(.test).open(address), keeping: [server, memory])
    }
  }

  static func s3(_ name: String, _ manners: MemoryS3.Manners) -> Subject {
    Subject(name: name) {
      let memory = MemoryS3(manners)
      let server = try TestServer { memory.answer($0) }
      let address = "s3://cairn/a/b?endpoint=\(server.origin)"
      return Place(
        folder: try FolderKind.s3(.test).open(address),
        other: try FolderKind.s3(.test).open(address), keeping: [server, memory])
    }
  }

  static func real(_ given: Given) -> Subject {
    Subject(name: given.name) {
      let address = given.fresh()
      return Place(
        folder: try given.kind().open(address), other: try given.kind().open(address), keeping: [])
    }
  }
}

/// A real server that the environment tells of.
struct Given: Sendable, CustomTestStringConvertible {
  let name: String
  let address: String
  let credentials: Credentials?
  var isS3: Bool { address.hasPrefix("s3:") }
  var testDescription: String { name }

  static let webDAV = all("CAIRN_TEST_WEBDAV") { _, value in
    guard let user = value("CAIRN_TEST_USER"), let password = value("CAIRN_TEST_PASSWORD") else {
      return nil
    }
    return .password(user: user, password: password)
  }

  /// Each with a key of its own if it has one.
  static let s3 = all("CAIRN_TEST_S3") { name, value in
    for suffix in ["_" + name, ""] {
      guard let id = value("CAIRN_TEST_S3_KEY" + suffix),
        let secret = value("CAIRN_TEST_S3_SECRET" + suffix)
      else { continue }
      return .accessKey(id: id, secret: secret)
    }
    return nil
  }

  static let both = webDAV + s3

  private static func all(
    _ variable: String,
    _ credentials: (_ name: String, _ value: (String) -> String?) -> Credentials?
  ) -> [Given] {
    (ProcessEnvironment.value(variable) ?? "").split(separator: " ").compactMap { pair in
      let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { return nil }
      return Given(
        name: (variable == "CAIRN_TEST_S3" ? "S3: " : "WebDAV: ") + parts[0], address: parts[1],
        credentials: credentials(parts[0], ProcessEnvironment.value))
    }
  }

  /// The port of the server.
  var port: UInt16 {
    let text = isS3 ? address.components(separatedBy: "endpoint=").last ?? "" : address
    let end = text.split(separator: ":").last?.split(separator: "/").first ?? ""
    return UInt16(end) ?? 0
  }

  /// An address of a place on it that nobody has used.
  func fresh(through port: UInt16? = nil) -> String {
    let name = FileNames.random()
    var address = address
    if let port { address = address.replacingOccurrences(of: ":\(self.port)", with: ":\(port)") }
    guard isS3, let question = address.firstIndex(of: "?") else { return address + "/" + name }
    address.insert(contentsOf: "/" + name, at: question)
    return address
  }

  /// Whether a server of this name can have a file of that one. moto works out another signature
  /// for what has more than letters, digits and spaces in it; wsgidav cuts a name at a question
  /// mark or a semicolon. None of ours has any of that.
  static func keeps(_ name: String, _ server: String) -> Bool {
    switch server {
    case "S3: moto":
      name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || " ._~-".contains($0)) }
    case "WebDAV: wsgidav": !name.contains { "?;".contains($0) }
    default: true
    }
  }

  func kind(
    on machine: Machine = .real, _ change: (inout ServerSettings) -> Void = { _ in }
  ) -> FolderKind {
    var settings = ServerSettings.test
    settings.credentials = credentials.map { .given($0) } ?? .none
    change(&settings)
    return isS3 ? .s3(settings, machine: machine) : .webDAV(settings, machine: machine)
  }
}

enum FileNames {
  static func random() -> String { "t\(SystemRandom().next() >> 16)" }
}

extension ServerSettings {
  /// No credentials, short pauses. A machine that is busy with other tests has not stalled.
  static var test: ServerSettings {
    var settings = ServerSettings(credentials: .none)
    settings.longestPauseSeconds = 0.01
    settings.connectSeconds = 600
    settings.stallSeconds = 600
    return settings
  }
}

/// The simplest folder there is.
final class MemoryFolder: Folder {
  private let files = Lock<[String: (bytes: [UInt8], version: Int)]>([:])

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    let prefix = directory.isEmpty ? "" : directory + "/"
    return files.withLock { files in
      files.compactMap { path, file in
        guard path.hasPrefix(prefix), !path.dropFirst(prefix.count).contains("/") else {
          return nil
        }
        return FolderEntry(
          name: String(path.dropFirst(prefix.count)), size: UInt64(file.bytes.count),
          version: "\(file.version)")
      }
    }.sorted { $0.name < $1.name }
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    guard let bytes = files.withLock({ $0[path]?.bytes }) else { return nil }
    guard bytes.count <= limit else { throw CairnError(.fileIO, "too large", file: path) }
    return bytes
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    files.withLock { files in
      let version = (files[path]?.version ?? 0) + 1
      files[path] = (bytes, version)
      return FolderEntry(
        name: path.split(separator: "/").last.map(String.init) ?? path, size: UInt64(bytes.count),
        version: "\(version)")
    }
  }

  func remove(_ path: String) async throws(CairnError) {
    files.withLock { $0[path] = nil }
  }
}

/// A file of a test.
struct BytesSource: FolderSource {
  /// More than a part of any kind of folder. A block again and again, of a length that no part has.
  static let large: [UInt8] = {
    let block = SeededRandom(3).bytes(65_521)
    return Array((0..<145).flatMap { _ in block }.prefix(9 << 20))
  }()

  let bytes: [UInt8]
  var size: UInt64 { UInt64(bytes.count) }

  func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
    Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
  }
}

/// A file of which only the beginning can be read.
struct FailingSource: FolderSource {
  let size: UInt64
  let good: UInt64

  func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
    guard range.upperBound <= good else { throw CairnError(.corrupt, "the source is damaged") }
    return [UInt8](repeating: 1, count: Int(range.upperBound - range.lowerBound))
  }
}
