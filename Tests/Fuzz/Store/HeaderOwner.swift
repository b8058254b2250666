import CairnBytes

/// The datastore that a file with a header says it belongs to.
package enum HeaderOwner {
  package static func of(_ bytes: [UInt8]) -> UInt128 {
    guard bytes.count >= 32 else { return 0 }
    return UInt128(bytes.u64(at: 24)) << 64 | UInt128(bytes.u64(at: 16))
  }
}
