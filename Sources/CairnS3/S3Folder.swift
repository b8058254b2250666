internal import Cairn
internal import CairnDisk
internal import CairnHTTP
internal import Synchronization

/// A folder in an S3 bucket.
///
/// Objects appear whole or not at all, and the tag of a plain one is the MD5 of its bytes, so that
/// the answer to an upload says what arrived. Where it says nothing, the server has compared the
/// hash that came along; what it was sent more than once is looked at.
/// Conditional requests are honoured by some servers, refused by others and passed over by the
/// rest: nothing depends on them.
struct S3Folder: BudgetedFolder {
  let address: S3Address
  let session: HTTPSession
  let uploads = S3Uploads()
  /// Above this, files are sent in parts of this size: the least that every server takes, so that
  /// each finds room in a small budget.
  var partBytes: UInt64 = 5 << 20
  /// A listing has at most so many objects, and a page so many bytes.
  var listedMax = 1_000_000
  var pageBytesMax = 16 << 20
  /// Bytes of what is kept of all its pages: names may be as long as a page.
  var keptBytesMax = 512 << 20
  private static let pagesMax = 10_000

  init(_ address: S3Address, _ session: HTTPSession) {
    self.address = address
    self.session = session
  }

  var traffic: FolderTraffic? { session.meter.traffic }

  func onStall(_ tell: @escaping @Sendable (_ isStalled: Bool) -> Void) {
    session.meter.onStall(tell)
  }

  func request(_ method: String, _ path: String, accepted: Set<Int>) -> HTTPRequest {
    HTTPRequest(method, address.origin, address.path(path), accepted: accepted)
  }

  /// What the server says of itself when it refuses is more than its status.
  func failure(_ failure: HTTPFailure, _ path: String) -> CairnError {
    var failure = failure
    let values = S3Document(failure.body).values
    if let code = values["Code"], code.utf8.count <= 100 {
      failure.detail += " \(code)"
      if code == "RequestTimeTooSkewed" || session.clockAhead != 0 {
        let seconds = session.clockAhead / 1000
        failure.detail += " (the server's clock is \(seconds) seconds ahead of this device's)"
      }
      if code == "SlowDown" || code == "ServiceUnavailable" || S3Authorizer.passing.contains(code) {
        failure.kind = .status(503)
      }
      // Each server has a status of its own for it.
      if S3Authorizer.isFull(failure) { failure.kind = .status(507) }
      if code == "EntityTooLarge" { failure.kind = .status(413) }
      failure.detail += S3Folder.advice(values)
    }
    return CairnError(failure, file: path)
  }

  /// What the server says of the bucket that it knows, or else in words.
  private static func advice(_ values: [String: String]) -> String {
    if let region = values["Region"].map(shown), !region.isEmpty {
      return " (the bucket's region is \(region): give region=\(region) in the address)"
    }
    if let endpoint = values["Endpoint"].map(shown), !endpoint.isEmpty {
      return " (the bucket is at \(endpoint): give its endpoint or region in the address)"
    }
    guard let text = values["Message"].map(shown), !text.isEmpty else { return "" }
    return " (\(text))"
  }

