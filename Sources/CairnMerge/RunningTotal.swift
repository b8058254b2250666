/// How far a device's additions to a field had come with its delta `last`: what a plain put says
/// that it has seen of them.
package struct RunningTotal: Hashable, Sendable {
  package var device: DeviceID
  /// The sequence of the last delta that is counted. It also tells the run: one that began later
  /// counts from zero.
  package var last: UInt64
  package var total: Number

  package init(device: DeviceID, last: UInt64, total: Number) {
    self.device = device
    self.last = last
    self.total = total
  }
}
