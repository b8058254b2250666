import Cairn
import CairnBytes
import CairnDisk
import CairnFuzzBytes
import CairnLog
import TestSupport

/// `kind u8 · bytes`: references, their texts, hashes in pieces, the list of unused contents, and
/// contents whose files are something else.
enum BlobEntry {
  static func run(_ bytes: [UInt8]) throws {
    guard let kind = bytes.first else { return }
    let body = Array(bytes.dropFirst())
    switch kind % 6 {
    case 0:
      try reference(body)
      try reference(repaired(body))
    case 1: try everyReference(body)
    case 2: try text(String(decoding: body, as: UTF8.self))
    case 3: try hash(body)
    case 4: try ledger(body)
    default: try content(body)
    }
  }

  /// With the beginning and the checksum of a reference.
  private static func repaired(_ body: [UInt8]) -> [UInt8] {
    guard body.count >= BlobReference.size else { return body }
    var copy = BlobReference.magic + body[8..<(body.count - 8)]
    SealedFile.seal(&copy)
    return copy
  }

  private static func reference(_ body: [UInt8]) throws {
    guard let found = BlobReference(body) else { return }
    try FuzzFinding.check(found.encoded() == body, "a reference that is written as another one")
    try FuzzFinding.check(
      found.length <= BlobReference.lengthMax, "a content of \(found.length) bytes")
    guard found.newer == nil else { return }
    // As an app has it, and back.
    let text = "\(found.hash.hex)-\(found.length)"
    try FuzzFinding.check(
      AttachmentID(text)?.description == text, "\(text) is read as something else, or not at all")
  }

  private static func everyReference(_ body: [UInt8]) throws {
    let found = BlobReference.all(in: body)
    for reference in found {
      try FuzzFinding.check(reference.isReadable, "a reference that can't be read is in a list")
    }
    try FuzzFinding.check(
      found.isEmpty || BlobReference.occurs(in: body), "references that do not occur")
    let whole = body + BlobReference(length: 5, hash: SHA256.hash(body)).encoded()
    try FuzzFinding.check(
      BlobReference.all(in: whole).count <= found.count + 1 && BlobReference.occurs(in: whole),
      "one more reference makes more than one more")
  }

  private static func text(_ text: String) throws {
    guard let id = AttachmentID(text) else { return }
    try FuzzFinding.check(
      id.description.utf8.elementsEqual(text.utf8), "\(text) is taken for \(id)")
  }

  /// `cuts u8 · bytes`: in pieces it is the same hash.
  private static func hash(_ body: [UInt8]) throws {
    guard let first = body.first else { return }
    let step = max(1, Int(first))
    var pieces = SHA256()
    var place = 0
    while place < body.count {
      let end = min(body.count, place + step)
      pieces.update(body, place..<end)
      place = end
    }
    try FuzzFinding.check(pieces.digest() == SHA256.hash(body), "a hash depends on the pieces")
    let found = pieces.digest()
    try FuzzFinding.check(
      ContentHash(hex: found.hex) == found && ContentHash(found.bytes, at: 0) == found,
      "a hash that does not come back")
  }

  private static func ledger(_ body: [UInt8]) throws {
    _ = try? BlobLedger(body, path: "raw")
    var file = SealedFile.begin(BlobLedger.magic) + body
    SealedFile.seal(&file)
    guard let found = try? BlobLedger(file, path: "sealed") else { return }
    let again = try? BlobLedger(found.encoded(), path: "again")
    try FuzzFinding.check(again == found, "a list of unused contents that does not come back")
  }

  /// `length u8 · content · other bytes`: a content whose file has become something else gives
  /// what was attached, or an error; never anything else.
  private static func content(_ body: [UInt8]) throws {
    guard let first = body.first else { return }
    let bytes = Array(body.dropFirst().prefix(Int(first)))
    let other = Array(body.dropFirst(1 + bytes.count))
    let disk = MemoryDisk()
    let machine = Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1))
    let datastore = try DatastoreManager(
      root: "/root", account: nil, folder: nil, options: Options(), machine: machine
    ).openDefaultDatastore()
    let attachment = try datastore.attach(bytes)
    guard let path = disk.paths().first(where: { $0.hasSuffix(".own") }) else {
      throw FuzzFinding("a content that is nowhere")
    }
    try disk.setBytes(path, other)
    if let read = try? attachment.bytes() {
      try FuzzFinding.check(read == bytes, "other bytes were given out")
    }
    try datastore.close()
  }
}
