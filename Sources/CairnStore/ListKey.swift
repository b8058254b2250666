import CairnMerge

/// A field of a record in the overlay.
struct ListKey: Hashable {
  var slot: UInt32
  var column: UInt32

  init(slot: Int, column: Int) {
    self.slot = UInt32(slot)
    self.column = UInt32(column)
  }
}

/// What a commit says about a list.
enum ListChange {
  case splices(ListSplices)
  case edit(ListEdit)
}
