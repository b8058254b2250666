internal import Cairn
internal import CairnDisk
internal import CairnHTTP
internal import CairnLog
internal import Synchronization

/// Files that are sent in parts. What was sent when the connection broke for good is not sent again
/// by the next try.
extension S3Folder {
  /// So many of one file every server takes: Scaleway no more than these, others 10,000. Parts grow
  /// beyond the least only in files of more than 5 GB.
  private static let partsMax: UInt64 = 1000

  /// How large the parts of a file are.
  static func partBytes(of size: UInt64, least: UInt64) -> UInt64 {
    max(least, size / partsMax + (size % partsMax == 0 ? 0 : 1))
  }

  func write(
    _ path: String, from source: any FolderSource
  ) async throws(CairnError) -> FolderEntry {
    if source.size <= partBytes { return try await write(path, try source.read(0..<source.size)) }
    let part = S3Folder.partBytes(of: source.size, least: partBytes)
    let watched = WatchedSource(source)
    do throws(HTTPFailure) {
      var current: S3Uploads.Upload
      if let known = try await known(path, source.size, part) { current = known } else {
        current = S3Uploads.Upload(
          id: try await begin(path), size: source.size, partBytes: part, tags: [:])
      }
      var isSent = false
      let isComplete: Bool
      do throws(HTTPFailure) {
        try await send(&current, path, watched)
        isSent = true
        isComplete = try await complete(current, path)
      } catch {
        // Whoever can't read what is to be written leaves nothing of it; parts that the server
        // has lost, or calls otherwise now, would be refused again and again; and in a full bucket
        // those that have arrived take the room from what is small and still fits.
        if watched.hasFailed || isFull(error) || isSent && isFinal(error) {
          _ = await end(current.id, path)
        } else if error.kind != .status(404) {
          uploads.keep(current, path)
        }
        throw error
      }
      guard isComplete else {
        throw HTTPFailure(
          .cut, request("POST", path, accepted: []).label, "the upload is gone")
      }
    } catch {
      // Nowhere is what was left over in the way as it is here.
      if isFull(error) { await sweep() }
      throw failure(error, path)
    }
    await sweep()
    return try await look(path)
  }

  private func isFull(_ failure: HTTPFailure) -> Bool {
    S3Authorizer.isFull(failure) || failure.kind == .status(507)
  }

  /// Whether a request is refused for what is in it, and not for who has sent it.
  private func isFinal(_ failure: HTTPFailure) -> Bool {
    guard case .status(400..<500) = failure.kind, failure.kind != .status(407) else {
      return false
    }
    let authorizer = S3Authorizer(region: address.region)
    return !authorizer.isPassing(failure) && !authorizer.isRefusal(failure)
      && !S3Authorizer.isFull(failure)
  }

  /// Ends uploads of our files that nobody has ended for a week, by the server's clock: their parts
  /// cost room, and no listing shows them. Only here, since only large files are sent in parts.
  private func sweep() async {
    var request = HTTPRequest("GET", address.origin, address.bucketPath, accepted: [200])
    request.query = [("uploads", ""), ("prefix", address.prefix)]
    request.isWorthOneTry = true
    // What can't be ended is in nobody's way.
    do throws(HTTPFailure) {
      let answer = try await session.send(request) { S3Document() }
      guard let now = answer.reply.serverTime else { return }
      let abandoned = answer.sink.uploads.filter { upload in
        guard let time = HTTPDate.parseISO(upload.begun), upload.key.hasPrefix(address.prefix)
        else { return false }
        return now - time > S3Folder.abandonedMilliseconds
          && S3Folder.isOwn(S3Folder.name(upload.key))
      }
      for upload in abandoned.prefix(S3Folder.sweptMax) {
        let path = String(upload.key.dropFirst(address.prefix.count))
        guard await end(upload.id, path, isBegun: false) else { return }
      }
    } catch {}
  }

  /// Gives an upload up, with the parts that have arrived. One that can't be ended now is swept
  /// some time.
  ///
  /// - Parameter isBegun: It is this device's own, and ended whatever that costs.
  /// - Returns: Whether it is gone.
  private func end(_ id: String, _ path: String, isBegun: Bool = true) async -> Bool {
    var request = request("DELETE", path, accepted: [200, 204, 404])
    request.query = [("uploadId", id)]
    request.endsWhatWasBegun = isBegun
    request.isWorthOneTry = true
    do throws(HTTPFailure) {
      _ = try await session.send(request)
      return true
    } catch { return false }
  }

