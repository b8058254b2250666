/// The name of one delta: its device and that device's dense counter, which starts at 1.
@frozen
@usableFromInline
package struct Dot: Hashable, Sendable {
  @usableFromInline package var device: DeviceID
  @usableFromInline package var sequence: UInt64

  @inlinable
  package init(device: DeviceID, sequence: UInt64) {
    self.device = device
    self.sequence = sequence
  }

  @inlinable
  package static func == (a: Dot, b: Dot) -> Bool {
    a.sequence == b.sequence && a.device == b.device
  }
}

extension Dot: Comparable {
  /// A total order for sorted arrays; it says nothing about which delta came first.
  @inlinable
  package static func < (a: Dot, b: Dot) -> Bool {
    a.device == b.device ? a.sequence < b.sequence : a.device < b.device
  }
}

extension Dot: CustomStringConvertible {
  @usableFromInline package var description: String { "\(device).\(sequence)" }
}
