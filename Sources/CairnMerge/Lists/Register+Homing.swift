/// Edits that are committed once more, on a state that may not have what they name.
extension Register {
  /// The edit, with a home for new items that hang on nodes which are not here: the end of the list
  /// that it names, or of the visible one. Nil if there is no list that they could be put into.
  ///
  /// New nodes keep their numbers, so that later edits find them.
  package func homed(_ edit: ListEdit, _ rule: Rule) -> ListEdit? {
    var register = self
    guard let index = register.openNamed(edit) ?? register.openVisible(rule) else { return nil }
    return register.lists[index].homed(edit)
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
      joined.moves += chain.moves.map {
        ListEdit.Move(offset: joined.count + $0.offset, item: $0.item)
      }
      joined.count += chain.count
    }
    var edit = edit
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

extension ListEdit {
  /// The items that it puts in; not what only counts.
  package var newItems: [FieldValue] {
    let counted = isNumberedOn ? Int(chains[0].count) : 0
    return Array(inserted.values.dropFirst(counted))
  }
}
