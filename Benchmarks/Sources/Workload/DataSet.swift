/// The numbers of the data set; `Benchmarks/README.md` defines it.
public enum DataSet {
  public static let small = 10_000
  public static let big = 100_000
  public static let batch = 1_000
  public static let updates = 1_000_000
  public static let gets = 1_000_000
  public static let wantedCategory: Int64 = 42
  public static let wantedOwner = "user-0042"
  public static let firstRead: UInt64 = 77_777
}

/// What a right answer is. Sums are of prices.
public enum Expected {
  /// The 10,000 records after the 2,000 commits of W1.
  public static let durable = 50_035_887.92
  /// The 100,000 records as loaded.
  public static let loaded = 500_838_060.31
  public static let firstRead = 2_022.07
  public static let gets = 5_008_905_283.54
  /// The first 200,000 of the point reads.
  public static let fewGets = 1_001_855_991.07
  public static let category = 4_834_414.23
  public static let owner = 511_359.96
  /// The 100,000 records after the 1,000,000 updates of W6.
  public static let updated = 500_260_807.95
  /// The same after the first 200,000 updates.
  public static let fewUpdated = 501_096_431.14
  /// The 10,000 records after the 100,000 remote changes of W7.
  public static let merged = 49_753_625.00
}

/// One step of splitmix64, the only source of chance.
@inlinable
public func mix64(_ seed: UInt64) -> UInt64 {
  var x = seed &+ 0x9E37_79B9_7F4A_7C15
  x = (x ^ (x >> 30)) &* 0xBF58_476D_1CE4_E5B9
  x = (x ^ (x >> 27)) &* 0x94D0_49BB_1331_11EB
  return x ^ (x >> 31)
}

/// The record, out of `count`, that step `t` of a workload touches.
@inlinable
public func pick(_ t: Int, of count: Int) -> UInt64 {
  mix64(UInt64(t) &+ 0xABC0_0000_0000) % UInt64(count)
}

/// The price that step `t` writes.
@inlinable
public func newPrice(_ t: Int) -> Double {
  Double(mix64(UInt64(t) &+ 0xDEF0_0000_0000) % 1_000_000) / 100
}

/// The modification date that step `t` writes, in milliseconds since 1970.
@inlinable
public func newModified(_ t: Int) -> Int64 { 1_700_000_000_000 + 1_000 * Int64(t) }
