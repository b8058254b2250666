import CairnBytes

/// Checksums over what a test has bent.
enum XXH3Sum {
  static func of(_ bytes: [UInt8], _ range: Range<Int>) -> UInt64 { XXH3.hash64(bytes, range) }
}

/// A MIGRATION file of a move into a root.
enum MigrationSample {
  static var bytes: [UInt8] {
    var out: [UInt8] = Array("CAIRNMIG".utf8)
    out.put(UInt16(1))
    out.put(UInt16(1))
    out.put(UInt32(1))
    out.put(UInt64(7))
    out.putString("/elsewhere")
    out.putVarint(1)
    out.putString("p-other")
    out.putString("")
    out.put(XXH3.hash64(out))
    return out
  }
}
