import CairnDisk
import Foundation
import Synchronization

@testable import CairnS3
@testable import TestServers

/// An S3 server in memory. It checks no signature: moto does that.
final class MemoryS3: Sendable {
  struct Manners: Sendable {
    var pageSize = 1000
    /// A part is answered with 200 and says which it is, as some servers do.
    var partsAreWhole = false
    var conditions = ConditionalWrites.honoured
    /// The tag of an object is its MD5; if not, it says nothing.
    var tagsAreHashes = true
    var encodesKeys = true
    /// The first so many completions of uploads fail with a success that is none.
    var lateErrors = 0
    var lateCode = "InternalError"
  }

  private struct State {
    var objects: [String: [UInt8]] = [:]
    var uploads: [String: [Int: [UInt8]]] = [:]
    /// Of each upload its key, and when it began.
    var begun: [String: (key: String, time: String)] = [:]
    var counter = 0
    var lateErrors = 0
  }

  let bucket = "cairn"
  let manners: Manners
  private let state = Lock(State())

  init(_ manners: Manners = Manners()) {
    self.manners = manners
    state.withLock { $0.lateErrors = manners.lateErrors }
  }

  var names: [String] { state.withLock { $0.objects.keys.sorted() } }
  func bytes(_ key: String) -> [UInt8]? { state.withLock { $0.objects[key] } }
  func put(_ key: String, _ bytes: [UInt8]?) { state.withLock { $0.objects[key] = bytes } }
  var uploads: [String] { state.withLock { $0.uploads.keys.sorted() } }
  /// An upload that somebody has begun.
  func begin(_ id: String, _ key: String, _ time: String) {
    state.withLock { ($0.uploads[id], $0.begun[id]) = ([:], (key, time)) }
  }
  /// Bytes that all objects take, and all parts of uploads.
  var storedBytes: Int {
    state.withLock { state in
      let parts = state.uploads.values.flatMap(\.values)
      return state.objects.values.reduce(0) { $0 + $1.count } + parts.reduce(0) { $0 + $1.count }
    }
  }
  func forgetUploads() { state.withLock { $0.uploads = [:] } }

  func answer(_ asked: Asked) -> Reply { state.withLock { answer(asked, &$0) } }

  private func answer(_ asked: Asked, _ state: inout State) -> Reply {
    let parts = asked.path.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.first == bucket else { return MemoryS3.error(404, "NoSuchBucket") }
    guard parts.count == 2 else {
      return asked.query["uploads"] != nil ? listUploads(state) : list(asked.query, state)
    }
    let key = parts[1]
    if let id = asked.query["uploadId"] { return part(asked, key, id, &state) }
    switch asked.method {
    case "POST" where asked.query["uploads"] != nil:
      state.counter += 1
      let id = "upload \(state.counter)"
      state.uploads[id] = [:]
      state.begun[id] = (key, "2027-01-15T08:00:00.000Z")
      return MemoryS3.xml("InitiateMultipartUploadResult", "<UploadId>\(id)</UploadId>")
    case "PUT":
      if asked["if-none-match"] == "*" {
        if manners.conditions == .unsupported { return MemoryS3.error(501, "NotImplemented") }
        if manners.conditions == .honoured, state.objects[key] != nil {
          return MemoryS3.error(412, "PreconditionFailed")
        }
      }
      if let sum = asked["content-md5"],
        sum != Data(SignatureV4.md5(asked.body)).base64EncodedString()
      {
        return MemoryS3.error(400, "BadDigest")
      }
      state.objects[key] = asked.body
      return .answer(200, [("ETag", tag(asked.body))])
    case "GET", "HEAD":
      guard let bytes = state.objects[key] else { return MemoryS3.error(404, "NoSuchKey") }
      if asked.method == "HEAD" {
        return .answer(200, [("ETag", tag(bytes)), ("Content-Length", "\(bytes.count)")])
      }
      let reply = MemoryDAV.part(of: bytes, asked["range"], tag(bytes))
      if case .answer(206, let headers, let body) = reply, manners.partsAreWhole {
        return .answer(200, headers, body)
      }
      return reply
    case "DELETE":
      state.objects[key] = nil
      return .answer(204)
    default: return MemoryS3.error(405, "MethodNotAllowed")
    }
  }

