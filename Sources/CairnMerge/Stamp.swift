/// Which delta wrote something, and when its device's clock said it did.
///
/// Stamps are compared in *commit order*: by time, then device, then sequence. The order decides
/// between concurrent writes only: what has seen another write beats it whatever the clocks say.
package struct Stamp: Hashable, Sendable {
  package var dot: Dot
  /// Milliseconds since 1970 by the device's own clock, which never runs backwards.
  package var time: Int64

  package init(dot: Dot, time: Int64) {
    self.dot = dot
    self.time = time
  }

  /// The stamp of content that everybody has seen, so that nobody need know who wrote it or when.
  ///
  /// Its sequence is 0, so every version vector contains it and every later write covers it.
  package static let settled = Stamp(
    dot: Dot(device: DeviceID(rawValue: 0), sequence: 0), time: 0)

  package var isSettled: Bool { dot.sequence == 0 }
}

extension Stamp: Comparable {
  package static func < (a: Stamp, b: Stamp) -> Bool {
    a.time == b.time ? a.dot < b.dot : a.time < b.time
  }
}
