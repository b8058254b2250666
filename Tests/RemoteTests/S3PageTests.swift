import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import TestServers

/// Pages of listings of buckets.
@Suite struct S3PageTests {
  private func page(_ content: String) -> Reply {
    .text(200, "<ListBucketResult>\(content)</ListBucketResult>", type: "application/xml")
  }

  private func object(_ name: String) -> String {
    "<Contents><Key>f/d/\(name)</Key><Size>1</Size></Contents>"
  }

  private func folder(_ server: TestServer) throws -> any Folder {
    try FolderKind.s3(.test).open("s3://cairn/f?endpoint=\(server.origin)")
  }

  /// What is not in a listing is gone, for whoever looks for it.
  @Test(arguments: ["", "<NextContinuationToken/>", "<NextMarker>f/d/a.seg</NextMarker>"])
  func `a page that goes on, and does not say where, is not the end of a listing`(
    _ token: String
  ) async throws {
    let reply = page(object("a.seg") + "<IsTruncated>\n true </IsTruncated>" + token)
    let server = try TestServer { _ in reply }
    let folder = try folder(server)
    let error = await #expect(throws: CairnError.self) { try await folder.list("d") }
    #expect(error?.code == .response)
    #expect(error?.file == "d")
    #expect(server.count == 1)
  }
}
