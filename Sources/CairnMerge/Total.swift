/// The sum of what one device has added to one field in one run of additions.
///
/// A run ends when a plain put that has seen all of it, or a delete, takes it away; the device's
/// next addition starts from zero again. A total never settles: whatever others have forgotten, its
/// device may go on counting from it.
package struct Total: Content {
  /// The delta that added last.
  package var stamp: Stamp
  package var born: [Dot]
  /// The sequence of the device's first delta in this run.
  package var since: UInt64
  package var total: Number

  package init(stamp: Stamp, born: [Dot], since: UInt64, total: Number) {
    self.stamp = stamp
    self.born = born
    self.since = since
    self.total = total
  }

  package var device: DeviceID { stamp.dot.device }
}
