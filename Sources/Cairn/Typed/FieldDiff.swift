internal import CairnMerge

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
    if old == new { return nil }
    if case .list(let old)? = old, case .list(let new)? = new {
      return listChange(field, from: old, to: new)
    }
    return (field, new)
  }

  /// The one place where a changed list becomes a change of the record: as a whole.
  private static func listChange(
    _ field: String, from old: [FieldValue], to new: [FieldValue]
  ) -> Change {
    (field, .list(new))
  }
}
