/// What times tell of the clocks that they are from.
enum FormatTime {
  /// 2025-01-01. No version of the library is older: a clock that shows less is wrong, as those of
  /// devices are whose battery was empty.
  static let began: Int64 = 1_735_689_600_000
}
