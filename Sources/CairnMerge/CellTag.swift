/// The type byte of a stored value. Embedded in every format: DO NOT CHANGE THESE NUMBERS.
package enum CellTag {
  /// No cell: the field was never written here (a column of an overlay: look below it).
  package static let none: UInt8 = 0
  /// An explicit absent: the field was removed.
  package static let absent: UInt8 = 1
  package static let no: UInt8 = 2
  package static let yes: UInt8 = 3
  package static let int: UInt8 = 4
  package static let double: UInt8 = 5
  package static let date: UInt8 = 6
  package static let string: UInt8 = 7
  package static let bytes: UInt8 = 8
  package static let list: UInt8 = 9
  /// A list that came to be by editing an absent field: those of several devices are one list.
  package static let createdList: UInt8 = 10
  /// The largest tag that is defined.
  package static let last: UInt8 = 10
  /// A list that is being edited: the word says where it is. In memory only, never stored.
  package static let editedList: UInt8 = 0xFE

  /// Whether the word of such a cell refers to bytes in a heap.
  @inlinable @inline(always)
  package static func isHeap(_ tag: UInt8) -> Bool { tag >= string }

  /// Whether such a cell's bytes are items.
  @inlinable @inline(always)
  package static func isList(_ tag: UInt8) -> Bool { tag == list || tag == createdList }

  /// Whether such a cell holds a value.
  @inlinable @inline(always)
  package static func isValue(_ tag: UInt8) -> Bool { tag > absent }
}
