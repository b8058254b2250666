/// Dates as HTTP and S3 write them, without a calendar of the system.
package enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// What stands for the time of Greenwich. No server has a reason to say another one.
  private static let zones: Set<String> = ["GMT", "UTC", "UT", "Z", "+0000"]

  /// `Sun, 06 Nov 1994 08:49:37 GMT` in milliseconds since 1970; nil for anything else.
  package static func parse(_ text: String) -> Int64? {
    let parts = text.split { $0 == " " || $0 == "-" || $0 == "," }
    guard parts.count == 6, zones.contains(String(parts[5])),
      let day = Int64(parts[1]), (1...31).contains(day),
      let month = months.firstIndex(of: String(parts[2])), let year = Int64(parts[3]),
      (1970...9999).contains(year)
    else { return nil }
    let clock = parts[4].split(separator: ":").compactMap { Int64($0) }
    guard clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]),
      (0...60).contains(clock[2])
    else { return nil }
    let days = days(year: year, month: Int64(month) + 1, day: day)
    return (days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]) * 1000
  }

  /// `2013-05-24T00:00:00.000Z` in milliseconds since 1970, to the second; nil for anything else.
  package static func parseISO(_ text: String) -> Int64? {
    let sides = text.split(separator: "T", omittingEmptySubsequences: false)
    guard sides.count == 2, sides[1].hasSuffix("Z") else { return nil }
    let date = sides[0].split(separator: "-").compactMap { Int64($0) }
    let clock = sides[1].prefix(8).split(separator: ":").compactMap { Int64($0) }
    guard date.count == 3, clock.count == 3, (1970...9999).contains(date[0]),
      (1...12).contains(date[1]), (1...31).contains(date[2]), (0...23).contains(clock[0]),
      (0...59).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    let days = days(year: date[0], month: date[1], day: date[2])
    return (days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]) * 1000
  }

  /// `20130524T000000Z`, as signatures want it.
  package static func compact(_ milliseconds: Int64) -> String {
    let seconds = milliseconds.floorDivided(by: 1000)
    let (year, month, day) = date(seconds.floorDivided(by: 86_400))
    let time = seconds - seconds.floorDivided(by: 86_400) * 86_400
    func padded(_ number: Int64, _ width: Int = 2) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    return padded(year, 4) + padded(month) + padded(day) + "T" + padded(time / 3600)
      + padded(time / 60 % 60) + padded(time % 60) + "Z"
  }

  /// Days since 1970-01-01 of a day in the Gregorian calendar.
  static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    // Years that begin in March, so that the leap day is the last.
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted.floorDivided(by: 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = shifted.floorDivided(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }
}

extension Int64 {
  fileprivate func floorDivided(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
