/// A write of a field that no other write has covered. More than one in a register is a conflict.
package struct Entry: Content {
  package var stamp: Stamp
  package var born: [Dot]
  /// Nil is an explicit absent: the field was removed.
  package var value: FieldValue?
  /// The value is the result of an addition, not a plain put.
  package var isAdd: Bool

  package init(stamp: Stamp, born: [Dot], value: FieldValue?, isAdd: Bool) {
    self.stamp = stamp
    self.born = born
    self.value = value
    self.isAdd = isAdd
  }
}
