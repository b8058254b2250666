/// Lists that were edited: each belongs to the entry that put it, or to all that created it.
extension Register {
  func listIndex(_ entry: Entry) -> Int? {
    if entry.isCreated { return lists.last?.isCreated == true ? lists.count - 1 : nil }
    return lists.firstIndex { !$0.isCreated && $0.hasRoot(entry.dot) }
  }

  /// Applies an edit to the list that it names; one that is not here any more takes it along.
  package mutating func apply(_ edit: ListEdit, stamp: Stamp, context: VersionVector) {
    guard let index = openNamed(edit) else { return }
    lists[index].apply(edit, stamp: stamp, context: context)
  }

  /// The same if the edited list is all there is in the field; returns by how much it grew. Nil,
  /// and nothing done, if it is not.
  package mutating func applyToOnlyList(
    _ edit: ListEdit, stamp: Stamp, context: VersionVector, _ rule: Rule
  ) -> Int? {
    guard entries.count == 1, lists.count == 1, lists[0].concerns(edit) else { return nil }
    let before = lists[0].size(rule)
    lists[0].apply(edit, stamp: stamp, context: context)
    return lists[0].size(rule) - before
  }

  /// Conflicts about items of the visible list.
  func itemConflicts(_ field: String, _ rule: Rule) -> [FieldConflict] {
    visibleList(rule).map { lists[$0].conflicts(field, rule) } ?? []
  }

  /// The list that an edit names, ready to be edited; nil if it is not here any more.
  mutating func openNamed(_ edit: ListEdit) -> Int? {
    lists.indices.first(where: { lists[$0].concerns(edit) }) ?? open(for: edit)
  }

  /// Makes the list that an edit names from the value that was put; nil if there is none.
  private mutating func open(for edit: ListEdit) -> Int? {
    for entry in entries where entry.isList && listIndex(entry) == nil {
      guard edit.names(entry.dot), let list = unedited(entry), list.concerns(edit) else { continue }
      return add(list)
    }
    return nil
  }

  /// The visible list, ready to be edited; nil if what is visible is none.
  package mutating func openVisible(_ rule: Rule) -> Int? {
    if let index = visibleList(rule) { return index }
    guard let entry = visibleEntry(rule), let list = unedited(entry) else { return nil }
    return add(list)
  }

  /// A list that nobody has edited, from the entries that it was put or created by.
  private func unedited(_ entry: Entry) -> ListState? {
    guard case .list(let items) = entry.value else { return nil }
    if !entry.isCreated { return ListState(items, stamp: entry.stamp, isCreated: false) }
    var list: ListState?
    for other in entries where other.isCreated {
      guard case .list(let items) = other.value else { continue }
      if list == nil {
        list = ListState(items, stamp: other.stamp, isCreated: true)
      } else {
        list?.addRoot(items, stamp: other.stamp)
      }
    }
    return list
  }

  /// The list has the items from now on; its entries need not have them as well.
  private mutating func add(_ list: ListState) -> Int {
    for index in entries.indices
    where entries[index].isCreated == list.isCreated && list.hasRoot(entries[index].dot) {
      entries[index].value = .list([])
    }
    if list.isCreated {
      lists.append(list)
      return lists.count - 1
    }
    let order = entries.map(\.dot)
    func place(_ list: ListState) -> Int {
      list.isCreated ? .max : order.firstIndex(of: list.rootDots[0]) ?? .max
    }
    let index = lists.firstIndex { place(list) < place($0) } ?? lists.count
    lists.insert(list, at: index)
    return index
  }

  /// One more device has created the list that is being edited here already.
  mutating func addRoot(_ stamp: Stamp) {
    guard let index = entries.firstIndex(where: { $0.stamp == stamp }),
      case .list(let items) = entries[index].value
    else { return }
    lists[lists.count - 1].addRoot(items, stamp: stamp)
    entries[index].value = .list([])
  }

