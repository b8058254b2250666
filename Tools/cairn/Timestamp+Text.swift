import Cairn

extension Timestamp {
  /// The moment as `2026-01-31 23:59:59.123 UTC`. Any 64 bits are some moment; years beyond four
  /// digits are written as they are.
  var text: String {
    let (days, ofDay) = Self.divide(millisecondsSince1970, 86_400_000)
    let (year, month, day) = Self.date(days)
    let (seconds, milliseconds) = Self.divide(ofDay, 1000)
    let date = [Self.padded(year, 4), Self.padded(month, 2), Self.padded(day, 2)]
    let time = [
      Self.padded(seconds / 3600, 2), Self.padded(seconds / 60 % 60, 2),
      Self.padded(seconds % 60, 2),
    ]
    return date.joined(separator: "-") + " " + time.joined(separator: ":") + "."
      + Self.padded(milliseconds, 3) + " UTC"
  }

  /// Division that rounds down, so that the rest is never negative.
  private static func divide(_ value: Int64, _ by: Int64) -> (Int64, Int64) {
    let rest = ((value % by) + by) % by
    // By parts: value - rest may be out of range.
    return (value / by - (value % by < 0 ? 1 : 0), rest)
  }

  /// The Gregorian date of a day, counted from 1970-01-01. Years begin in March meanwhile, so that
  /// the odd day of a leap year is the last.
  private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, day) = divide(days + 719_468, 146_097)
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let dayOfYear = day - (365 * year + year / 4 - year / 100)
    let month = (5 * dayOfYear + 2) / 153
    let isEarly = month >= 10
    return (
      year + era * 400 + (isEarly ? 1 : 0), isEarly ? month - 9 : month + 3,
      dayOfYear - (153 * month + 2) / 5 + 1
    )
  }

  private static func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value.magnitude)
    let zeros = String(repeating: "0", count: max(0, width - digits.count))
    return (value < 0 ? "-" : "") + zeros + digits
  }
}