  /// What only we would call so: of all our files only these are large.
  private static func isOwn(_ name: String) -> Bool {
    FileName.sharedSnapshot(name) != nil || FileName.publishedBlob(name) != nil
  }

  private static let abandonedMilliseconds: Int64 = 7 * 86_400_000
  private static let sweptMax = 10

  private func begin(_ path: String) async throws(HTTPFailure) -> String {
    var request = request("POST", path, accepted: [200])
    request.query = [("uploads", "")]
    request.headers = [("Content-Type", "application/octet-stream")]
    let document = try await session.send(request) { S3Document() }.sink
    // Not every server calls the whole as Amazon does: what counts is in it.
    try document.check(request, root: document.root)
    guard let id = document.values["UploadId"], !id.isEmpty else {
      throw HTTPFailure(.foreign, request.label, "an upload without an id")
    }
    return id
  }

  /// An upload of the same file that did not come to its end, unless the server says that it does
  /// not know it. It is kept if the server can't be asked.
  private func known(
    _ path: String, _ size: UInt64, _ partBytes: UInt64
  ) async throws(HTTPFailure) -> S3Uploads.Upload? {
    guard let upload = uploads.take(path, size, partBytes) else { return nil }
    do throws(HTTPFailure) { return try await isThere(upload, path) ? upload : nil } catch {
      // Whoever may send parts need not be allowed to look at them, nor does each server show them.
      // That an upload is gone is found out by the next part then.
      if case .status = error.kind, !S3Authorizer(region: address.region).isPassing(error) {
        return upload
      }
      uploads.keep(upload, path)
      throw error
    }
  }

  /// Whether the server still knows an upload that was begun.
  private func isThere(
    _ upload: S3Uploads.Upload, _ path: String
  ) async throws(HTTPFailure) -> Bool {
    var request = request("GET", path, accepted: [200, 404])
    request.query = [("uploadId", upload.id), ("max-parts", "1")]
    return try await session.send(request).reply.status == 200
  }

  private func send(
    _ upload: inout S3Uploads.Upload, _ path: String, _ source: any FolderSource
  ) async throws(HTTPFailure) {
    var number = 0
    var start: UInt64 = 0
    while start < source.size {
      number += 1
      let end = min(source.size, start + upload.partBytes)
      var request = request("PUT", path, accepted: [200])
      let bytes: [UInt8]
      do { bytes = try source.read(start..<end) } catch {
        throw HTTPFailure(.settings(error), request.label, error.message)
      }
      start = end
      let hash = SignatureV4.md5(bytes)
      // Sent before, and still the same.
      if let known = upload.tags[number], known.hash == hash { continue }
      request.query = [("partNumber", String(number)), ("uploadId", upload.id)]
      request.headers = [("Content-MD5", Base64.encode(hash))]
      request.body = .bytes(bytes)
      let reply = try await session.send(request).reply
      guard let tag = reply["etag"], !tag.isEmpty else {
        throw HTTPFailure(.foreign, request.label, "a part without a tag")
      }
      upload.tags[number] = (tag, hash)
    }
  }

  /// What is said of parts that will never be put together.
  private static let partRefusals: Set<String> = [
    "InvalidPart", "InvalidPartOrder", "EntityTooSmall",
  ]

