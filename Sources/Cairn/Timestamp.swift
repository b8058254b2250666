internal import CairnDisk

/// A point in time, in whole milliseconds since 1970-01-01 UTC.
///
/// Foundation is not needed for it; where it is there, `Date` and this come of each other by their
/// seconds: `Timestamp(secondsSince1970: date.timeIntervalSince1970)`,
/// `Date(timeIntervalSince1970: timestamp.secondsSince1970)`.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01 UTC; negative before.
  public var millisecondsSince1970: Int64

  /// The point in time so many milliseconds after 1970-01-01 UTC.
  public init(millisecondsSince1970: Int64) {
    self.millisecondsSince1970 = millisecondsSince1970
  }

  /// The point in time so many seconds after 1970-01-01 UTC, to the nearest millisecond.
  ///
  /// The seconds have to be a number of which the milliseconds fit into 64 bits, some 292 million
  /// years either way: as with `Int64(_:)`, what does not fit, or is no number, ends the process.
  public init(secondsSince1970: Double) {
    self.init(millisecondsSince1970: Int64((secondsSince1970 * 1000).rounded()))
  }

  /// Now, by this computer's clock, which people may set. A system call, tens of nanoseconds.
  public static var now: Timestamp { Timestamp(millisecondsSince1970: SystemClock().now()) }

  /// Seconds since 1970-01-01 UTC, with their fraction; negative before.
  public var secondsSince1970: Double { Double(millisecondsSince1970) / 1000 }

  public static func < (a: Timestamp, b: Timestamp) -> Bool {
    a.millisecondsSince1970 < b.millisecondsSince1970
  }
}
