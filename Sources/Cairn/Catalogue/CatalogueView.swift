internal import CairnBytes
internal import CairnStore

/// What a device sees of a datastore: for lists, which are made without opening it.
package struct CatalogueView: Hashable, Sendable {
  /// Longer titles are cut, so that a catalogue stays small whatever people write.
  package static let titleBytesMax = 1000

  /// The title, nil if the datastore has none.
  package var title: String?
  /// Time of the newest delta that the device has, nil if there is none.
  package var modified: Int64?
  /// Deltas that it has.
  package var deltas: UInt64
  package var records: UInt64
  package var size: UInt64

  package init(
    title: String?, modified: Int64?, deltas: UInt64, records: UInt64, size: UInt64
  ) {
    self.title = title.map(CatalogueView.cut)
    self.modified = modified
    self.deltas = deltas
    self.records = records
    self.size = size
  }

  init(_ summary: StoreSummary) {
    self.init(
      title: summary.title, modified: summary.modified, deltas: summary.deltas,
      records: UInt64(max(0, summary.records)), size: UInt64(max(0, summary.size)))
  }

  private static func cut(_ title: String) -> String {
    guard title.utf8.count > titleBytesMax else { return title }
    var result = ""
    for character in title.unicodeScalars {
      if result.utf8.count + UTF8.width(character) > titleBytesMax { break }
      result.unicodeScalars.append(character)
    }
    return result
  }
}

/// From the older to the newer view. A state that has all that another has, and more, is newer: its
/// newest delta is no older, and it has more of them. Beyond that the order only has to be total,
/// so that all devices choose alike.
extension CatalogueView: Comparable {
  package static func < (a: CatalogueView, b: CatalogueView) -> Bool {
    let (x, y) = (a.modified ?? .min, b.modified ?? .min)
    if x != y { return x < y }
    if a.deltas != b.deltas { return a.deltas < b.deltas }
    if a.records != b.records { return a.records < b.records }
    if a.size != b.size { return a.size < b.size }
    // By bytes: `<` of strings takes different bytes that mean the same characters for equal.
    let (s, t) = (Array((a.title ?? "").utf8), Array((b.title ?? "").utf8))
    if s != t { return s.lexicographicallyPrecedes(t) }
    return a.title == nil && b.title != nil
  }

  package static func == (a: CatalogueView, b: CatalogueView) -> Bool { !(a < b) && !(b < a) }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(modified)
    hasher.combine(deltas)
  }
}

/// Flags u8 (1: a title follows, 2: a time follows), then these and three varints.
extension CatalogueView {
  func encode(into out: inout [UInt8]) {
    out.put(UInt8((title == nil ? 0 : 1) | (modified == nil ? 0 : 2)))
    if let title { out.putString(title) }
    if let modified { out.putZigzag(modified) }
    out.putVarint(deltas)
    out.putVarint(records)
    out.putVarint(size)
  }

  init(_ reader: inout ByteReader) throws(DecodeError) {
    let flags = try reader.u8()
    guard flags & ~3 == 0 else { throw .malformed("the flags of a view") }
    let title = flags & 1 != 0 ? try reader.string() : nil
    guard title?.utf8.count ?? 0 <= CatalogueView.titleBytesMax else { throw .limit }
    let modified = flags & 2 != 0 ? try reader.zigzag() : nil
    self.init(
      title: title, modified: modified, deltas: try reader.varint(),
      records: try reader.varint(), size: try reader.varint())
  }
}
