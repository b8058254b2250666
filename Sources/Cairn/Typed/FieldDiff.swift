internal import CairnMerge
internal import CairnStore

/// What has to be written so that a record shows another value of its model.
enum FieldDiff {
  typealias Change = (field: String, value: FieldValue?)

  /// The fields of `new` that differ from what a record shows of them.
  static func changes(from now: [(String, FieldValue)], to new: RecordFields) -> [Change] {
    new.fields.compactMap { field, value -> Change? in
      let old = now.first { $0.0 == field }?.1
      if old == nil, new.isAsGoodAsAbsent(field, value) { return nil }
      return change(field, from: old.map { new.shown($0, field) }, to: value)
    }
  }

  /// The fields that differ between two values of a model; one that the new value does not mention
  /// any more goes.
  static func changes(from old: [Change], to new: [Change]) -> [Change] {
    var result: [Change] = new.compactMap { field, value in
      change(field, from: old.first { $0.field == field }?.value, to: value)
    }
    for (field, value) in old
    where value != nil && !new.contains(where: { $0.field == field }) {
      result.append((field, nil))
    }
    return result
  }

  private static func change(
    _ field: String, from old: FieldValue?, to new: FieldValue?
  ) -> Change? {
    old == new ? nil : (field, new)
  }

  /// Changes as the store makes them: lists that become other lists as edits of their items, so
  /// that what several devices do to a list merges, unless only the whole makes sense. `model` says
  /// what the fields are to the model.
  static func update(
    _ changes: [Change], from now: [(String, FieldValue)], as model: RecordFields
  ) -> RecordUpdate {
    var update = RecordUpdate(fields: [])
    for (field, value) in changes {
      let old = now.first { $0.0 == field }?.1
      if let list = edits(of: field, from: old, to: value, as: model) {
        if list.operations.isEmpty { continue }
        if model.wholes.contains(field) {
          update.fields.append((field, .list(list.items)))
        } else {
          update.lists.append(list)
        }
      } else {
        update.fields.append((field, value))
      }
    }
    return update
  }

  /// A change as edits of a list; nil if it is none.
  private static func edits(
    of field: String, from old: FieldValue?, to value: FieldValue?, as model: RecordFields
  ) -> RecordUpdate.List? {
    guard case .list(let new)? = value else { return nil }
    guard let old else {
      // Lists that several devices begin by editing are one list; of those that are set, one wins.
      if new.isEmpty || !model.lists.contains(field) { return nil }
      return RecordUpdate.List(
        field: field, operations: [.insertAll(new, at: 0)], sizes: (0, Sizes.field(value)),
        items: new)
    }
    guard case .list(let items) = old, case .list(let shown) = model.shown(old, field) else {
      return nil
    }
    let isSet = model.sets.contains(field)
    let steps =
      isSet ? ListStep.steps(from: shown, toSet: new) : ListStep.steps(from: shown, to: new)
    let result = ListStep.applying(steps, to: items)
    return RecordUpdate.List(
      field: field, operations: steps.map(operation),
      sizes: (FieldValue.list(items).size, FieldValue.list(result).size), items: result)
  }

  private static func operation(_ step: ListStep<FieldValue>) -> ListOperation {
    switch step {
    case .insert(let item, let index): .insert(item, at: index)
    case .remove(let index): .remove(at: index)
    case .replace(let index, let item): .replace(at: index, item)
    }
  }
}
