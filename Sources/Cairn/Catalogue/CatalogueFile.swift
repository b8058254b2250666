internal import CairnBytes
package import CairnLog
internal import CairnMerge

/// One installation's part of the account's catalogue: which datastores it has or had, and which
/// were deleted. In the folder it is written by that installation alone and replaced as a whole.
///
///     "CAIRNCAT" · version u16 · floor u16 · zero u32 · folder u128 · installation u64 ·
///     revision u64 · nonce u64 · count varint · entries · XXH3-128 of everything before
///     entry = length varint · id string · generation varint · flag u8 · [view]
package struct CatalogueFile: Equatable, Sendable {
  package static let magic: [UInt8] = Array("CAIRNCAT".utf8)
  package static let bytesMax = 16 << 20
  private static let headerSize = 56

  /// Identity of the folder that it is meant for: in any other one it says nothing.
  package var folder: UInt128
  package var installation: UInt64
  /// Grows by one with each replacement: an older file that comes back is told apart.
  package var revision: UInt64 = 0
  /// Random, new with each replacement: an installation knows its own file by it.
  package var nonce: UInt64 = 0
  package var entries: [String: CatalogueEntry] = [:]

  package init(folder: UInt128, installation: UInt64) {
    self.folder = folder
    self.installation = installation
  }

  package func encoded() -> [UInt8] {
    var out = CatalogueFile.magic
    out.put(FormatVersion.current)
    out.put(FormatVersion.floor)
    out.put(UInt32(0))
    out.put(folder)
    out.put(installation)
    out.put(revision)
    out.put(nonce)
    out.putVarint(entries.count)
    for (id, entry) in entries.sorted(by: { CatalogueFile.precedes($0.key, $1.key) }) {
      var bytes: [UInt8] = []
      bytes.putString(id)
      bytes.putVarint(UInt64(entry.generation))
      bytes.put(UInt8(entry.view == nil ? 0 : 1))
      entry.view?.encode(into: &bytes)
      out.putBlob(bytes)
    }
    out.put(XXH3.hash128(out))
    return out
  }

  private static func precedes(_ a: String, _ b: String) -> Bool {
    a.utf8.lexicographicallyPrecedes(b.utf8)
  }

  /// Length, checksum, structure. `name` is where the bytes came from.
  package init(_ bytes: [UInt8], name: String) throws(LogError) {
    let size = CatalogueFile.headerSize
    guard bytes.count >= size + 1 + 16 else {
      throw LogError(.truncated, name, at: UInt64(bytes.count), "shorter than a catalogue can be")
    }
    guard Array(bytes[0..<8]) == CatalogueFile.magic else {
      throw LogError(.foreign, name, at: 0, "not a catalogue")
    }
    let end = bytes.count - 16
    let sum = UInt128(bytes.u64(at: end + 8)) << 64 | UInt128(bytes.u64(at: end))
    guard sum == XXH3.hash128(bytes, 0..<end) else {
      throw LogError(.corrupt, name, at: 0, "the checksum does not match: damaged, or half there")
    }
    try FormatVersion.check(floor: bytes.u16(at: 10), path: name)
    // What a newer version may add behind the parts that are known is skipped.
    let isNewer = bytes.u16(at: 8) > FormatVersion.current
    var reader = ByteReader(bytes, 16..<end)
    do throws(DecodeError) { self = try CatalogueFile(&reader, isNewer: isNewer) } catch {
      throw LogError(error, name, at: UInt64(reader.offset), "a catalogue")
    }
  }

  private init(_ reader: inout ByteReader, isNewer: Bool) throws(DecodeError) {
    let folder = try reader.hash()
    self.init(folder: folder, installation: try reader.u64())
    revision = try reader.u64()
    guard revision <= ByteReader.counterMax else { throw .limit }
    nonce = try reader.u64()
    var last = ""
    for _ in 0..<(try reader.count(minimumSize: 5)) {
      let range = try reader.blob()
      var part = ByteReader(reader.bytes, range)
      let (id, entry) = try CatalogueFile.entry(&part)
      guard last.isEmpty || CatalogueFile.precedes(last, id) else {
        throw .malformed("ids out of order")
      }
      guard part.isAtEnd || isNewer else { throw .malformed("an entry is too long") }
      last = id
      entries[id] = entry
    }
    guard installation != 0, reader.isAtEnd || isNewer else {
      throw .malformed("a catalogue's parts do not fit")
    }
  }

  private static func entry(
    _ reader: inout ByteReader
  ) throws(DecodeError) -> (String, CatalogueEntry) {
    let id = try reader.string()
    guard Identifier.isValidDatastore(id) else { throw .malformed("no id of a datastore") }
    let generation = try reader.varint()
    guard generation <= UInt64(CatalogueEntry.generationMax) else { throw .limit }
    let view: CatalogueView?
    switch try reader.u8() {
    case 0: view = nil
    case 1: view = try CatalogueView(&reader)
    default: throw .malformed("an entry's mark")
    }
    return (id, CatalogueEntry(generation: UInt32(generation), view: view))
  }
}

/// The catalogue of an account is a pure function of the set of its files.
package enum Catalogue {
  /// What all files together say.
  package static func merged(
    _ files: [CatalogueFile]
  ) -> [String: CatalogueEntry] {
    var result: [String: CatalogueEntry] = [:]
    for file in files {
      for (id, entry) in file.entries { result[id] = result[id]?.joined(entry) ?? entry }
    }
    return result
  }
}
