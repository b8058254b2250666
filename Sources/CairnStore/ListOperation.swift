package import CairnMerge

/// One edit of a list by index.
package enum ListOperation: Sendable {
  /// Before the item at the index; at the count: at the end.
  case insert(FieldValue, at: Int)
  /// Several of them, in order.
  case insertAll([FieldValue], at: Int)
  case append(FieldValue)
  case remove(at: Int)
  case removeLast
  case replace(at: Int, FieldValue)
  /// Takes an item out and puts it in again, so that it ends at `to`.
  case move(from: Int, to: Int)

  /// Nodes that it adds to a list, at most. An item that moves gets another one.
  @inline(__always)
  var nodes: Int {
    switch self {
    case .insert, .append, .move: 1
    case .insertAll(let values, _): values.count
    case .remove, .removeLast, .replace: 0
    }
  }
}
