/// Edits that are committed once more, on a state that may not have what they name.
extension Register {
  /// The edit, with a home for new items that hang on nodes which are not here: the end of the list
  /// that it names, or of the visible one. Nil if there is no list that they could be put into.
  ///
  /// New nodes keep their numbers, so that later edits find them.
  package func homed(_ edit: ListEdit, _ rule: Rule) -> ListEdit? {
    var register = self
    guard let index = register.openHome(of: edit, rule) else { return nil }
    return register.lists[index].homed(edit)
  }

  /// The delta that the list began with in which an edit has its home; nil if there is none.
  package func home(of edit: ListEdit, _ rule: Rule) -> Dot? {
    var register = self
    guard let index = register.openHome(of: edit, rule) else { return nil }
    return register.lists[index].firstRoot
  }

  private mutating func openHome(of edit: ListEdit, _ rule: Rule) -> Int? {
    openNamed(edit) ?? openVisible(rule)
  }

  /// The edit that puts the items of a list which was begun apart behind those of the visible one.
  /// Nil if what is visible is none.
  package func appending(_ items: [FieldValue], _ rule: Rule) -> ListEdit? {
    var register = self
    guard let index = register.openVisible(rule) else { return nil }
    return register.lists[index].appending(items)
  }
}

extension ListState {
  fileprivate func appending(_ items: [FieldValue]) -> ListEdit {
    var edit = ListEdit()
    guard !items.isEmpty, let last = rope.last else { return edit }
    edit.chains = [
      ListEdit.Chain(parent: authors.id(of: last), side: .right, count: UInt32(items.count))
    ]
    edit.inserted = ListItems(items)
    // Number 0 was that list's root: without it the items have the names that later edits know.
    edit.numberOn(from: 1, root: firstRoot)
    return edit
  }

  fileprivate func homed(_ edit: ListEdit) -> ListEdit {
    guard edit.chains.contains(where: { !hasHome($0) }), let last = rope.last else { return edit }
    let end = authors.id(of: last)
    // Two chains of one delta can't hang on the same side of one node, and what lies between them
    // has its numbers between theirs: so all of it goes.
    let moved = edit.chains.indices.filter {
      !hasHome(edit.chains[$0]) || edit.chains[$0].parent == end && edit.chains[$0].side == .right
    }
    let range = moved[0]...moved[moved.count - 1]
    var joined = ListEdit.Chain(parent: end, side: .right, count: 0)
    for chain in edit.chains[range] {
      joined.moves += chain.places.map {
        ListEdit.Move(offset: joined.count + $0.offset, item: $0.item)
      }
      joined.count += chain.count
    }
    var edit = edit
    edit.dropCounted(in: range)
    edit.chains.replaceSubrange(range, with: [joined])
    return edit
  }

  private func hasHome(_ chain: ListEdit.Chain) -> Bool {
    // Numbers want none.
    if chain.isNowhere { return true }
    guard let parent = slot(chain.parent) else { return false }
    return chain.side == .right || parents[Int(parent)] != ListState.rootParent
  }
}

extension ListEdit.Chain {
  /// Which of its nodes are places of items. A chain has no gaps: numbers that only count are
  /// places of nothing in it.
  fileprivate var places: [ListEdit.Move] {
    isNowhere ? (0..<count).map { ListEdit.Move(offset: $0, item: parent) } : moves
  }

  /// How many values it has among those that are inserted.
  fileprivate var valueCount: Int { Int(count) - moves.count }
}

extension ListEdit {
  /// Whether it says anything of nodes of such deltas.
  package func names(_ isStrange: (Dot) -> Bool) -> Bool {
    chains.contains { chain in
      !chain.isNowhere && isStrange(chain.parent.dot)
        || chain.moves.contains { isStrange($0.item.dot) }
    } || deleted.contains { isStrange($0.first.dot) }
      || replaced.contains { isStrange($0.dot) }
  }

  /// Without what it says of nodes of such deltas; what it puts beside them has no place.
  package func forgetting(_ isStrange: (Dot) -> Bool) -> ListEdit {
    // No delta has so many nodes; and what had different places keeps them.
    func name(_ id: NodeID) -> NodeID {
      guard isStrange(id.dot), id.index != NodeID.nowhere else { return id }
      return NodeID(id.dot, NodeID.nowhere - 1 - id.index)
    }
    var edit = renamed(name)
    edit.deleted = deleted.filter { !isStrange($0.first.dot) }
    let kept = replaced.indices.filter { !isStrange(replaced[$0].dot) }
    edit.replaced = kept.map { replaced[$0] }
    edit.replacements = ListItems(kept.map { replacements.value($0) })
    return edit
  }

  /// The items that it puts in; not what only counts.
  package var newItems: [FieldValue] {
    var (items, next): ([FieldValue], Int) = ([], 0)
    for chain in chains {
      if !chain.isNowhere { items += (next..<next + chain.valueCount).map(inserted.value) }
      next += chain.valueCount
    }
    return items
  }

  /// Leaves out the values of those chains of a range that only count.
  fileprivate mutating func dropCounted(in range: ClosedRange<Int>) {
    guard chains[range].contains(where: \.isNowhere) else { return }
    var (left, next) = (ListItems(), 0)
    for (number, chain) in chains.enumerated() {
      if !chain.isNowhere || !range.contains(number) {
        for index in next..<next + chain.valueCount { left.append(index, of: inserted) }
      }
      next += chain.valueCount
    }
    inserted = left
  }

  /// Does from now on what another edit of the same delta does as well, which named another list
  /// and is to go where this one goes: a list takes one edit of a delta. New nodes keep their
  /// numbers; the other's are numbered on from here, or from a third list's.
  package mutating func join(_ other: ListEdit) {
    var (added, known) = (other.chains, 0)
    if other.isNumberedOn {
      known = min(nodeCount, Int(added[0].count))
      added[0].count -= UInt32(known)
      if added[0].count == 0 { added.removeFirst() }
    }
    chains += added
    for index in 0..<other.inserted.count where index >= known {
      inserted.append(index, of: other.inserted)
    }
    deleted = (deleted + other.deleted).sorted { $0.first < $1.first }
    let values = replacements.values + other.replacements.values
    let names = replaced + other.replaced
    let order = names.indices.sorted { names[$0] < names[$1] }
    replaced = order.map { names[$0] }
    replacements = ListItems(order.map { values[$0] })
  }
}
