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
    var out = SealedFile.begin(InfoFile.magic)
    out.putVarint(ownDeltas)
    view.encode(into: &out)
    out.put(UInt8(published == nil ? 0 : 1))
    published?.encode(into: &out)
    SealedFile.seal(&out)
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: InfoFile.magic, least: 6, what: "an INFO file", path: path,
      advice: "the next commit replaces it")
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

  /// The file in a datastore's directory. One that is damaged or can't be read is as good as none:
  /// the next commit or close makes it anew.
  ///
  /// - Throws: `system` or `memory` if this process lacks something, which says nothing of it.
  static func read(_ directory: String, disk: any Disk) throws(CairnError) -> InfoFile? {
    let path = directory + "/" + FileName.info
    do throws(LogError) {
      return try DurableFile.read(path, limit: bytesMax, disk: disk).map { bytes throws(LogError) in
        try InfoFile(bytes, path: path)
      }
    } catch {
      let failure = CairnError(error)
      if failure.code == .system || failure.code == .memory { throw failure }
      return nil
    }
  }
}
