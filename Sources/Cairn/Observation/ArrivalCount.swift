/// How often something has come, kept beside values for which it makes no difference: any two are
/// equal.
struct ArrivalCount: Hashable, Sendable {
  var count: UInt64 = 0

  static func == (a: ArrivalCount, b: ArrivalCount) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}
