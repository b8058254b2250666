import CairnDisk
import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import CairnWebDAV
@testable import TestServers

/// A folder on a server in this process that can be told to do anything; no pause is waited for.
struct FolderFailureBench: Sendable {
  enum Kind: String, CaseIterable, CustomTestStringConvertible {
    case webDAV = "WebDAV"
    /// It gets what is replaced under another name first.
    case unknown = "WebDAV, unknown server"
    case s3 = "S3"

    var testDescription: String { rawValue }
  }

  /// All that is ever asked of a folder.
  enum Act: CaseIterable {
    case list, read, stream, write, writeParts, remove
  }

  let kind: Kind
  let server: TestServer
  let folder: any Folder
  let clock = ManualClock(1_800_000_000_000)
  let pauses = HTTPSessionTests.PauseLog()
  /// What a server that is well answers.
  let good: TestServer.Handler
  /// A file behind everybody's back.
  let bytes: @Sendable (String) -> [UInt8]?
  let put: @Sendable (String, [UInt8]?) -> Void

  /// With one file in it, `d/there.head`, and the directory that it is in.
  init(_ kind: Kind, _ change: (inout ServerSettings) -> Void = { _ in }) async throws {
    self.kind = kind
    var settings = ServerSettings(credentials: .none)
    (settings.connectSeconds, settings.stallSeconds) = (600, 600)
    change(&settings)
    let (clock, pauses) = (clock, pauses)
    let machine = Machine(disk: PosixDisk(), clock: clock, random: SeededRandom(5))
    func session(_ authorizer: any HTTPAuthorizer) -> HTTPSession {
      HTTPSession(
        HTTPConnections(settings), settings, credentials: nil, authorizer: authorizer,
        ledger: BudgetLedger(clock: clock), machine: machine, pause: { pauses.add($0) })
    }
    if kind == .s3 {
      let memory = MemoryS3()
      good = { memory.answer($0) }
      bytes = { memory.bytes("f/" + $0) }
      put = { memory.put("f/" + $0, $1) }
      server = try TestServer(good)
      let address = try S3Address("s3://cairn/f?endpoint=\(server.origin)")
      folder = S3Folder(address, session(S3Authorizer(region: address.region)))
    } else {
      let name = kind == .unknown ? "Another/1" : "lighttpd/1.4.69"
      let memory = MemoryDAV(MemoryDAV.Manners(server: name))
      good = { memory.answer($0) }
      bytes = { memory.bytes("f/" + $0) }
      put = { memory.put("f/" + $0, $1) }
      server = try TestServer(good)
      folder = WebDAVFolder(
        try WebDAVAddress("webdav+\(server.origin)/f"), session(PlainAuthorizer()))
    }
    _ = try await folder.write("d/there.head", [1, 2, 3])
  }

  func heal() { server.handle(good) }

  /// Asks for something; the bytes or names that came of it.
  @discardableResult
  func run(_ act: Act) async throws(CairnError) -> [UInt8] {
    switch act {
    case .list: return Array(try await folder.list("d").map(\.name).joined().utf8)
    case .read: return try await folder.read("d/there.head", limit: 100) ?? []
    case .stream:
      var found: [UInt8] = []
      _ = try await folder.read("d/there.head", from: 0) { found += $0 }
      return found
    case .write: return [UInt8(try await folder.write("d/there.head", [4, 5]).size)]
    case .writeParts:
      let size = UInt64(BytesSource.large.count)
      let entry = try await folder.write(
        "d/large.snap", from: BytesSource(bytes: BytesSource.large))
      return entry.size == size ? [1] : []
    case .remove:
      try await folder.remove("d/there.head")
      return []
    }
  }

  /// Why something fails; nil if it does not.
  func failure(_ act: Act) async -> CairnError? {
    do throws(CairnError) {
      try await run(act)
      return nil
    } catch { return error }
  }
}