  /// The beginning of a text of the server in one line, without what a terminal would obey.
  private static func shown(_ text: String) -> String {
    let scalars = text.trimmed.unicodeScalars.prefix(100).map { scalar -> Unicode.Scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: " "
      default: scalar
      }
    }
    return String(String.UnicodeScalarView(scalars))
  }

  /// Where an object has no tag, its time is all that tells one content from another of the same
  /// size. Listings and answers write it in different ways: what was just written is read back by
  /// the next look then, once.
  static func version(_ size: UInt64, tag: String, time: String) -> String {
    "\(size) \(tag.isEmpty ? time : tag)"
  }

  // MARK: listing

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    let prefix = address.prefix + (directory.isEmpty ? "" : directory + "/")
    var entries: [FolderEntry] = []
    var names: Set<String> = []
    var token: String?
    var kept = 0
    for _ in 0..<S3Folder.pagesMax {
      let page = try await page(prefix, token, directory)
      let isEncoded = page.values["EncodingType"] == "url"
      for object in page.objects {
        // A plus stands for itself. Some servers mean a space by it; our own names have neither.
        guard let key = isEncoded ? PercentCoding.decode(object.key) : object.key,
          key.hasPrefix(prefix)
        else { continue }
        let name = String(key.dropFirst(prefix.count))
        guard !name.isEmpty, !name.contains("/"), names.insert(name).inserted else { continue }
        kept += name.utf8.count + object.version.utf8.count
        guard kept <= keptBytesMax else { throw S3Folder.endless(directory) }
        entries.append(
          FolderEntry(name: name, size: object.size, version: object.version))
      }
      guard page.values["IsTruncated"]?.trimmed == "true" else {
        return entries.sorted { $0.name < $1.name }
      }
      let next = page.values["NextContinuationToken"]
      guard let next, !next.isEmpty, next != token, entries.count <= listedMax else { break }
      token = next
    }
    throw S3Folder.endless(directory)
  }

  private static func endless(_ directory: String) -> CairnError {
    CairnError(
      .response, "the listing of \(directory) has no end; is this server one of S3?",
      file: directory)
  }

  private func page(
    _ prefix: String, _ token: String?, _ directory: String
  ) async throws(CairnError) -> S3Document {
    var request = HTTPRequest("GET", address.origin, address.bucketPath, accepted: [200])
    request.query = [("list-type", "2"), ("delimiter", "/"), ("prefix", prefix)]
    if let token { request.query.append(("continuation-token", token)) }
    do throws(HTTPFailure) {
      let page = try await session.send(request) { S3Document(bytesMax: pageBytesMax) }.sink
      try page.check(request, root: "ListBucketResult")
      return page
    } catch { throw failure(error, directory) }
  }

  // MARK: reading

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    let request = request("GET", path, accepted: [200])
    do throws(HTTPFailure) {
      return try await session.send(request, limit: limit).sink.bytes
    } catch {
      if isMissing(error) { return nil }
      throw failure(error, path)
    }
  }

  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    do throws(HTTPFailure) {
      let request = request("GET", path, accepted: [])
      return try await session.read(request, from: offset, missing: [], body)
    } catch {
      if isMissing(error) { return false }
      throw failure(error, path)
    }
  }

  /// The object, and not the bucket.
  private func isMissing(_ failure: HTTPFailure) -> Bool {
    guard failure.kind == .status(404) else { return false }
    return S3Document(failure.body).values["Code"] != "NoSuchBucket"
  }

  // MARK: writing

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    try await write(path, bytes, need: .waits)
  }

  func write(
    _ path: String, _ bytes: [UInt8], need: BudgetNeed
  ) async throws(CairnError) -> FolderEntry {
    var request = request("PUT", path, accepted: [200, 201, 204])
    let hash = SignatureV4.md5(bytes)
    // The server refuses what arrived otherwise.
    request.headers = [
      ("Content-Type", "application/octet-stream"), ("Content-MD5", Base64.encode(hash)),
    ]
    request.body = .bytes(bytes)
    request.need = need
    let size = UInt64(bytes.count)
    do throws(HTTPFailure) {
      let answer = try await session.send(request)
      let tag = answer.reply["etag"].map { $0.trimmed.filter { $0 != "\"" } }
      if let tag, tag == SignatureV4.hex(hash) || answer.tries == 1 && !tag.isEmpty {
        return FolderEntry(name: S3Folder.name(path), size: size, version: "\(size) \(tag)")
      }
    } catch { throw failure(error, path) }
    return try await look(path)
  }

  static func name(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// An object as it is there, after it was written.
  func look(_ path: String) async throws(CairnError) -> FolderEntry {
    var request = request("HEAD", path, accepted: [200])
    request.endsWhatWasBegun = true
    do throws(HTTPFailure) {
      let reply = try await session.send(request).reply
      let size = reply.length ?? 0
      let tag = reply["etag"].map { $0.trimmed.filter { $0 != "\"" } } ?? ""
      return FolderEntry(
        name: S3Folder.name(path), size: size,
        version: S3Folder.version(size, tag: tag, time: reply["last-modified"] ?? ""))
    } catch { throw failure(error, path) }
  }

  // MARK: removing

  func remove(_ path: String) async throws(CairnError) {
    let request = request("DELETE", path, accepted: [200, 202, 204])
    do throws(HTTPFailure) { _ = try await session.send(request) } catch {
      if isMissing(error) { return }
      throw failure(error, path)
    }
  }
}