  /// Puts the parts together; false if the server does not know the upload (any more).
  private func complete(
    _ upload: S3Uploads.Upload, _ path: String
  ) async throws(HTTPFailure) -> Bool {
    var request = request("POST", path, accepted: [200, 404])
    request.query = [("uploadId", upload.id)]
    let parts = upload.tags.sorted { $0.key < $1.key }.map { number, part in
      let tag = part.tag.filter { $0 != "\"" && $0 != "<" && $0 != "&" }
      return "<Part><PartNumber>\(number)</PartNumber><ETag>\"\(tag)\"</ETag></Part>"
    }
    request.endsWhatWasBegun = true
    request.headers = [("Content-Type", "application/xml")]
    request.body = .bytes(
      Array(
        ("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
          + parts.joined() + "</CompleteMultipartUpload>").utf8))
    let answer = try await session.send(request) { S3Document() }
    // A server that finds out late that it can't says so with a success.
    let late = answer.sink.root == "Error" ? answer.sink.values["Code"] ?? "no reason" : nil
    if answer.reply.status == 404 || late == "NoSuchUpload" {
      // The first try may have completed it before its answer was lost; or there is still what
      // was to be replaced, which may have the same size.
      if answer.tries == 1 { return false }
      return try await isThere(path, upload)
    }
    if let late {
      let isFull = S3Authorizer.full.contains(late)
      throw HTTPFailure(
        .status(isFull ? 507 : S3Folder.partRefusals.contains(late) ? 422 : 500), request.label,
        "the upload was not completed: \(late)")
    }
    // Until it knows it sends spaces, which may be all that comes.
    if answer.sink.root.isEmpty, try await !isThere(path, upload) {
      throw HTTPFailure(.cut, request.label, "the answer ends before it says what became of it")
    }
    return true
  }
}

extension S3Folder {
  /// Whether an object is what an upload has sent: by its tag, and where that says nothing part by
  /// part.
  private func isThere(
    _ path: String, _ upload: S3Uploads.Upload
  ) async throws(HTTPFailure) -> Bool {
    let parts = upload.tags.sorted { $0.key < $1.key }.map(\.value)
    let reply = try await session.send(request("HEAD", path, accepted: [200, 404])).reply
    guard reply.status == 200, reply.length == upload.size else { return false }
    let tag = reply["etag"].map { $0.trimmed.filter { $0 != "\"" } }
    let whole = SignatureV4.hex(SignatureV4.md5(parts.flatMap(\.hash)))
    if tag == "\(whole)-\(parts.count)" { return true }
    let comparison = PartComparison(upload, parts.map(\.hash))
    let request = request("GET", path, accepted: [])
    do throws(HTTPFailure) {
      let isThere = try await session.read(request, from: 0, of: upload.size) {
        bytes throws(CairnError) in try comparison.take(bytes)
      }
      return isThere && comparison.isWhole
    } catch {
      if comparison.differs { return false }
      throw error
    }
  }
}

/// Compares an object with the parts that it should be of, a part in memory at a time.
private final class PartComparison {
  private let upload: S3Uploads.Upload
  private var hashes: ArraySlice<[UInt8]>
  private var part: [UInt8] = []
  private var count: UInt64 = 0
  private(set) var differs = false

  init(_ upload: S3Uploads.Upload, _ hashes: [[UInt8]]) {
    (self.upload, self.hashes) = (upload, hashes[...])
  }

  var isWhole: Bool { hashes.isEmpty && count == upload.size }

  /// Throws at the first difference: what follows would come for nothing.
  func take(_ bytes: [UInt8]) throws(CairnError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let length = min(upload.partBytes, upload.size - min(upload.size, count))
      let more = rest.prefix(Int(length) - part.count)
      part += more
      rest = rest.dropFirst(more.count)
      // Longer than it should be, or a part is whole.
      if length > 0, part.count < Int(length) { return }
      guard length > 0, hashes.popFirst() == SignatureV4.md5(part) else {
        differs = true
        throw CairnError(.cancelled, "it is another file")
      }
      count += length
      part = []
    }
  }
}

/// Uploads in parts that did not come to their end. Nothing here is needed for correctness.
final class S3Uploads: Sendable {
  struct Upload: Sendable {
    var id: String
    var size: UInt64
    var partBytes: UInt64
    /// What the server calls each part that it has, and what was in it.
    var tags: [Int: (tag: String, hash: [UInt8])]
  }

  private let uploads = Lock<[String: Upload]>([:])
  private static let countMax = 100

  func keep(_ upload: Upload, _ path: String) {
    uploads.withLock { uploads in
      if uploads.count >= S3Uploads.countMax { uploads = [:] }
      uploads[path] = upload
    }
  }

  func take(_ path: String, _ size: UInt64, _ partBytes: UInt64) -> Upload? {
    let found = uploads.withLock { $0.removeValue(forKey: path) }
    guard let found, found.size == size, found.partBytes == partBytes else { return nil }
    return found
  }
}
