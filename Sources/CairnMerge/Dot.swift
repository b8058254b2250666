/// The name of one delta: its device and that device's dense counter, which starts at 1.
package struct Dot: Hashable, Sendable {
  package var device: DeviceID
  package var sequence: UInt64

  package init(device: DeviceID, sequence: UInt64) {
    self.device = device
    self.sequence = sequence
  }
}

extension Dot: Comparable {
  /// A total order for sorted arrays; it says nothing about which delta came first.
  package static func < (a: Dot, b: Dot) -> Bool {
    a.device == b.device ? a.sequence < b.sequence : a.device < b.device
  }
}

extension Dot: CustomStringConvertible {
  package var description: String { "\(device).\(sequence)" }
}
