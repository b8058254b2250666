import CairnBytes
import CairnLog

extension PublishedSegment {
  /// What may stand for a chain here: this module does not look into packs, and so takes any.
  static func chain(_ before: UInt128, _ pack: [UInt8]) -> UInt128 {
    var bytes: [UInt8] = []
    for half in [before, before >> 64, XXH3.hash128(pack), XXH3.hash128(pack) >> 64] {
      bytes.put(UInt64(truncatingIfNeeded: half))
    }
    return XXH3.hash128(bytes)
  }
}
