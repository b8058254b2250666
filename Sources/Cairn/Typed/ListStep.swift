/// One step that turns a list into another. Indices are those of the list as the steps before have
/// left it.
package enum ListStep<Item: Equatable & Sendable>: Equatable, Sendable {
  /// Puts an item before the one that is at the index, or at the end.
  case insert(Item, at: Int)
  /// Takes the item at the index away.
  case remove(at: Int)
  /// Puts another item in the place of the one at the index.
  case replace(at: Int, with: Item)

  /// Few steps from one list to another, in the order in which they apply: what both begin and end
  /// with stays, what is between is replaced item by item, and what is left over inserted or
  /// removed. Cost: one walk over both lists.
  package static func steps(from old: [Item], to new: [Item]) -> [ListStep] {
    let shorter = min(old.count, new.count)
    var prefix = 0
    while prefix < shorter, old[prefix] == new[prefix] { prefix += 1 }
    var suffix = 0
    while suffix < shorter - prefix, old[old.count - 1 - suffix] == new[new.count - 1 - suffix] {
      suffix += 1
    }
    let (oldEnd, newEnd) = (old.count - suffix, new.count - suffix)
    let replacedEnd = min(oldEnd, newEnd)
    var result: [ListStep] = []
    for index in prefix..<replacedEnd where old[index] != new[index] {
      result.append(.replace(at: index, with: new[index]))
    }
    for index in replacedEnd..<newEnd { result.append(.insert(new[index], at: index)) }
    // From the end, so that the others stay where they are.
    for index in (replacedEnd..<oldEnd).reversed() { result.append(.remove(at: index)) }
    return result
  }
}
