internal import Cairn
internal import CairnHTTP
internal import Crypto

/// AWS's signature, version 4, in the form that S3 has: paths are encoded once.
struct SignatureV4 {
  var key: String
  var secret: String
  var region: String
  var service = "s3"

  /// The value of the header `Authorization`.
  ///
  /// - Parameters:
  ///   - headers: All that are signed, the host and the date among them.
  ///   - time: As in `x-amz-date`: `20130524T000000Z`.
  func authorization(
    method: String, path: String, query: [(name: String, value: String)],
    headers: [(name: String, value: String)], payloadHash: String, time: String
  ) -> String {
    let sorted = headers.map { ($0.name.lowercased(), $0.value.trimmed) }.sorted { $0.0 < $1.0 }
    let names = sorted.map(\.0).joined(separator: ";")
    let pairs = query.map {
      PercentCoding.encode($0.name) + "=" + PercentCoding.encode($0.value)
    }
    let canonical = [
      method, path, pairs.sorted().joined(separator: "&"),
      sorted.map { "\($0.0):\($0.1)\n" }.joined(), names, payloadHash,
    ].joined(separator: "\n")
    let day = String(time.prefix(8))
    let scope = "\(day)/\(region)/\(service)/aws4_request"
    let text = [
      "AWS4-HMAC-SHA256", time, scope, SignatureV4.hash(Array(canonical.utf8)),
    ].joined(separator: "\n")
    var signing = Array("AWS4\(secret)".utf8)
    for part in [day, region, service, "aws4_request"] {
      signing = SignatureV4.code(part, signing)
    }
    return "AWS4-HMAC-SHA256 Credential=\(key)/\(scope),SignedHeaders=\(names),Signature="
      + SignatureV4.hex(SignatureV4.code(text, signing))
  }

  private static func code(_ text: String, _ key: [UInt8]) -> [UInt8] {
    Array(
      HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key)))
  }

  /// SHA-256 in hexadecimal digits.
  static func hash(_ bytes: [UInt8]) -> String { hex(Array(SHA256.hash(data: bytes))) }

  /// MD5: what S3 calls the tag of a plain object. It detects accidents, not attackers.
  static func md5(_ bytes: [UInt8]) -> [UInt8] { Array(Insecure.MD5.hash(data: bytes)) }

  static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// Signs requests.
struct S3Authorizer: HTTPAuthorizer {
  let region: String

  /// S3 never says 401. A key that it does not know (any more) is 403, one that has run out 400;
  /// both may be without a word, as answers to HEAD are.
  func isRefusal(_ failure: HTTPFailure) -> Bool {
    if S3Authorizer.isFull(failure) { return false }
    let code = S3Document(failure.body).values["Code"]
    switch failure.kind {
    case .status(401): return true
    case .status(403): return code != "RequestTimeTooSkewed"
    case .status(400):
      return code.map { S3Authorizer.refusals.contains($0) } ?? failure.body.isEmpty
    default: return false
    }
  }

  func takes(_ kind: Credentials.Kind) -> Bool { kind == .accessKey }

  /// A server that has waited too long for the body, or is at something else with the same object.
  func isPassing(_ failure: HTTPFailure) -> Bool {
    if failure.isPassing { return true }
    guard failure.kind == .status(400) || failure.kind == .status(409),
      let code = S3Document(failure.body).values["Code"]
    else { return false }
    return S3Authorizer.passing.contains(code)
  }

  /// Whether there is no room: some servers say so with the status of a refusal.
  static func isFull(_ failure: HTTPFailure) -> Bool {
    guard case .status = failure.kind, let code = S3Document(failure.body).values["Code"] else {
      return false
    }
    return full.contains(code)
  }

  static let passing: Set<String> = ["RequestTimeout", "OperationAborted"]
  /// Of Ceph (403), MinIO (400 and 507) and Huawei (403).
  static let full: Set<String> = [
    "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull",
    "InsufficientStorageSpace",
  ]
  private static let refusals: Set<String> = [
    "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired",
    "InvalidAccessKeyId", "InvalidSecurity", "SignatureDoesNotMatch",
  ]

  func headers(
    for request: HTTPRequest, _ credentials: Credentials?, now: Int64
  ) throws(CairnError) -> [(name: String, value: String)] {
    // A bucket may be open to everybody.
    guard let credentials else { return [] }
    guard credentials.kind == .accessKey, let name = credentials.name else {
      throw CairnError(.auth, "a bucket wants an access key, and no password or token")
    }
    let key = try HTTPHeader.checked(name, "access key's id")
    let body: [UInt8] =
      switch request.body {
      case .none: []
      case .bytes(let bytes): bytes
      case .part(let source, let range): try source.read(range)
      }
    let payload = SignatureV4.hash(body)
    let time = HTTPDate.compact(now)
    var added = [("x-amz-content-sha256", payload), ("x-amz-date", time)]
    if let token = credentials.sessionToken {
      added.append(("x-amz-security-token", try HTTPHeader.checked(token, "session token")))
    }
    let start = request.origin.firstRange(of: "://")?.upperBound ?? request.origin.startIndex
    let authorization = SignatureV4(key: key, secret: credentials.secret, region: region)
      .authorization(
        method: request.method, path: request.path, query: request.query,
        headers: added + [("host", String(request.origin[start...]))], payloadHash: payload,
        time: time)
    return added.map { (name: $0.0, value: $0.1) } + [("Authorization", authorization)]
  }
}
