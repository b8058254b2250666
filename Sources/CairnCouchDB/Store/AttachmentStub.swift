internal import Cairn

/// What a document says about one of its attachments.
struct AttachmentStub: Equatable {
  var name: String
  var type: String
  /// Bytes of the content, not packed.
  var length: Int64
  /// The generation of the revision in which it came or was changed.
  var position: Int64
  /// `md5-…`, of what the server keeps: the packed bytes, if it keeps it packed.
  var digest: String
  /// How the server keeps it: `gzip`.
  var encoding: String?
  /// Bytes that the server keeps, if they are packed.
  var encodedLength: Int64?

  /// What was packed before it was given to the server has one length there: the packed one.
  var isLengthPacked: Bool { encoding != nil && encodedLength == length }

  /// Bytes of what the server says of it in words.
  var textBytes: Int {
    [name, type, digest, encoding ?? ""].reduce(0) { $0 + $1.utf8.count }
  }

  /// All attachments of a document, by name.
  static func all(of document: JSONText) throws(CairnError) -> [AttachmentStub] {
    var stubs: [AttachmentStub] = []
    for member in try document.member("_attachments")?.members() ?? [] {
      guard let name = member.name.string else { continue }
      let value = member.value
      stubs.append(
        AttachmentStub(
          name: name,
          type: try value.member("content_type")?.string ?? "application/octet-stream",
          length: try value.member("length")?.int ?? 0,
          position: try value.member("revpos")?.int ?? 0,
          digest: try value.member("digest")?.string ?? "",
          encoding: try value.member("encoding")?.string,
          encodedLength: try value.member("encoded_length")?.int))
    }
    return stubs.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }
}
