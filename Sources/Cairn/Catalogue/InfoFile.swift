internal import CairnBytes
internal import CairnDisk
package import CairnLog
internal import CairnStore

/// INFO: what this device sees of one datastore, beside its files, for lists that open nothing.
/// A hint: what it does not say is found out when the datastore is opened.
///
///     "CAIRNINF" · version u16 · floor u16 · zero u32 · own deltas varint · view ·
///     flag u8 · [published view] · XXH3-64 of everything before
package struct InfoFile: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNINF".utf8)
  static let bytesMax = 8192

  /// What is committed here.
  var view: CatalogueView
  /// Own deltas in that view.
  var ownDeltas: UInt64
  /// The newest view of which everything own was published; nil if there was none.
  var published: CatalogueView?

  init(view: CatalogueView, ownDeltas: UInt64, published: CatalogueView?) {
    self.view = view
    self.ownDeltas = ownDeltas
    self.published = published
  }

  package func encoded() -> [UInt8] {
    var out = InfoFile.magic
    out.put(FormatVersion.current)
    out.put(FormatVersion.floor)
    out.put(UInt32(0))
    out.putVarint(ownDeltas)
    view.encode(into: &out)
    out.put(UInt8(published == nil ? 0 : 1))
    published?.encode(into: &out)
    out.put(XXH3.hash64(out))
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    guard bytes.count >= 16 + 6 + 8 else {
      throw LogError(.truncated, path, at: UInt64(bytes.count), "too short")
    }
    guard Array(bytes[0..<8]) == InfoFile.magic else {
      throw LogError(.foreign, path, at: 0, "not an INFO file")
    }
    let end = bytes.count - 8
    guard bytes.u64(at: end) == XXH3.hash64(bytes, 0..<end) else {
      throw LogError(.corrupt, path, at: 0, "the checksum does not match")
    }
    try FormatVersion.check(floor: bytes.u16(at: 10), path: path)
    var reader = ByteReader(bytes, 16..<end)
    do throws(DecodeError) {
      ownDeltas = try reader.varint()
      view = try CatalogueView(&reader)
      switch try reader.u8() {
      case 0: published = nil
      case 1: published = try CatalogueView(&reader)
      default: throw .malformed("a mark")
      }
      guard reader.isAtEnd else { throw .malformed("too long") }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "an INFO file") }
  }

  /// The file in a datastore's directory. A damaged one is as good as none: the next commit or
  /// close makes it anew.
  static func read(_ directory: String, disk: any Disk) throws(CairnError) -> InfoFile? {
    let path = directory + "/" + FileName.info
    do throws(LogError) {
      return try DurableFile.read(path, limit: bytesMax, disk: disk).map { bytes throws(LogError) in
        try InfoFile(bytes, path: path)
      }
    } catch {
      if case .disk = error.reason { throw CairnError(error) }
      return nil
    }
  }
}
