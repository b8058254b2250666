internal import CairnMerge
internal import CairnStore

/// What has to be written so that a record shows another value of its model.
enum FieldDiff {
  typealias Change = (field: String, value: FieldValue?)

  /// The fields of `new` that differ from those of a record.
  static func changes(from now: [(String, FieldValue)], to new: [Change]) -> [Change] {
    new.compactMap { field, value in
      change(field, from: now.first { $0.0 == field }?.1, to: value)
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
  /// that what several devices do to a list merges.
  static func update(
    _ changes: [Change], from now: [(String, FieldValue)], sets: Set<String>
  ) -> RecordUpdate {
    var update = RecordUpdate(fields: [])
    for (field, value) in changes {
      guard case .list(let new)? = value,
        case .list(let old)? = now.first(where: { $0.0 == field })?.1
      else {
        update.fields.append((field, value))
        continue
      }
      let isSet = sets.contains(field)
      let steps = isSet ? ListStep.steps(from: old, toSet: new) : ListStep.steps(from: old, to: new)
      if steps.isEmpty { continue }
      let result = ListStep.applying(steps, to: old)
      update.lists.append(
        RecordUpdate.List(
          field: field, operations: steps.map(operation),
          sizes: (FieldValue.list(old).size, FieldValue.list(result).size)))
    }
    return update
  }

  private static func operation(_ step: ListStep<FieldValue>) -> ListOperation {
    switch step {
    case .insert(let item, let index): .insert(item, at: index)
    case .remove(let index): .remove(at: index)
    case .replace(let index, let item): .replace(at: index, item)
    }
  }
}
