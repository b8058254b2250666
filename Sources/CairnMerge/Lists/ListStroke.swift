/// All that a keystroke does to a list: it puts one item in, or takes one out. A `ListEdit` or
/// `ListSplices` of one change that has no memory of its own, and is handed on in registers.
package struct ListStroke: Sendable {
  /// Of the item. One that is put in is the last of the list.
  let slot: UInt32
  /// What a new item hangs on, and on which side; an item that is taken out stands for itself. Of
  /// no importance in a list that nobody else edits.
  var node: UInt32
  var side = ListEdit.Side.right
  let isRemoval: Bool

  init(slot: UInt32, isRemoval: Bool) {
    (self.slot, self.isRemoval) = (slot, isRemoval)
    node = slot
  }
}
