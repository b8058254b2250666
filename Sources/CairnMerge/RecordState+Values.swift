extension RecordState {
  /// Every value that anything here remembers, shown or not: what must not go as long as it might
  /// be shown again.
  package func forEachValue(_ body: (_ field: String, FieldValue) -> Void) {
    for (field, register) in fields {
      for entry in register.entries { if let value = entry.value { body(field, value) } }
      for base in register.bases { if let value = base.value { body(field, value) } }
      for list in register.lists { list.forEachValue { body(field, $0) } }
    }
  }
}

extension ListState {
  /// Every value that an item has, had, or may get again.
  package func forEachValue(_ body: (FieldValue) -> Void) {
    for index in 0..<items.count {
      let cell = items.cell(index)
      if cell.tag != ListItems.place, CellTag.isValue(cell.tag) { body(items.value(index)) }
    }
    for values in replaced.values {
      for value in values { body(value.value) }
    }
  }
}