  private func part(_ asked: Asked, _ key: String, _ id: String, _ state: inout State) -> Reply {
    guard let upload = state.uploads[id] else { return MemoryS3.error(404, "NoSuchUpload") }
    switch asked.method {
    case "PUT":
      guard let number = asked.query["partNumber"].flatMap({ Int($0) }) else {
        return MemoryS3.error(400, "InvalidArgument")
      }
      state.uploads[id]?[number] = asked.body
      return .answer(200, [("ETag", tag(asked.body))])
    case "POST":
      if state.lateErrors > 0 {
        state.lateErrors -= 1
        return MemoryS3.xml("Error", "<Code>\(manners.lateCode)</Code>")
      }
      let text = String(decoding: asked.body, as: UTF8.self)
      let numbers = text.matches(of: /<PartNumber>([0-9]+)</).compactMap { Int($0.output.1) }
      guard numbers == numbers.sorted(), numbers.allSatisfy({ upload[$0] != nil }) else {
        return MemoryS3.error(400, "InvalidPart")
      }
      state.objects[key] = numbers.flatMap { upload[$0] ?? [] }
      state.uploads[id] = nil
      return MemoryS3.xml("CompleteMultipartUploadResult", "<Key>\(key)</Key>")
    case "GET": return MemoryS3.xml("ListPartsResult", "")
    default:
      state.uploads[id] = nil
      return .answer(204)
    }
  }

  private func listUploads(_ state: State) -> Reply {
    let all = state.uploads.keys.sorted().map { id in
      "<Upload><Key>\(state.begun[id]?.key ?? "")</Key><UploadId>\(id)</UploadId>"
        + "<Initiated>\(state.begun[id]?.time ?? "")</Initiated></Upload>"
    }
    let reply = MemoryS3.xml("ListMultipartUploadsResult", all.joined())
    guard case .answer(let status, let headers, let body) = reply else { return reply }
    return .answer(status, headers + [("Date", "Fri, 15 Jan 2027 08:00:00 GMT")], body)
  }

  private func list(_ query: [String: String], _ state: State) -> Reply {
    let prefix = query["prefix"] ?? ""
    let start = query["continuation-token"] ?? ""
    let all = state.objects.keys.sorted().filter {
      $0.hasPrefix(prefix) && $0 > start && !$0.dropFirst(prefix.count).contains("/")
    }
    let page = all.prefix(manners.pageSize)
    let isEncoded = manners.encodesKeys && query["encoding-type"] == "url"
    var xml = "<IsTruncated>\(page.count < all.count)</IsTruncated>"
    if isEncoded { xml += "<EncodingType>url</EncodingType>" }
    if page.count < all.count, let last = page.last {
      xml += "<NextContinuationToken>\(MemoryS3.escaped(last))</NextContinuationToken>"
    }
    for key in page {
      let bytes = state.objects[key] ?? []
      let quoted = tag(bytes).replacing("\"", with: "&quot;")
      xml += "<Contents><Key>\(MemoryS3.escaped(key))</Key><ETag>\(quoted)</ETag>"
      xml += "<Size>\(bytes.count)</Size></Contents>"
    }
    return MemoryS3.xml("ListBucketResult", xml)
  }

  private func tag(_ bytes: [UInt8]) -> String {
    let hash = SignatureV4.hex(SignatureV4.md5(bytes))
    return manners.tagsAreHashes ? "\"\(hash)\"" : "\"x\(hash.prefix(8))-1\""
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
  }

  private static func xml(_ root: String, _ inner: String) -> Reply {
    let space = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""
    let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<\(root) \(space)>\(inner)</\(root)>"
    return .text(200, text, type: "application/xml")
  }

  private static func error(_ status: Int, _ code: String) -> Reply {
    .text(
      status, "<?xml version=\"1.0\"?><Error><Code>\(code)</Code></Error>", type: "application/xml")
  }
}
