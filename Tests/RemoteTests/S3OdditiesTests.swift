import TestSupport
import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import TestServers

/// What some buckets say otherwise than Amazon's, and how they are called.
@Suite struct S3OdditiesTests {
  /// What a write throws if everything is answered like that, and how often anybody was asked who
  /// we are.
  private func refusal(
    _ status: Int, _ body: String
  ) async throws -> (error: CairnError?, requests: Int, askings: Int) {
    let server = try TestServer { _ in
      .text(status, "<?xml version=\"1.0\"?><Error>\(body)</Error>", type: "application/xml")
    }
    let askings = Shared(0)
    var settings = ServerSettings.test
    settings.credentials = .closure { () async throws(CairnError) in
      askings.value += 1
      return .accessKey(id: "id", secret: "secret", sessionToken: "\(askings.value)")
    }
    let folder = try FolderKind.s3(settings).open("s3://cairn/f?endpoint=\(server.origin)")
    let error = await #expect(throws: CairnError.self) { try await folder.write("d/a", [1]) }
    return (error, server.count, askings.value)
  }

  // MARK: refusals

  @Test(
    arguments: [
      (403, "QuotaExceeded"), (400, "XMinioAdminBucketQuotaExceeded"),
      (507, "XMinioStorageFull"), (403, "InsufficientStorageSpace"),
    ])
  func `a bucket that is full has nothing against the credentials`(
    _ status: Int, _ code: String
  ) async throws {
    let answer = try await refusal(status, "<Code>\(code)</Code>")
    #expect(answer.error?.code == .quota)
    #expect(answer.error?.message.contains(code) == true)
    #expect(answer.requests == 1 && answer.askings == 1)
  }

  @Test func `a file that is too large for a bucket is told as such`() async throws {
    let answer = try await refusal(400, "<Code>EntityTooLarge</Code>")
    #expect(answer.error?.code == .sizeLimit)
  }

  @Test(
    arguments: [
      ("<Code>AuthorizationHeaderMalformed</Code><Region>eu-central-1</Region>",
        "give region=eu-central-1"),
      ("<Code>PermanentRedirect</Code><Endpoint>b.s3-eu-west-1.example</Endpoint>",
        "the bucket is at b.s3-eu-west-1.example"),
      ("<Code>NoSuchThing</Code><Message> There is&#10;no&#27;[31m such thing </Message>",
        "(There is no [31m such thing)"),
      ("<Code>Long</Code><Message>\(String(repeating: "x", count: 200))</Message>",
        "(\(String(repeating: "x", count: 100)))"),
    ])
  func `what a bucket says of its region, or in words, is told`(
    _ body: String, _ expected: String
  ) async throws {
    let message = try #require(await refusal(400, body).error?.message)
    #expect(message.contains(expected), "\(message)")
    #expect(message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
  }

  // MARK: versions

  @Test func `where objects have no tags their times tell one from another`() async throws {
    let time = Shared("2027-01-15T08:00:00.123Z")
    let server = try TestServer { asked in
      asked.method == "HEAD"
        ? .answer(
          200, [("Content-Length", "5"), ("Last-Modified", "Fri, 15 Jan 2027 08:00:00 GMT")])
        : .text(
          200,
          "<ListBucketResult><Contents><Key>f/d/a</Key><LastModified>\(time.value)</LastModified>"
            + "<ETag></ETag><Size>5</Size></Contents></ListBucketResult>", type: "application/xml")
    }
    let kind = FolderKind.s3(.test)
    let folder = try #require(try kind.open("s3://cairn/f?endpoint=\(server.origin)") as? S3Folder)
    let first = try await folder.list("d")
    #expect(try await folder.list("d") == first)
    time.value = "2027-01-15T08:00:00.124Z"
    #expect(try await folder.list("d") != first)
    #expect(try await folder.look("d/a").version == "5 Fri, 15 Jan 2027 08:00:00 GMT")
  }

  // MARK: addresses

  @Test(
    arguments: [
      ("s3://my.bucket/a", "https://s3.us-east-1.amazonaws.com", "/my.bucket/a/x"),
      ("s3://my_bucket/a", "https://s3.us-east-1.amazonaws.com", "/my_bucket/a/x"),
      ("s3://my.bucket/a?style=host", "https://my.bucket.s3.us-east-1.amazonaws.com", "/a/x"),
      ("s3://bucket/a?style=path", "https://s3.us-east-1.amazonaws.com", "/bucket/a/x"),
      // In a path capitals are others; in a host's name they are not.
      ("s3://Old_Bucket?endpoint=https://h", "https://h", "/Old_Bucket/x"),
      ("s3://Bucket", "https://bucket.s3.us-east-1.amazonaws.com", "/x"),
    ])
  func `a bucket that can't be part of a host's name is in the path`(
    _ text: String, _ origin: String, _ path: String
  ) throws {
    let address = try S3Address(text)
    #expect(address.origin == origin)
    #expect(address.path("x") == path)
  }
}
