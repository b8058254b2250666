internal import Cairn
internal import CairnHTTP
internal import Crypto

/// Takes the content of an attachment from an answer: unpacks it, if it is packed, and finds out
/// whether it is what the document says.
struct AttachmentSink: HTTPSink {
  private let vault: ContentVault
  private let attachment: AttachmentStub
  private let received: @Sendable (Int) -> Void
  private var draft: AttachmentDraft?
  private var gzip: GzipReader?
  /// Of the bytes as they came, and of those that they stand for.
  private var (raw, plain) = (Insecure.MD5(), Insecure.MD5())
  private var count: Int64 = 0
  private var rawCount: Int64 = 0
  private let (plainMax, rawMax): (Int64, Int64)
  /// Packing makes nothing twice as long, but for what is short.
  private static let rawSlack: Int64 = 1 << 20

  init(
    _ attachment: AttachmentStub, _ vault: ContentVault,
    _ received: @escaping @Sendable (Int) -> Void
  ) {
    self.attachment = attachment
    self.vault = vault
    self.received = received
    plainMax = attachment.isLengthPacked ? vault.limit : attachment.length
    let length = min(max(0, attachment.length, attachment.encodedLength ?? 0), Int64.max / 4)
    rawMax = 2 * length + AttachmentSink.rawSlack
  }

  mutating func begin(_ reply: HTTPReply, _ request: HTTPRequest) throws(HTTPFailure) {
    let encoding = reply["content-encoding"]?.lowercased() ?? "identity"
    guard encoding == "identity" || encoding == "gzip" || encoding == "x-gzip" else {
      throw HTTPFailure.unexpected(request, "it is packed as \(encoding)")
    }
    if encoding != "identity" { gzip = GzipReader() }
    do { draft = try vault.begin() } catch {
      throw HTTPFailure(.settings(error), request.label, error.message)
    }
  }

  mutating func take(_ bytes: [UInt8], _ request: HTTPRequest) throws(HTTPFailure) {
    received(bytes.count)
    raw.update(data: bytes)
    rawCount += Int64(bytes.count)
    do throws(CairnError) {
      // Packed bytes that stand for nothing could go on for ever.
      if rawCount > rawMax {
        throw CairnError(.corrupt, "more than \(rawMax) bytes came of a packed attachment")
      }
      if var gzip {
        try gzip.feed(bytes) { out throws(CairnError) in try keep(out) }
        self.gzip = gzip
      } else {
        try keep(bytes)
      }
    } catch { throw HTTPFailure(.settings(error), request.label, error.message) }
  }

  private mutating func keep(_ bytes: [UInt8]) throws(CairnError) {
    plain.update(data: bytes)
    count += Int64(bytes.count)
    guard count <= plainMax else {
      throw CairnError(
        .corrupt, "more than the \(plainMax) bytes of the attachment came")
    }
    try draft?.write(bytes)
  }

  /// All has come: what the record has to hold of it.
  ///
  /// What the server keeps packed has the digest of the packed bytes. If it was unpacked on the way
  /// only its length can be told; everything else has to have its digest.
  func finish() throws(CairnError) -> Value {
    do throws(CairnError) {
      try gzip?.finish()
      if attachment.isLengthPacked, gzip == nil {
        throw CairnError(
          .corrupt,
          "the attachment came unpacked, and the server knows only its packed length: nothing says "
            + "whether it is whole")
      }
      let came = attachment.isLengthPacked ? rawCount : count
      guard came == attachment.length else {
        throw CairnError(.corrupt, "\(came) of \(attachment.length) bytes of the attachment came")
      }
      let wanted = attachment.digest
      if wanted.hasPrefix("md5-"), gzip != nil || attachment.encoding == nil {
        guard [raw, plain].contains(where: { AttachmentSink.digest($0) == wanted }) else {
          throw CairnError(
            .corrupt, "the bytes of the attachment are not those of its digest \(wanted)")
        }
      }
      guard let draft else { throw CairnError(.internal, "the attachment was not begun") }
      return try draft.finish().value
    } catch {
      cancel()
      throw error
    }
  }

  func cancel() { draft?.cancel() }

  private static func digest(_ hash: Insecure.MD5) -> String {
    var bytes: [UInt8] = []
    bytes.append(contentsOf: hash.finalize())
    return "md5-" + Base64.encode(bytes)
  }
}
