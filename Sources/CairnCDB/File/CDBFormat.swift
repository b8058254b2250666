/// How wide the numbers in a cdb file are.
@nonexhaustive
public enum CDBFormat: String, Hashable, Sendable, CaseIterable {
  /// The original format of 1996: numbers of 32 bits, files of up to 4 GiB. Every cdb tool reads
  /// it.
  case cdb
  /// Bernstein's cdb64: positions, lengths and hashes have 64 bits.
  case cdb64
  /// The layout of cdb64 with hashes of 32 bits, as the Python package pure-cdb (`Writer64`) has
  /// it.
  ///
  /// A file does not tell the two apart, and for keys of up to five bytes they are the same.
  /// ``CDBFile`` looks for a key under both hashes, and calls either file ``cdb64``.
  case cdb64Hash32
}

extension CDBFormat {
  /// Bytes of a number.
  var wordSize: Int { self == .cdb ? 4 : 8 }
  /// A pair of numbers: a pointer to a table, a slot, the lengths before a record.
  var pairSize: Int { 2 * wordSize }
  /// The pointers to the 256 tables, with which a file begins.
  var headerSize: Int { 256 * pairSize }

  /// The largest file: one byte more has no position. For 64 bits, what the disk's calls can say.
  var largestFile: UInt64 { self == .cdb ? 0xFFFF_FFFF : UInt64(Int64.max) }

  /// The hash of a key as it is in a slot.
  func hash(_ full: UInt64) -> UInt64 { self == .cdb64 ? full : full & 0xFFFF_FFFF }
}
