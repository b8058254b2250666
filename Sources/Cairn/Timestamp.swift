/// A point in time, in whole milliseconds since 1970-01-01 UTC.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01 UTC; negative before.
  public var millisecondsSince1970: Int64

  /// The point in time so many milliseconds after 1970-01-01 UTC.
  public init(millisecondsSince1970: Int64) {
    self.millisecondsSince1970 = millisecondsSince1970
  }

  public static func < (a: Timestamp, b: Timestamp) -> Bool {
    a.millisecondsSince1970 < b.millisecondsSince1970
  }
}
