/// Which delta wrote something, and when its device's clock said it did.
///
/// Stamps are compared in *commit order*: by time, then device, then sequence. The order decides
/// between concurrent writes only: what has seen another write beats it whatever the clocks say.
@frozen
@usableFromInline
package struct Stamp: Hashable, Sendable {
  @usableFromInline package var dot: Dot
  /// Milliseconds since 1970 by the device's own clock, which never runs backwards.
  @usableFromInline package var time: Int64

  @inlinable
  package init(dot: Dot, time: Int64) {
    self.dot = dot
    self.time = time
  }

  @inlinable
  package static func == (a: Stamp, b: Stamp) -> Bool { a.dot == b.dot && a.time == b.time }

  /// The stamp of content that everybody has seen, so that nobody need know who wrote it or when.
  ///
  /// Its sequence is 0, so every version vector contains it and every later write covers it.
  @inlinable package static var settled: Stamp {
    Stamp(dot: Dot(device: DeviceID(rawValue: 0), sequence: 0), time: 0)
  }

  @inlinable package var isSettled: Bool { dot.sequence == 0 }
}

extension Stamp: Comparable {
  @inlinable
  package static func < (a: Stamp, b: Stamp) -> Bool {
    a.time == b.time ? a.dot < b.dot : a.time < b.time
  }
}