  /// Entries were covered or killed: their lists go with them.
  mutating func dropLists() {
    if lists.isEmpty { return }
    let dots = Set(entries.map(\.dot))
    lists.removeAll { !$0.isCreated && !dots.contains($0.rootDots[0]) }
    var hasChanged = false
    for index in lists.indices {
      for root in lists[index].rootDots where !dots.contains(root) {
        lists[index].removeRoot(root)
        hasChanged = true
      }
    }
    if !hasChanged { return }
    lists.removeAll { $0.rootDots.isEmpty }
    closeUntouched()
  }

  /// A list of which only the edited part has gone, or that was opened and then not edited, is a
  /// value again, as if nobody had edited it: a state must not tell. Only a forged one is longer
  /// than a value can be.
  mutating func closeUntouched() {
    lists.removeAll { list in
      guard let values = list.untouched, values.allSatisfy({ ListCoding.fits($0.values) })
      else { return false }
      for (dot, items) in values {
        for index in entries.indices
        where entries[index].isCreated == list.isCreated && entries[index].dot == dot {
          entries[index].value = .list(items)
        }
      }
      return true
    }
  }

  /// Which of the lists is the visible one; nil if that is none which was opened.
  mutating func placeOfList(_ rule: Rule) -> Int? { visibleList(rule) }

  /// Which of the lists began with a delta; nil if there is none that was opened.
  mutating func placeOfList(root: Dot) -> Int? {
    for index in lists.indices where lists[index].hasRoot(root) { return index }
    return nil
  }

  // MARK: join

  mutating func joinLists(_ a: Register, _ aSide: JoinSide, _ b: Register, _ bSide: JoinSide) {
    lists = []
    var isCreatedDone = false
    for entry in entries where entry.isList && !(entry.isCreated && isCreatedDone) {
      if entry.isCreated { isCreatedDone = true }
      guard a.isEdited(entry) || b.isEdited(entry) else { continue }
      let dots = entries.filter { $0.isCreated == entry.isCreated }.map(\.dot)
      let roots = Set(entry.isCreated ? dots : [entry.dot])
      let (inA, inB) = (a.list(entry), b.list(entry))
      let joined: ListState
      switch (inA, inB) {
      case (let inA?, let inB?):
        joined = ListState.join(inA, aSide, inB, bSide, roots: roots)
      case (let only?, nil), (nil, let only?):
        joined = ListState.join(only, aSide, only, bSide, roots: roots)
      case (nil, nil): continue
      }
      _ = add(joined)
    }
    closeUntouched()
  }

  private func isEdited(_ entry: Entry) -> Bool { listIndex(entry) != nil }

  /// The list as this state has it: edited, or as it was put.
  private func list(_ entry: Entry) -> ListState? {
    if entry.isCreated, entries.contains(where: \.isCreated) {
      return lists.last?.isCreated == true
        ? lists.last : entries.first(where: \.isCreated).flatMap(unedited)
    }
    guard let mine = entries.first(where: { $0.dot == entry.dot }) else { return nil }
    return listIndex(mine).map { lists[$0] } ?? unedited(mine)
  }
}

extension Register {
  /// What is pending in the list that began with a delta, as an edit. False if there is nothing to
  /// say, or no such list.
  mutating func collectList(root: Dot, into edit: inout ListEdit) -> Bool {
    for index in lists.indices where lists[index].hasRoot(root) {
      if lists[index].collect(into: &edit) { return true }
      lists[index].rollBack()
      return false
    }
    return false
  }

  mutating func commitList(
    root: Dot, _ edit: ListEdit, stamp: Stamp, context: VersionVector
  ) {
    for index in lists.indices where lists[index].hasRoot(root) {
      lists[index].commit(edit, stamp: stamp, context: context)
      return
    }
  }
}

extension RecordState {
  /// Lists that were opened and not edited are values again. Before a state is written.
  package mutating func closeLists() {
    for (field, register) in fields where !register.lists.isEmpty {
      fields.update(field) { $0.closeUntouched() }
    }
  }
}

extension ListEdit {
  /// Whether it names a node of this delta.
  func names(_ dot: Dot) -> Bool {
    chains.contains { $0.parent.dot == dot || $0.moves.contains { $0.item.dot == dot } }
      || deleted.contains { $0.first.dot == dot } || replaced.contains { $0.dot == dot }
  }
}
