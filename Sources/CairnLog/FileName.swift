package import CairnBytes

/// Makes and parses every file name there is. Names are `[a-z0-9._-]` only, so that no file system
/// or sync engine has a reason to change them; no text of a user ever becomes part of one.
package enum FileName {
  package static let lock = "LOCK"
  package static let current = "CURRENT"
  package static let publication = "PUBLISHED"
  package static let log = "log"
  package static let snapshots = "snap"
  package static let inbox = "inbox"
  /// In the inbox: which snapshots were held back.
  package static let held = "HELD"
  package static let quarantine = "quarantine"
  /// Where a store is put together anew from its folder.
  package static let rejoining = "rejoin"
  /// What is known of the histories of devices.
  package static let chains = "CHAINS"
  /// Contents that are too large for records.
  package static let blobs = "blobs"
  /// Blobs that no record refers to, and since when.
  package static let unusedBlobs = "UNUSED"
  package static let folderIdentity = "cairn.json"
  package static let accounts = "ACCOUNTS"
  package static let secrets = "secrets"
  package static let localRoot = "local"
  package static let role = "ROLE"
  package static let info = "INFO"
  package static let trash = "trash"
  /// Why something was put into the trash of a root, beside it.
  package static let trashReason = "REASON"
  package static let journal = "MIGRATION"
  /// Held, in each root that it is about, while datastores are moved.
  package static let migrationLock = "MIGRATION.LOCK"
  /// What is followed in a root, and how.
  package static let following = "FOLLOWING"
  /// The one datastore of such a root. No datastore of an account or of this device is called so.
  package static let followed = "followed"
  /// What an installation knows of the account's datastores, in the root.
  package static let installation = "CATALOGUE"
  package static let installationLock = "CATALOGUE.LOCK"
  package static let exchangeLock = "EXCHANGE.LOCK"
  /// The directory of the folder in which installations say what they have.
  package static let catalogue = "catalogue"

  private static let segmentSuffix = ".seg"
  private static let snapshotSuffix = ".snap"
  private static let headSuffix = ".head"
  private static let temporarySuffix = ".tmp"
  private static let catalogueSuffix = ".cat"
  private static let deletedSuffix = ".del"
  private static let blobSuffix = ".blob"
  private static let ownBlobSuffix = ".own"
  private static let partSuffix = ".part"

  // MARK: at home

  package static func segment(_ number: UInt64) -> String { hex(number) + segmentSuffix }
  package static func snapshot(_ number: UInt64) -> String { hex(number) + snapshotSuffix }

  /// The directory of own deltas that the log does not have: after so many rejoinings.
  package static func outbox(_ rejoinings: UInt64) -> String { outboxPrefix + hex(rejoinings) }
  private static let outboxPrefix = "outbox-"

  package static func outboxNumber(_ name: String) -> UInt64? {
    guard name.utf8.starts(with: outboxPrefix.utf8) else { return nil }
    return parseHex(String(name.dropFirst(outboxPrefix.utf8.count)))
  }

  package static func segmentNumber(_ name: String) -> UInt64? {
    stem(name, segmentSuffix).flatMap(fileNumber)
  }

  package static func snapshotNumber(_ name: String) -> UInt64? {
    stem(name, snapshotSuffix).flatMap(fileNumber)
  }

  /// Files are numbered one after the other: a number that could not be counted on is none of ours.
  private static func fileNumber(_ stem: String) -> UInt64? {
    parseHex(stem).flatMap { $0 <= ByteReader.counterMax ? $0 : nil }
  }

  /// Records that other devices have deleted, kept in a datastore's trash.
  package static func deleted(_ number: UInt64) -> String { hex(number) + deletedSuffix }

  package static func deletedNumber(_ name: String) -> UInt64? {
    stem(name, deletedSuffix).flatMap(parseHex)
  }

  /// A blob at home: one that was attached here and is not known to be in the folder under this
  /// device's name, or any other.
  package static func blob(_ hash: ContentHash, isOwn: Bool) -> String {
    hash.hex + (isOwn ? ownBlobSuffix : blobSuffix)
  }

  package static func blob(_ name: String) -> (hash: ContentHash, isOwn: Bool)? {
    if let hash = stem(name, blobSuffix).flatMap(ContentHash.init(hex:)) { return (hash, false) }
    return stem(name, ownBlobSuffix).flatMap(ContentHash.init(hex:)).map { ($0, true) }
  }

  /// What was fetched so far of a blob.
  package static func blobPart(_ hash: ContentHash) -> String { hash.hex + partSuffix }

  package static func blobPart(_ name: String) -> ContentHash? {
    stem(name, partSuffix).flatMap(ContentHash.init(hex:))
  }

  // MARK: in the folder

  /// Whether a datastore's directory of the folder has files of this name that nobody replaces:
  /// published segments and snapshots.
  package static func isWrittenOnce(_ name: String) -> Bool {
    published(name) != nil || sharedSnapshot(name) != nil
  }

  /// The directory of a datastore's blobs, beside that of its other files: those who look for
  /// deltas need not list them.
  package static func blobDirectory(_ directory: String) -> String { "b-" + directory }
  package static func isBlobDirectory(_ name: String) -> Bool { name.hasPrefix("b-") }

  /// One device's copy of a blob.
  package static func publishedBlob(device: UInt64, _ hash: ContentHash) -> String {
    "\(hex(device))-\(hash.hex)\(blobSuffix)"
  }

  package static func publishedBlob(_ name: String) -> (device: UInt64, hash: ContentHash)? {
    guard let stem = stem(name, blobSuffix), stem.utf8.count == 16 + 1 + 64,
      stem.utf8.dropFirst(16).first == UInt8(ascii: "-"),
      let device = parseHex(String(stem.prefix(16))),
      let hash = ContentHash(hex: String(stem.dropFirst(17)))
    else { return nil }
    return (device, hash)
  }

  package static func head(device: UInt64) -> String { hex(device) + headSuffix }

  package static func headDevice(_ name: String) -> UInt64? {
    stem(name, headSuffix).flatMap(parseHex)
  }

  package static func catalogue(installation: UInt64) -> String {
    hex(installation) + catalogueSuffix
  }

  package static func catalogueInstallation(_ name: String) -> UInt64? {
    stem(name, catalogueSuffix).flatMap(parseHex)
  }

  /// An immutable run of one device's deltas.
  package struct Published: Hashable, Sendable {
    package var device: UInt64
    package var first: UInt64
    package var last: UInt64
    package var hash: UInt128

    package init(device: UInt64, first: UInt64, last: UInt64, hash: UInt128) {
      self.device = device
      self.first = first
      self.last = last
      self.hash = hash
    }
  }

  package static func published(_ segment: Published) -> String {
    "\(hex(segment.device))-\(segment.first)-\(segment.last)-\(hex(segment.hash))\(segmentSuffix)"
  }

  /// Whether a name in a datastore's directory was given by this device, also to a copy of a file
  /// that something else has renamed: what it adds comes behind.
  package static func isOf(device: UInt64, _ name: String) -> Bool { name.hasPrefix(hex(device)) }

  /// Asked for each file of each listing, so it takes the bytes apart where they are.
  package static func published(_ name: String) -> Published? {
    let dash = UInt8(ascii: "-")
    let bytes = Array(name.utf8)
    // 16 digits, two numbers, 32 digits, with dashes between.
    let end = bytes.count - segmentSuffix.utf8.count
    guard end >= 16 + 1 + 1 + 1 + 1 + 1 + 32, bytes[end...].elementsEqual(segmentSuffix.utf8),
      bytes[16] == dash, bytes[end - 33] == dash,
      let middle = bytes[17..<(end - 33)].firstIndex(of: dash),
      let device = hexNumber(bytes[..<16]), let first = decimalNumber(bytes[17..<middle]),
      let last = decimalNumber(bytes[(middle + 1)..<(end - 33)]), first > 0, last >= first,
      last <= ByteReader.counterMax,
      let high = hexNumber(bytes[(end - 32)..<(end - 16)]),
      let low = hexNumber(bytes[(end - 16)..<end])
    else { return nil }
    return Published(
      device: device, first: first, last: last, hash: UInt128(high) << 64 | UInt128(low))
  }

  /// Lower-case digits, at most 16 of them.
  private static func hexNumber(_ bytes: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for byte in bytes {
      switch byte {
      case 48...57: number = number << 4 | UInt64(byte - 48)
      case 97...102: number = number << 4 | UInt64(byte - 87)
      default: return nil
      }
    }
    return number
  }

  /// Decimal digits without sign or leading zero.
  private static func decimalNumber(_ bytes: ArraySlice<UInt8>) -> UInt64? {
    guard let start = bytes.first, start != 48 else { return nil }
    var number: UInt64 = 0
    for byte in bytes {
      guard (48...57).contains(byte) else { return nil }
      let (product, isOver) = number.multipliedReportingOverflow(by: 10)
      let (sum, isBeyond) = product.addingReportingOverflow(UInt64(byte - 48))
      if isOver || isBeyond { return nil }
      number = sum
    }
    return number
  }

  package static func sharedSnapshot(_ hash: UInt128) -> String { hex(hash) + snapshotSuffix }

  package static func sharedSnapshot(_ name: String) -> UInt128? {
    stem(name, snapshotSuffix).flatMap(parseHex128)
  }

  /// A name under which something is written before it gets its own. Anybody may delete it later.
  package static func temporary(_ random: UInt64) -> String { hex(random) + temporarySuffix }
  package static func isTemporary(_ name: String) -> Bool {
    stem(name, temporarySuffix).flatMap(parseHex) != nil
  }

  /// The directory in which a datastore is put together before it gets its place.
  package static func staging(_ token: UInt64, _ directory: String) -> String {
    "m\(hex(token))-\(directory)"
  }

  /// Which work a staging directory belongs to.
  package static func stagingToken(_ name: String) -> UInt64? {
    guard name.utf8.count > 18, name.utf8.first == UInt8(ascii: "m"),
      name.utf8.dropFirst(17).first == UInt8(ascii: "-")
    else { return nil }
    return parseHex(String(name.dropFirst().prefix(16)))
  }

  // MARK: datastores

  /// The directory of a datastore: `p-` and a private id as it is, or `s-` and a shareable id
  /// without its dot, capitals written as a dot and the small letter (file systems may fold case).
  package static func directory(datastore id: String) -> String {
    guard id.utf8.first == UInt8(ascii: ".") else { return "p-" + id }
    var name = "s-"
    for character in id.dropFirst() {
      name += character.isUppercase ? "." + character.lowercased() : String(character)
    }
    return name
  }

  /// The id that a directory is named after; whether it follows the grammar is the caller's to ask.
  package static func datastore(directory name: String) -> String? {
    guard name.utf8.allSatisfy(isNameByte) else { return nil }
    if name.hasPrefix("p-") {
      // An id with a dot in front has the other form, and only that.
      let id = name.dropFirst(2)
      return id.utf8.first == UInt8(ascii: ".") ? nil : String(id)
    }
    guard name.hasPrefix("s-") else { return nil }
    var id = "."
    var capital = false
    for character in name.dropFirst(2) {
      if character == "." {
        guard !capital else { return nil }
        capital = true
      } else {
        id += capital ? character.uppercased() : String(character)
        capital = false
      }
    }
    // A dot before what has no capital is no name of ours.
    return directory(datastore: id) == name ? id : nil
  }

  /// The directory of one generation of a datastore: the first has the name alone, those that were
  /// created after a delete `g`, the generation, a dash and the name.
  package static func directory(datastore id: String, generation: UInt32) -> String {
    (generation == 0 ? "" : "g\(generation)-") + directory(datastore: id)
  }

  /// The id and the generation that a directory is named after.
  package static func generation(directory name: String) -> (id: String, generation: UInt32)? {
    if let id = datastore(directory: name) { return (id, 0) }
    guard name.utf8.first == UInt8(ascii: "g"), let dash = name.firstIndex(of: "-"),
      let number = decimal(name[name.index(after: name.startIndex)..<dash]),
      let generation = UInt32(exactly: number),
      let id = datastore(directory: String(name[name.index(after: dash)...]))
    else { return nil }
    return (id, generation)
  }

  /// The directories of what had the id before, the newest first and at most four.
  package static func olderGenerations(of name: String) -> [String] {
    guard let (id, generation) = generation(directory: name) else { return [] }
    return (0..<generation).suffix(4).reversed().map { directory(datastore: id, generation: $0) }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    (97...122).contains(byte) || (48...57).contains(byte) || byte == 45 || byte == 46 || byte == 95
  }

  // MARK: numbers

  package static func hex(_ number: UInt64) -> String {
    // By hand: every opening would pay for the code that the general way brings into memory.
    var digits = [UInt8](repeating: 0x30, count: 16)
    for place in 0..<16 {
      let digit = UInt8(truncatingIfNeeded: number >> UInt64(60 - 4 * place)) & 15
      digits[place] = digit < 10 ? 48 + digit : 87 + digit
    }
    return String(decoding: digits, as: UTF8.self)
  }

  package static func hex(_ number: UInt128) -> String {
    hex(UInt64(truncatingIfNeeded: number >> 64)) + hex(UInt64(truncatingIfNeeded: number))
  }

  // MARK: accounts

  /// Where an account's datastores are.
  package static func accountRoot(_ id: UInt64) -> String { accountPrefix + hex(id) }
  private static let accountPrefix = "a-"

  /// The file of an account's credentials.
  package static func secret(_ id: UInt64) -> String { hex(id) }
  package static func secret(_ name: String) -> UInt64? { parseHex(name) }

  private static func stem(_ name: String, _ suffix: String) -> String? {
    // By bytes: `hasSuffix` takes different bytes that mean the same characters.
    let stem = name.utf8.dropLast(suffix.utf8.count)
    guard name.utf8[stem.endIndex...].elementsEqual(suffix.utf8) else { return nil }
    return String(stem)
  }

  private static func isLowerHex(_ text: String) -> Bool {
    text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  private static func parseHex(_ text: String) -> UInt64? {
    guard text.utf8.count == 16, isLowerHex(text) else { return nil }
    return UInt64(text, radix: 16)
  }

  private static func parseHex128(_ text: String) -> UInt128? {
    guard text.utf8.count == 32, isLowerHex(text) else { return nil }
    return UInt128(text, radix: 16)
  }

  /// Decimal digits without sign or leading zero.
  private static func decimal(_ text: Substring) -> UInt64? {
    guard let first = text.utf8.first, first != 48, text.utf8.allSatisfy({ (48...57).contains($0) })
    else { return nil }
    return UInt64(text)
  }
}
