internal import CairnBytes
package import CairnLog

/// CATALOGUE, in the root of an account's datastores: who this installation is in the folder, what
/// it says there, and what the others said when they were last read. Lists are made from it alone.
///
///     "CAIRNINS" · version u16 · floor u16 · flags u32 (1: the own file is up in the folder) ·
///     folder u128 · installation u64 · confirmed nonce u64 · own catalogue blob ·
///     others (count; version string, catalogue blob) ·
///     devices (count; id string, generation varint, device u64) ·
///     if there are any: waiting (the same, each with its time u64) · XXH3-64 of everything before
package struct InstallationFile: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNINS".utf8)
  static let bytesMax = 256 << 20

  /// Identity of the folder; 0 until one was seen.
  var folder: UInt128 = 0
  /// Random; 0 until something is to be said.
  var installation: UInt64 = 0
  /// Of the own file that was last read back, or written without an error.
  var confirmedNonce: UInt64 = 0
  /// What is to be said of each datastore in the own file.
  var own = CatalogueFile(folder: 0, installation: 0)
  /// The own file in the folder says just that.
  var isPublished = true
  /// Other installations' files by installation.
  var others: [UInt64: Other] = [:]
  /// Devices that this installation was and is no more: after a delete their files in the folder
  /// are ours to remove.
  var devices: Set<OwnDevice> = []

  /// Of these only contents of attachments are left in the folder, since when: others may have
  /// copies in their trash.
  var waiting: [OwnDevice: Int64] = [:]

  struct Other: Equatable, Sendable {
    /// Of the file in the folder's listing, when it was read.
    var version: String
    var file: CatalogueFile
  }

  struct OwnDevice: Hashable, Comparable, Sendable {
    var id: String
    var generation: UInt32
    var device: UInt64

    static func < (a: OwnDevice, b: OwnDevice) -> Bool {
      (a.id, a.generation, a.device) < (b.id, b.generation, b.device)
    }
  }

  init() {}

  /// Nothing was written into a folder, nor is to be, nor was heard there: the root belongs to none
  /// yet.
  var saysNothing: Bool { own.revision == 0 && own.entries.isEmpty && others.isEmpty }

  /// Everything that is known.
  var merged: [String: CatalogueEntry] { Catalogue.merged(others.values.map(\.file) + [own]) }

  /// What is known of one id.
  func entry(_ id: String) -> CatalogueEntry {
    others.values.reduce(own.entries[id] ?? .nothing) { entry, other in
      other.file.entries[id].map { entry.joined($0) } ?? entry
    }
  }

  /// Changes what the own file says.
  mutating func say(_ id: String, _ entry: CatalogueEntry) {
    guard own.entries[id] != entry else { return }
    own.entries[id] = entry
    isPublished = false
  }
}

extension InstallationFile {
  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(InstallationFile.magic, word: isPublished ? 1 : 0)
    out.put(folder)
    out.put(installation)
    out.put(confirmedNonce)
    var own = own
    // A file without an installation would not be read; it has nothing in it either.
    if own.installation == 0 { own.installation = max(1, installation) }
    out.putBlob(own.encoded())
    out.putVarint(others.count)
    for (_, other) in others.sorted(by: { $0.key < $1.key }) {
      out.putString(other.version)
      out.putBlob(other.file.encoded())
    }
    out.putVarint(devices.count)
    for device in devices.sorted() { InstallationFile.put(device, into: &out) }
    if !waiting.isEmpty {
      out.putVarint(waiting.count)
      for (device, time) in waiting.sorted(by: { $0.key < $1.key }) {
        InstallationFile.put(device, into: &out)
        out.put(UInt64(bitPattern: time))
      }
    }
    SealedFile.seal(&out)
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: InstallationFile.magic, least: 32, what: "a CATALOGUE file", path: path,
      advice: "remove the file: the list is fetched anew, deletes that were not exchanged yet are "
        + "to be made again")
    isPublished = bytes.u32(at: 12) & 1 != 0
    do throws(DecodeError) {
      folder = try reader.hash()
      installation = try reader.u64()
      confirmedNonce = try reader.u64()
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "a CATALOGUE file") }
    own = try InstallationFile.file(&reader, path)
    if installation == 0 { own.installation = 0 }
    do throws(DecodeError) {
      let count = try reader.count(minimumSize: 2)
      for _ in 0..<count {
        let version = try reader.string()
        let range = try reader.blob()
        // What can't be read is read anew from the folder.
        let file = try? CatalogueFile(Array(bytes[range]), name: path)
        if let file { others[file.installation] = Other(version: version, file: file) }
      }
      for _ in 0..<(try reader.count(minimumSize: 10)) {
        devices.insert(try InstallationFile.device(&reader))
      }
      if !reader.isAtEnd {
        for _ in 0..<(try reader.count(minimumSize: 18)) {
          waiting[try InstallationFile.device(&reader)] = Int64(bitPattern: try reader.u64())
        }
        if waiting.isEmpty { throw .malformed("an empty list at the end") }
      }
      guard reader.isAtEnd else { throw .malformed("too long") }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "a CATALOGUE file") }
  }

  private static func put(_ device: OwnDevice, into out: inout [UInt8]) {
    out.putString(device.id)
    out.putVarint(UInt64(device.generation))
    out.put(device.device)
  }

  private static func device(_ reader: inout ByteReader) throws(DecodeError) -> OwnDevice {
    let id = try reader.string()
    let generation = UInt32(clamping: try reader.varint())
    return OwnDevice(id: id, generation: generation, device: try reader.u64())
  }

  private static func file(
    _ reader: inout ByteReader, _ path: String
  ) throws(LogError) -> CatalogueFile {
    let range: Range<Int>
    do { range = try reader.blob() } catch {
      throw LogError(error, path, at: UInt64(reader.offset), "a CATALOGUE file")
    }
    return try CatalogueFile(Array(reader.bytes[range]), name: path)
  }
}
