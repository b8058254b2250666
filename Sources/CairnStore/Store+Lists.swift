package import CairnMerge

/// Lists, item by item.
extension Store {
  /// One edit of a list; the first one of an absent field makes the list.
  package func edit(
    table: String, id: RecordName, field: String, _ operation: ListOperation
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      try guarded.store.edit(number, id, field, operation, limits: options.limits)
    }
  }

  /// How many items the field's list has, nil if the field is absent.
  ///
  /// - Throws: `badType` if it holds something else.
  package func listCount(
    table: String, id: RecordName, field: String
  ) throws(StoreError) -> Int? {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      return try length(id, field, number, &guarded.store)
    }
  }

  private func length(
    _ id: RecordName, _ field: String, _ number: Int, _ store: inout StoreState
  ) throws(StoreError) -> Int? {
    guard let (place, column) = try store.find(number, id, field) else { return nil }
    let count = try store.tables[number].listCount(place, column, &store.ground)
    if let count { return count }
    return try items(place, column, id, field, number, &store)?.count
  }

  /// Throws what an insertion before the item at an index would, unless it is about the size, and
  /// changes nothing.
  package func requirePlace(
    table: String, id: RecordName, field: String, at index: Int
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      try guarded.store.requireWritable()
      let number = guarded.store.table(table)
      _ = try guarded.store.existingSlot(number, id)
      let count = try length(id, field, number, &guarded.store) ?? 0
      if index < 0 || index > count {
        throw guarded.store.badIndex(index, count: count, number, id, field)
      }
    }
  }

  /// Throws `badType` if the field holds something that is no list.
  package func requireList(
    table: String, id: RecordName, field: String
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      guard let (place, column) = try guarded.store.find(number, id, field) else { return }
      if try guarded.store.tables[number].holdsList(place, column, &guarded.store.ground) { return }
      _ = try items(place, column, id, field, number, &guarded.store)
    }
  }

  /// Whether the field holds a list that was begun by editing, and not one that was set.
  package func isBegunList(
    table: String, id: RecordName, field: String
  ) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      guard let (place, column) = try guarded.store.find(number, id, field) else { return false }
      let view = try guarded.store.tables[number].view(place, column, &guarded.store.ground)
      return view.cell.tag == CellTag.createdList
    }
  }

  /// All items of the field's list, nil if the field is absent.
  ///
  /// - Throws: `badType` if it holds something else.
  package func listItems(
    table: String, id: RecordName, field: String
  ) throws(StoreError) -> [FieldValue]? {
    var items: [FieldValue] = []
    let isThere = try forEachListItem(
      table: table, id: id, field: field, count: { items.reserveCapacity($0) }
    ) { items.append($0) }
    return isThere ? items : nil
  }

  /// The same one by one, after their count, in one with the store's order: `body` must not use the
  /// store. False if the field is absent.
  package func forEachListItem(
    table: String, id: RecordName, field: String, count: (Int) -> Void,
    _ body: (FieldValue) -> Void
  ) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      guard let (place, column) = try guarded.store.find(number, id, field) else { return false }
      let isDone = try guarded.store.tables[number].forEachListItem(
        place, column, &guarded.store.ground, count: count, body)
      if isDone { return true }
      guard let items = try items(place, column, id, field, number, &guarded.store) else {
        return false
      }
      count(items.count)
      for item in items { body(item) }
      return true
    }
  }

  private func items(
    _ place: TableState.Place, _ column: Int, _ id: RecordName, _ field: String, _ number: Int,
    _ store: inout StoreState
  ) throws(StoreError) -> [FieldValue]? {
    switch try store.tables[number].view(place, column, &store.ground).value {
    case nil: return nil
    case .list(let items): return items
    default:
      throw StoreError(.badType, "field \(field) of record \(id.text) holds no list", id: field)
    }
  }

  /// The item at an index, nil if there is none.
  package func listItem(
    table: String, id: RecordName, field: String, at index: Int
  ) throws(StoreError) -> FieldValue? {
    let rule = rule(table: table, field: field)
    return try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      guard let (place, column) = try guarded.store.find(number, id, field) else { return nil }
      if case .slot(let slot) = place {
        let item = guarded.store.tables[number].withList(slot, column) { list in
          index >= 0 && index < list.count ? list.value(at: index, rule) : nil
        }
        if let item { return item }
      }
      let items = try self.items(place, column, id, field, number, &guarded.store)
      return items.flatMap { $0.indices.contains(index) ? $0[index] : nil }
    }
  }
}
