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
    try withList(table, id, field) { list in list.count } whole: { items in items.count }
  }

  /// The item at an index, nil if there is none.
  package func listItem(
    table: String, id: RecordName, field: String, at index: Int
  ) throws(StoreError) -> FieldValue? {
    let rule = rule(table: table, field: field)
    return try withList(table, id, field) { list -> FieldValue? in
      index >= 0 && index < list.count ? list.value(at: index, rule) : nil
    } whole: { items in
      items.indices.contains(index) ? items[index] : nil
    } ?? nil
  }

  private func withList<R>(
    _ table: String, _ id: RecordName, _ field: String, _ body: (inout ListState) -> R,
    whole: ([FieldValue]) -> R
  ) throws(StoreError) -> R? {
    try withState { guarded throws(StoreError) in
      let number = guarded.store.table(table)
      guard let (place, column) = try guarded.store.find(number, id, field) else { return nil }
      if case .slot(let slot) = place,
        let result = guarded.store.tables[number].withList(slot, column, body)
      {
        return result
      }
      let view = try guarded.store.tables[number].view(place, column, &guarded.store.ground)
      guard let value = view.value else { return nil }
      guard case .list(let items) = value else {
        throw StoreError(.badType, "field \(field) of record \(id.text) holds no list", id: field)
      }
      return whole(items)
    }
  }
}
