/// A write of a field that no other write has covered. More than one in a register is a conflict.
package struct Entry: Content {
  package var stamp: Stamp
  package var born: [Dot]
  /// Nil is an explicit absent: the field was removed. Of a list that was edited, which has a
  /// `ListState` of its own, this is empty.
  package var value: FieldValue?
  /// The value is the result of an addition, not a plain put.
  package var isAdd: Bool
  /// The value is a list that came to be by editing an absent field.
  package var isCreated: Bool

  package init(
    stamp: Stamp, born: [Dot], value: FieldValue?, isAdd: Bool, isCreated: Bool = false
  ) {
    self.stamp = stamp
    self.born = born
    self.value = value
    self.isAdd = isAdd
    self.isCreated = isCreated
  }

  package var isList: Bool { if case .list = value { true } else { false } }
}
