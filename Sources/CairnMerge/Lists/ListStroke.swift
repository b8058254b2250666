/// All that a keystroke does to a list: it puts one item in, or takes one out. A `ListEdit` or
/// `ListSplices` of one change that has no memory of its own.
package struct ListStroke: Sendable {
  /// Of the item. One that is put in is the last of the list.
  let slot: UInt32
  let isRemoval: Bool
  /// What a new item hangs on, and on which side; an item that is taken out stands for itself. Not
  /// said of a list that nobody else edits.
  var node: UInt32 = 0
  var side = ListEdit.Side.right
  /// The name of that node.
  var id = NodeID(Stamp.settled.dot, 0)
  /// How many items come before it, in a list that nobody else edits.
  var index = 0

  init(slot: UInt32, isRemoval: Bool) {
    self.slot = slot
    self.isRemoval = isRemoval
  }
}
