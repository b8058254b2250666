/// The type byte of a stored value. Embedded in every format: DO NOT CHANGE THESE NUMBERS.
///
/// Computed and inlinable: other modules would call a function for each stored constant.
@usableFromInline
package enum CellTag {
  /// No cell: the field was never written here (a column of an overlay: look below it).
  @inlinable package static var none: UInt8 { 0 }
  /// An explicit absent: the field was removed.
  @inlinable package static var absent: UInt8 { 1 }
  @inlinable package static var no: UInt8 { 2 }
  @inlinable package static var yes: UInt8 { 3 }
  @inlinable package static var int: UInt8 { 4 }
  @inlinable package static var double: UInt8 { 5 }
  @inlinable package static var date: UInt8 { 6 }
  @inlinable package static var string: UInt8 { 7 }
  @inlinable package static var bytes: UInt8 { 8 }
  @inlinable package static var list: UInt8 { 9 }
  /// A list that came to be by editing an absent field: those of several devices are one list.
  @inlinable package static var createdList: UInt8 { 10 }
  /// The largest tag that is defined.
  @inlinable package static var last: UInt8 { 10 }
  /// A list that is being edited: the word says where it is. In memory only, never stored.
  @inlinable package static var editedList: UInt8 { 0xFE }

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
