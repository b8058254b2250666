internal import Cairn
internal import CairnHTTP

/// What S3 answers in XML: a page of a listing, an error, an upload that was begun. Values are kept
/// by the path of element names that leads to them.
struct S3Document: XMLSink {
  /// An object of a listing, as it stands there.
  struct Object: Equatable {
    var key = ""
    var size: UInt64 = 0
    var tag = ""
    /// When it was written.
    var time = ""

    /// What changes when it does.
    var version: String { S3Folder.version(size, tag: tag, time: time) }
  }

  /// An upload in parts that has not come to its end.
  struct Upload: Equatable {
    var key = ""
    var id = ""
    var begun = ""
  }

  private(set) var root = ""
  private(set) var uploads: [Upload] = []
  private var upload = Upload()
  private(set) var objects: [Object] = []
  private(set) var values: [String: String] = [:]
  private var object = Object()
  var source: XMLSource
  private var stack: [String] = []
  /// Pages have 1,000 objects; a server may be generous.
  private static let objectsMax = 100_000

  /// - Parameter bytesMax: Longer documents are none: a page of 1,000 objects has some 400 KB.
  init(bytesMax: Int = 16 << 20) { source = XMLSource(bytesMax: bytesMax) }

  /// The document of a body.
  init(_ bytes: [UInt8]) {
    self.init()
    let request = HTTPRequest("GET", "", "", accepted: [])
    // What can't be read has no values.
    do throws(HTTPFailure) { try take(bytes, request) } catch { values = [:] }
  }

  func check(_ request: HTTPRequest, root wanted: String) throws(HTTPFailure) {
    try checkComplete(request)
    guard root == wanted else {
      throw HTTPFailure(.foreign, request.label, "the answer is none of S3")
    }
  }

  mutating func handle(_ event: XMLReader.Event) throws(XMLReader.Failure) {
    switch event {
    case .start(let name, _):
      if stack.isEmpty { root = name }
      stack.append(name)
      if stack.count == 2, name == "Contents" { object = Object() }
      if stack.count == 2, name == "Upload" { upload = Upload() }
    case .end: try end()
    case .text: break
    }
  }

  private mutating func end() throws(XMLReader.Failure) {
    let path = stack.dropFirst().joined(separator: "/")
    _ = stack.popLast()
    let text = source.text
    switch path {
    case "Contents/Key": object.key = text
    case "Contents/Size": object.size = UInt64(text.trimmed) ?? 0
    case "Contents/ETag":
      object.tag = String(text.trimmed.filter { $0 != "\"" })
    case "Contents/LastModified": object.time = text.trimmed
    case "Contents":
      guard objects.count < S3Document.objectsMax else {
        throw XMLReader.Failure(reason: "more than \(S3Document.objectsMax) objects on a page")
      }
      // Nobody of ours writes longer ones.
      if object.key.utf8.count <= 3 * NameLimit.bytesMax, object.tag.utf8.count <= 256,
        object.time.utf8.count <= 256
      {
        objects.append(object)
      }
    case "Upload/Key": upload.key = text
    case "Upload/UploadId": upload.id = text
    case "Upload/Initiated": upload.begun = text.trimmed
    case "Upload": if uploads.count < S3Document.objectsMax { uploads.append(upload) }
    default:
      if stack.count == 1, values.count < 64 { values[path] = text }
    }
  }
}
