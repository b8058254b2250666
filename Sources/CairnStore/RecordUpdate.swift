package import CairnMerge

/// Fields that are set and lists that are edited as one change of a record.
package struct RecordUpdate: Sendable {
  /// Edits of one list, in the order in which they apply.
  package struct List: Sendable {
    package var field: String
    package var operations: [ListOperation]
    /// What the list counts with before and after.
    package var sizes: (before: Int, after: Int)
    /// What the list holds after all of them.
    package var items: [FieldValue]

    package init(
      field: String, operations: [ListOperation], sizes: (before: Int, after: Int),
      items: [FieldValue]
    ) {
      self.field = field
      self.operations = operations
      self.sizes = sizes
      self.items = items
    }
  }

  /// Nil removes a field.
  package var fields: [(field: String, value: FieldValue?)]
  package var lists: [List] = []

  package init(fields: [(field: String, value: FieldValue?)]) { self.fields = fields }
}

extension StoreState {
  /// Makes a change of a record whose fields are `now`: all of it, or nothing if that would break a
  /// limit.
  mutating func update(
    _ number: Int, _ id: RecordName, _ update: RecordUpdate, _ now: [(String, FieldValue)],
    limits: Limits
  ) throws(StoreError) {
    try requireWritable()
    let update = try settled(update, number, id)
    if update.lists.isEmpty {
      try self.update(number, id, update.fields, limits: limits)
      return
    }
    let slot = try existingSlot(number, id)
    var growth = 0
    var pending = tables[number].pendingMarks[slot] == 0 ? Sizes.change : 0
    for (field, value) in update.fields {
      let old = now.first { $0.0 == field }?.1
      let size = value.map(Sizes.field) ?? 0
      growth += size - (old.map(Sizes.field) ?? 0)
      let column = try writableColumn(number, field)
      pending += try max(size, Sizes.field) - sizeNow(number, slot, column).pending
    }
    for list in update.lists {
      growth += list.sizes.after - list.sizes.before
      let isThere = now.contains { $0.0 == list.field }
      pending += try pendingGrowth(list, isThere: isThere, number, slot)
    }
    try check(
      limits, number, id, recordSize: Int(tables[number].sizes[slot]) + growth, growth: growth,
      pendingGrowth: pending)
    for list in update.lists {
      let before = now.first { $0.0 == list.field }?.1
      if isTooLong(list, before, number, slot, limits) { throw tooLong(id, list.field) }
    }
    try self.update(number, id, update.fields, limits: .unlimited)
    for list in update.lists {
      for operation in list.operations {
        try edit(number, id, list.field, operation, limits: .unlimited)
      }
    }
  }

  /// By how much the edits of a list make the pending delta grow, in a field that has a value or
  /// none.
  private mutating func pendingGrowth(
    _ list: RecordUpdate.List, isThere: Bool, _ number: Int, _ slot: Int
  ) throws(StoreError) -> Int {
    let column = try writableColumn(number, list.field)
    // Begun with the first edit, it is put, and takes the place of what is pending there.
    if !isThere { return try list.sizes.after - sizeNow(number, slot, column).pending }
    // One that nobody has seen yet counts with what it holds.
    if tables[number].isPending(slot, column) { return list.sizes.after - list.sizes.before }
    // The list that shows, and not one that has pending edits and is hidden by now.
    let isEdited = tables[number].withList(slot, column) { $0.hasPending } ?? false
    return list.operations.reduce(isEdited ? 0 : Sizes.field) { $0 + $1.pendingSize }
  }

  /// Where the greatest (or the smallest) of several values shows, one edit may bring another list
  /// to show, which the next was not meant for: such a list is put as a whole. Lists that were
  /// begun by editing are one, and nothing comes to show in its place.
  private mutating func settled(
    _ update: RecordUpdate, _ number: Int, _ id: RecordName
  ) throws(StoreError) -> RecordUpdate {
    if update.lists.isEmpty { return update }
    let slot = try existingSlot(number, id)
    guard let state = tables[number].complex[slot] else { return update }
    var result = RecordUpdate(fields: update.fields)
    for list in update.lists {
      let rule = rules.rule(table: tables[number].name, field: list.field)
      let entries = state.fields[list.field]?.entries ?? []
      if rule == .max || rule == .min, entries.filter({ !$0.isCreated }).count > 1 {
        result.fields.append((list.field, .list(list.items)))
      } else {
        result.lists.append(list)
      }
    }
    return result
  }

  /// Whether a list would be more than the formats can hold once all of this was done to it;
  /// between two of its edits it may be. `now` is what the field holds.
  private mutating func isTooLong(
    _ list: RecordUpdate.List, _ now: FieldValue?, _ number: Int, _ slot: Int, _ limits: Limits
  ) -> Bool {
    if list.sizes.after > list.sizes.before, list.sizes.after >= limits.listBytes { return true }
    // Merging makes lists longer than that: one that gets shorter may still get too long an item.
    if list.operations.contains(where: { $0.longest >= limits.listBytes }) { return true }
    let nodes = list.operations.reduce(0) { $0 + $1.nodes }
    if nodes == 0 { return false }
    if let column = tables[number].findColumn(list.field),
      let before = tables[number].withList(slot, column, { $0.nodeCount })
    {
      return before + nodes > limits.listNodes
    }
    // Opened, it has one of its own besides its items.
    guard case .list(let items)? = now else { return 1 + nodes > limits.listNodes }
    return 1 + items.count + nodes > limits.listNodes
  }
}

extension ListOperation {
  fileprivate var pendingSize: Int {
    switch self {
    case .insert(let value, _), .append(let value), .replace(_, let value):
      Sizes.listItem + value.size
    case .insertAll(let values, _): values.reduce(0) { $0 + Sizes.listItem + $1.size }
    case .remove, .removeLast, .move: Sizes.listItem
    }
  }

  /// The size of the longest item that it puts in.
  fileprivate var longest: Int {
    switch self {
    case .insert(let value, _), .append(let value), .replace(_, let value): value.size
    case .insertAll(let values, _): values.reduce(0) { max($0, $1.size) }
    case .remove, .removeLast, .move: 0
    }
  }
}
