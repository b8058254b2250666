import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Attachments of a datastore that has no folder.
@Suite struct AttachmentTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  private func open(_ options: Options = Options()) throws -> Datastore {
    try DatastoreManager(root: place.path("root"), options: options).openDefaultDatastore()
  }

  private var home: String { place.path("root/p-default/blobs") }

  private func names() throws -> [String] {
    let disk = PosixDisk()
    return try disk.info(home) == nil ? [] : try disk.list(home).map(\.name)
  }

  private func overwrite(_ name: String, _ bytes: [UInt8]) throws {
    let file = try PosixDisk().open(home + "/" + name, .readWrite)
    try file.truncate(to: 0)
    try file.write(bytes.span, at: 0)
    file.close()
  }

  @Test(arguments: [0, 1, 63, 64, 65, 262_143, 262_144, 262_145, 1_000_000])
  func `what was attached can be read, before and after reopening`(count: Int) throws {
    let bytes = sample(1, count)
    let datastore = try open()
    let attachment = try datastore.attach(bytes)
    #expect(attachment.length == UInt64(count) && attachment.id.sha256 == SHA256.hash(bytes).hex)
    #expect(try attachment.state == .here)
    #expect(try attachment.bytes() == bytes)
    try datastore.table("t").insert(["photo": attachment.value], id: "r")
    try datastore.sync()
    try datastore.close()
    let again = try open()
    #expect(try again.photo("r").id == attachment.id)
    #expect(try again.content(of: "r") == bytes)
    var pieces: [Int] = []
    var read: [UInt8] = []
    try again.photo("r").read {
      pieces.append($0.count)
      read += $0
    }
    #expect(read == bytes && pieces.allSatisfy { $0 > 0 && $0 <= 262_144 })
    try again.close()
  }

  @Test func `a writer that failed attaches nothing, whatever its owner makes of that`() throws {
    var options = Options()
    options.limits.attachmentBytes = 100
    let datastore = try open(options)
    let error = #expect(throws: CairnError.self) {
      _ = try datastore.attach { writer throws(CairnError) in
        try writer.write(sample(1, 60))
        do { try writer.write(sample(2, 60)) } catch {}
        do { try writer.write(sample(3, 10)) } catch {}
      }
    }
    #expect(error?.code == .sizeLimit)
    #expect(try names().isEmpty)
    try datastore.close()
  }

  @Test func `an id has one text only`() throws {
    let datastore = try open()
    let text = try datastore.attach([1]).id.description
    #expect(AttachmentID(text)?.description == text)
    let parts = text.split(separator: "-")
    for other in [text.uppercased(), "\(parts[0])-+1", "\(parts[0])-01", " " + text, text + "-"] {
      #expect(AttachmentID(other) == nil)
    }
    try datastore.close()
  }

  @Test func `bytes, pieces, a stream and a file give the same attachment, kept once`()
    async throws
  {
    let bytes = sample(2, 700_000)
    let datastore = try open()
    let whole = try datastore.attach(bytes)
    let pieces = try datastore.attach { writer throws(CairnError) in
      for start in stride(from: 0, to: bytes.count, by: 70_001) {
        try writer.write([UInt8](bytes[start..<min(bytes.count, start + 70_001)]))
      }
    }
    let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    continuation.yield([UInt8](bytes[..<5]))
    continuation.yield([])
    continuation.yield([UInt8](bytes[5...]))
    continuation.finish()
    let streamed = try await datastore.attach(contentsOf: stream)
    let path = place.path("file")
    let file = try PosixDisk().open(path, .create)
    try file.write(bytes.span, at: 0)
    file.close()
    let copied = try datastore.attach(file: path)
    #expect(Set([whole, pieces, streamed, copied]).count == 1)
    #expect(try names() == [whole.id.sha256 + ".own"])
    let statistics = try datastore.statistics()
    #expect(statistics.attachmentCount == 1 && statistics.attachmentBytes == 700_000)
    var chunks: [UInt8] = []
    for try await chunk in copied.chunks { chunks += chunk }
    #expect(chunks == bytes)
    try datastore.close()
  }

  private struct Broken: Error {}

  @Test func `nothing is left of what failed`() async throws {
    let datastore = try open()
    let own = #expect(throws: CairnError.self) {
      _ = try datastore.attach { writer throws(CairnError) in
        try writer.write([1, 2, 3])
        throw CairnError(.cancelled, "enough")
      }
    }
    #expect(own?.code == .cancelled)
    let stream = AsyncThrowingStream<[UInt8], any Error> { continuation in
      continuation.yield([1])
      continuation.finish(throwing: Broken())
    }
    let error = await #expect(throws: CairnError.self) {
      _ = try await datastore.attach(contentsOf: stream)
    }
    #expect(error?.code == .fileIO)
    #expect(code { _ = try datastore.attach(file: place.path("nothing")) } == .notFound)
    #expect(try names() == [])
    try datastore.close()
    #expect(code { _ = try datastore.attach([1]) } == .closed)
  }

  private func sizes() throws -> [UInt64] {
    let disk = PosixDisk()
    return try disk.info(home) == nil ? [] : try disk.list(home).map(\.info.size)
  }

  @Test func `nothing is attached of a stream that ended because its task was cancelled`()
    async throws
  {
    let datastore = try open()
    let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    continuation.yield([1, 2, 3])
    let task = Task { () -> CairnError.Code? in
      do throws(CairnError) {
        _ = try await datastore.attach(contentsOf: stream)
        return nil
      } catch { return error.code }
    }
    while try sizes() != [3] { await Task.yield() }
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(try names() == [])
    continuation.finish()
    try datastore.close()
  }

  @Test func `a stream that says that it was cancelled is no failed file`() async throws {
    let datastore = try open()
    let stream = AsyncThrowingStream<[UInt8], any Error> { continuation in
      continuation.yield([1])
      continuation.finish(throwing: CancellationError())
    }
    let error = await #expect(throws: CairnError.self) {
      _ = try await datastore.attach(contentsOf: stream)
    }
    #expect(error?.code == .cancelled)
    #expect(try names() == [])
    try datastore.close()
  }

  @Test func `an attachment is a value of its own in fields, lists and typed code`() throws {
    let datastore = try open()
    let (a, b) = (try datastore.attach([1]), try datastore.attach([2]))
    let record = try datastore.table("t").insert(
      ["photo": a.value, "raw": .bytes([1]), "many": .list([a.value, "text", b.value])], id: "r")
    #expect(try record.get("photo") == .attachment(a.id))
    #expect(try record.bytes("photo") == nil && record.bytes("raw") == [1])
    #expect(try record.attachment("raw") == nil)
    #expect(try record.list("many").values == [a.value, "text", b.value])
    #expect(a.value.size == 64)
    try record.set("photo", b)
    try record.attach("other", [3])
    #expect(try record.attachment("photo") == b)
    #expect(try record.attachment("other")?.bytes() == [3])
    #expect(try datastore.attachments().map(\.field) == ["many", "many", "other", "photo"])
    #expect(AttachmentID(a.id.description) == a.id)
    #expect(AttachmentID("x") == nil && AttachmentID(a.id.sha256 + "-01") == nil)
    struct Photo: TableModel, Equatable {
      static let table = "photos"
      var content: AttachmentID
      var others: [AttachmentID] = []
      var any: Value?
    }
    let photos = try datastore.table(of: Photo.self)
    let photo = Photo(content: a.id, others: [b.id, a.id], any: .attachment(b.id))
    let inserted = try photos.insert(photo)
    #expect(try photos.record(inserted.id)?.value == photo)
    #expect(try inserted.record.attachment("content") == a)
    try datastore.close()
  }

  @Test func `another datastore's attachment is refused`() throws {
    let datastore = try open()
    let other = try datastore.manager.openOrCreateDatastore("other")
    let attachment = try other.attach([1])
    let record = try datastore.table("t").insert([:], id: "r")
    let error = #expect(throws: CairnError.self) { try record.set("photo", attachment) }
    #expect(error?.code == .illegalArgument)
    #expect(try record.fields.isEmpty)
    try datastore.close()
    try other.close()
  }

  @Test func `limits hold, and leave nothing behind`() throws {
    var options = Options()
    options.limits.attachmentBytes = 1000
    let datastore = try open(options)
    _ = try datastore.attach(sample(1, 1000))
    let error = #expect(throws: CairnError.self) { _ = try datastore.attach(sample(2, 1001)) }
    #expect(error?.code == .sizeLimit)
    #expect(try names().count == 1)
    let long = #expect(throws: CairnError.self) {
      _ = try datastore.attach(sample(1, 1000)).bytes(limit: 999)
    }
    #expect(long?.code == .sizeLimit)
    try datastore.close()
  }

  @Test(arguments: [3000, 600_000])
  func `nothing of a damaged content is given out, and it is put aside`(count: Int) throws {
    let bytes = sample(3, count)
    var datastore = try open()
    let name = try datastore.addPhoto("r", bytes).id.sha256 + ".own"
    try datastore.close()
    var bad = bytes
    bad[count - 1] ^= 1
    try overwrite(name, bad)
    datastore = try open()
    let photo = try datastore.photo("r")
    var given = 0
    let error = #expect(throws: CairnError.self) { try photo.read { given += $0.count } }
    #expect(error?.code == .corrupt && given == 0)
    #expect(try photo.state == .missing)
    let kept = try PosixDisk().list(place.path("root/p-default/quarantine")).map(\.name)
    #expect(kept.contains { $0.hasSuffix(".bad") } && kept.contains { $0.hasSuffix(".reason") })
    // Attached again it is there again.
    _ = try datastore.attach(bytes)
    #expect(try datastore.content(of: "r") == bytes)
    try datastore.close()
  }

  @Test func `a content that is shorter than it should be is not here`() throws {
    var datastore = try open()
    let name = try datastore.addPhoto("r", sample(4)).id.sha256 + ".own"
    try datastore.close()
    try overwrite(name, sample(4, 2999))
    datastore = try open()
    #expect(try datastore.photo("r").state == .missing)
    #expect(code { _ = try datastore.photo("r").bytes() } == .notFound)
    try datastore.close()
  }

  @Test func `one of a newer version is carried and not read`() async throws {
    var bytes = BlobReference(length: 5, hash: SHA256.hash([1])).encoded()
    bytes.removeLast(8)
    bytes[10] = 2
    bytes.put(XXH3.hash64(bytes))
    var datastore = try open()
    try datastore.table("t").insert(["photo": .bytes(bytes)], id: "r")
    _ = try datastore.attach([9])
    try datastore.sync()
    try datastore.compact()
    try datastore.close()
    datastore = try open()
    let photo = try datastore.photo("r")
    #expect(photo.id.needsNewerVersion)
    #expect(try photo.state == .needsNewerVersion)
    let error = #expect(throws: CairnError.self) { _ = try photo.bytes() }
    #expect(error?.code == .needsNewerVersion)
    let copy = try datastore.table("t").insert(["photo": photo.value], id: "copy")
    #expect(try copy.get("photo") == photo.value)
    #expect(AttachmentID(photo.id.description) == photo.id)
    let kept = try datastore.store.value(table: "t", id: RecordName("copy"), field: "photo")
    #expect(kept == .bytes(bytes))
    // It may be to anything, so nothing is removed.
    #expect(try await datastore.collectAttachments(graceSeconds: 0).needsNewerVersion)
    #expect(try names().contains { $0.hasSuffix(".own") })
    try datastore.close()
  }

  // MARK: what is unused

  @Test func `what nothing refers to goes after its grace, and not before`() async throws {
    var datastore = try open()
    let (kept, loose) = (sample(5), sample(6))
    try datastore.addPhoto("r", kept)
    _ = try datastore.attach(loose)
    // A content that was just attached may be about to be set.
    #expect(try await datastore.collectAttachments(graceSeconds: 0) == AttachmentCollection())
    try datastore.close()
    datastore = try open()
    var result = try await datastore.collectAttachments()
    #expect(result.removedHere == 0 && result.waiting == 1)
    result = try await datastore.collectAttachments(graceSeconds: 0)
    #expect(result.removedHere == 1 && result.bytesHere == 3000)
    #expect(try datastore.content(of: "r") == kept)
    try datastore.table("t").record("r")?.delete()
    #expect(try await datastore.collectAttachments(graceSeconds: 0).removedHere == 0)
    try datastore.rollback()
    #expect(try datastore.content(of: "r") == kept, "a roll-back brings it back")
    try datastore.table("t").record("r")?.delete()
    try datastore.sync()
    #expect(try await datastore.collectAttachments(graceSeconds: 0).removedHere == 1)
    #expect(try names() == ["UNUSED"])
    try datastore.close()
  }

  @Test(arguments: [false, true])
  func `pending and listed references keep their contents`(compacts: Bool) async throws {
    var datastore = try open()
    let record = try datastore.table("t").insert(["many": .list([])], id: "r")
    let contents = (10..<16).map { sample($0, 100) }
    let ids = try contents.map { try datastore.attach($0).id }
    let all = ids.map { Value.attachment($0) }
    try record.set("many", .list([all[0]]))
    try datastore.sync()
    try record.list("many").append(all[1])
    try datastore.sync()
    try record.list("many").replace(at: 0, with: all[2])
    try datastore.sync()
    if compacts { try datastore.compact() }
    try datastore.close()
    datastore = try open()
    let again = try #require(try datastore.table("t").record("r"))
    // None was attached by this process, which would keep it for that.
    #expect(datastore.blobs.pinned.isEmpty)
    try again.list("many").append(all[3])
    try again.set("pending", all[4])
    #expect(try await datastore.collectAttachments(graceSeconds: 0).removedHere > 0)
    for id in ids[1...4] { #expect(try datastore.attachment(id).state == .here) }
    #expect(try datastore.attachment(ids[5]).state == .missing, "nothing refers to it")
    try datastore.sync()
    #expect(try again.list("many").values == [all[2], all[1], all[3]])
    try datastore.close()
  }
}
