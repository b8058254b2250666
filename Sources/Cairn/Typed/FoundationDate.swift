/// Foundation's points in time, as they encode themselves: seconds since 2001-01-01 UTC.
enum FoundationDate {
  /// 2001-01-01 UTC, in milliseconds since 1970.
  private static let epoch = 978_307_200_000.0

  /// Milliseconds since 1970, to the nearest; nil if there are too many of them, or none.
  static func milliseconds(_ seconds: Double) -> Int64? {
    let milliseconds = (seconds * 1000).rounded() + epoch
    // The last half second that a field can hold reads as the double behind it.
    if milliseconds == 0x1p63 { return .max }
    return Int64(exactly: milliseconds)
  }

  static func seconds(_ milliseconds: Int64) -> Double {
    (Double(milliseconds) - epoch) / 1000
  }
}
