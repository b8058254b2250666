import Testing

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3
@testable import CairnWebDAV

/// The examples of AWS's documentation: "Signature Calculations for the Authorization Header".
@Suite struct SignatureTests {
  static let signer = SignatureV4(
    key: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    region: "us-east-1")
  static let time = "20130524T000000Z"
  static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  static let host = "examplebucket.s3.amazonaws.com"

  func signature(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], payload: String = empty
  ) -> String {
    let all =
      headers + [
        ("Host", Self.host), ("x-amz-content-sha256", payload), ("x-amz-date", Self.time),
      ]
    let value = Self.signer.authorization(
      method: method, path: path, query: query, headers: all, payloadHash: payload,
      time: Self.time)
    return String(value.split(separator: "=").last ?? "")
  }

  @Test func `an object's first bytes`() {
    #expect(
      signature("GET", "/test.txt", headers: [("Range", "bytes=0-9")])
        == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
  }

  @Test func `an object is put`() {
    let hash = SignatureV4.hash(Array("Welcome to Amazon S3.".utf8))
    #expect(hash == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
    #expect(
      signature(
        "PUT", "/" + PercentCoding.encode("test$file.text"),
        headers: [
          ("Date", "Fri, 24 May 2013 00:00:00 GMT"),
          ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ], payload: hash)
        == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
  }

  @Test func `a property of a bucket`() {
    #expect(
      signature("GET", "/", query: [("lifecycle", "")])
        == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
  }

  @Test func `a listing`() {
    #expect(
      signature("GET", "/", query: [("max-keys", "2"), ("prefix", "J")])
        == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
  }

  @Test func `what is signed is what is sent`() throws {
    var request = HTTPRequest("GET", "https://host:9000", "/b/k%20k", accepted: [])
    request.query = [("prefix", "a/b"), ("list-type", "2")]
    let headers = try S3Authorizer(region: "eu-central-1").headers(
      for: request, .accessKey(id: "id", secret: "secret", sessionToken: "token"),
      now: 1_369_353_600_000)
    let names = headers.map { $0.name.lowercased() }
    #expect(names.contains("x-amz-security-token"))
    let value = try #require(headers.last?.value)
    #expect(value.contains("Credential=id/20130524/eu-central-1/s3/aws4_request"))
    #expect(
      value.contains(
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token"))
    #expect(!value.contains("secret"))
    #expect(request.url == "https://host:9000/b/k%20k?prefix=a%2Fb&list-type=2")
    #expect(throws: CairnError.self) {
      try S3Authorizer(region: "r").headers(for: request, .bearer("t"), now: 0)
    }
  }

  @Test(
    arguments: [
      ("https://h:443", "https://h"), ("http://127.0.0.1:80", "http://127.0.0.1"),
      ("https://h:80", "https://h:80"), ("http://127.0.0.1:443", "http://127.0.0.1:443"),
    ])
  func `a port that goes without saying is neither sent nor signed`(
    _ endpoint: String, _ origin: String
  ) throws {
    let address = try S3Address("s3://bucket?endpoint=\(endpoint)")
    #expect(address.origin == origin)
    // The library leaves it out of the header Host, and the header is what is signed.
    #expect(try WebDAVAddress("webdav+" + endpoint).origin == origin)
  }

  @Test func `addresses of buckets`() throws {
    let plain = try S3Address("s3://bucket/a/b")
    #expect(plain.origin == "https://bucket.s3.us-east-1.amazonaws.com")
    #expect(plain.path("d/x.seg") == "/a/b/d/x.seg")
    #expect(plain.bucketPath == "/")
    let own = try S3Address("s3://bucket?endpoint=https://s3.example:9000&region=eu-west-1")
    #expect(own.origin == "https://s3.example:9000")
    #expect(own.path("x.seg") == "/bucket/x.seg")
    #expect(own.region == "eu-west-1")
    let host = try S3Address("s3://bucket?endpoint=https://s3.example&style=host")
    #expect(host.origin == "https://bucket.s3.example")
    for bad in [
      "s3://b", "s3://bucket?endpoint=http://s3.example", "s3://bucket?endpoint=s3.example",
      "s3://bucket?style=other", "s3://bucket?region=", "s3://bucket?what=x", "s3://bucket:80/",
      "s3://bucket?endpoint=https://host/path", "https://bucket/",
      "s3://bucket?endpoint=http://127.0.0.1:9000&style=host",
      "s3://bucket?endpoint=http://localhost&style=host",
    ] {
      #expect(throws: CairnError.self) { try S3Address(bad) }
    }
  }
}
