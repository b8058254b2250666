import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

extension FolderWorkbench {
  /// The directory of the blobs in the folder.
  var blobs: String { folder + "/b-p-" + id }
  /// Names of the blobs in the folder, of one device or all.
  func blobs(of device: Datastore? = nil) throws -> [String] {
    try names(blobs, ".blob").filter { device == nil || $0.hasPrefix(device?.device ?? "") }
  }
  /// Files of contents that a device has.
  func contents(_ device: String) throws -> [String] { try names(home(device)) }
  func home(_ device: String) -> String { root(device) + "/p-\(id)/blobs" }

  /// A device with a policy of its own.
  func open(_ device: String, _ policy: AttachmentPolicy) throws -> Datastore {
    let before = options.attachments
    options.attachments = policy
    defer { options.attachments = before }
    return try open(device)
  }
}

extension Datastore {
  /// Inserts a record with an attachment, and commits it.
  @discardableResult
  func addPhoto(_ id: String, _ bytes: [UInt8]) throws -> Cairn.Attachment {
    let attachment = try attach(bytes)
    try table("t").insert(["photo": attachment.value], id: RecordID(id))
    try sync()
    return attachment
  }

  func photo(_ id: String) throws -> Cairn.Attachment {
    let record = try #require(try table("t").record(RecordID(id)))
    return try #require(try record.attachment("photo"))
  }

  /// The content of a record's attachment, if it is here.
  func content(of id: String) throws -> [UInt8]? {
    let photo = try photo(id)
    return try photo.state == .here ? photo.bytes() : nil
  }

  /// Two rounds and what they bring: deltas, and then the contents that they name.
  @discardableResult
  func pullAll() async throws -> ExchangeReport {
    try await pull()
    return try await pull()
  }
}

/// Bytes that are another content for each seed.
func sample(_ seed: UInt64, _ count: Int = 3000) -> [UInt8] { SeededRandom(seed).bytes(count) }
