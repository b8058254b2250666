/// One step that turns a list into another. Indices are those of the list as the steps before have
/// left it.
package enum ListStep<Item: Hashable & Sendable>: Equatable, Sendable {
  /// Puts an item before the one that is at the index, or at the end.
  case insert(Item, at: Int)
  /// Takes the item at the index away.
  case remove(at: Int)
  /// Puts another item in the place of the one at the index.
  case replace(at: Int, with: Item)

  /// Few steps from one list to another, in the order in which they apply.
  ///
  /// Items that both have in the same order stay what they are: a device that moved or replaced
  /// one at the same time means that one. Between two that stay, items are replaced one by one, and
  /// what is left over inserted or removed. Cost: one walk over what both begin and end with; for
  /// what is between, its length by the number of steps.
  package static func steps(from old: [Item], to new: [Item]) -> [ListStep] {
    let ends = CommonEnds(old, new)
    let prefix = ends.prefix
    let oldRange = prefix..<(old.count - ends.suffix)
    let newRange = prefix..<(new.count - ends.suffix)
    guard !oldRange.isEmpty, !newRange.isEmpty,
      oldRange.count + newRange.count <= longestSearched
    else { return gap(from: oldRange.count, at: prefix, to: new[newRange]) }

    // What stays, of those in between.
    let difference = Array(new[newRange]).difference(from: Array(old[oldRange]))
    var removed = Set<Int>()
    var inserted = Set<Int>()
    for change in difference {
      switch change {
      case .remove(let offset, _, _): removed.insert(prefix + offset)
      case .insert(let offset, _, _): inserted.insert(prefix + offset)
      }
    }
    var result: [ListStep] = []
    var (from, to) = (prefix, prefix)
    while from < oldRange.upperBound || to < newRange.upperBound {
      let (oldStart, start) = (from, to)
      while removed.contains(from) { from += 1 }
      while inserted.contains(to) { to += 1 }
      // All before `start` is as it shall be already.
      result += gap(from: from - oldStart, at: start, to: new[start..<to])
      from += 1
      to += 1
    }
    return result
  }

  /// More items than these are not searched for what stays: that takes memory by their square.
  private static var longestSearched: Int { 2048 }

  /// Steps that make some items at an index others.
  private static func gap(
    from count: Int, at start: Int, to new: ArraySlice<Item>
  ) -> [ListStep] {
    var result: [ListStep] = []
    for (offset, item) in new.enumerated() {
      let index = start + offset
      result.append(offset < count ? .replace(at: index, with: item) : .insert(item, at: index))
    }
    // From the end, so that the others stay where they are.
    if new.count < count {
      for offset in (new.count..<count).reversed() { result.append(.remove(at: start + offset)) }
    }
    return result
  }

  /// Steps after which a list has the items of a set, in whatever order and however often: what is
  /// not in the set is removed, what is new goes to the end. No item is replaced by another, so
  /// that what several devices put in is all there.
  package static func steps(from old: [Item], toSet new: [Item]) -> [ListStep] {
    let (before, after) = (Set(old), Set(new))
    var result: [ListStep] = []
    for index in old.indices.reversed() where !after.contains(old[index]) {
      result.append(.remove(at: index))
    }
    var end = old.count - result.count
    for item in new where !before.contains(item) {
      result.append(.insert(item, at: end))
      end += 1
    }
    return result
  }

  /// What a list is after some steps that were made for it.
  package static func applying(_ steps: [ListStep], to list: [Item]) -> [Item] {
    var list = list
    for step in steps {
      switch step {
      case .insert(let item, let index): list.insert(item, at: index)
      case .remove(let index): list.remove(at: index)
      case .replace(let index, let item): list[index] = item
      }
    }
    return list
  }
}
