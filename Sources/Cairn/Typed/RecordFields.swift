internal import CairnMerge

/// What a model encodes.
struct RecordFields {
  /// Nil for what is absent.
  var fields: [(field: String, value: FieldValue?)] = []
  /// Fields whose lists are sets: neither order nor repetition means anything in them.
  var sets: Set<String> = []
  /// Fields of arrays and sets that are not optional: absent they read as empty.
  var lists: Set<String> = []
  /// Fields that the model holds as a `Float`, or a list of these.
  var floats: Set<String> = []

  /// What an insertion writes: an empty list that is as good as none is left out. A whole list
  /// beats all that others put into theirs at the same time, and this one has nothing to say.
  var forInsertion: [(field: String, value: FieldValue?)] {
    if lists.isEmpty { return fields }
    return fields.filter { !isAsGoodAsAbsent($0.field, $0.value) }
  }

  func isAsGoodAsAbsent(_ field: String, _ value: FieldValue?) -> Bool {
    guard case .list(let items)? = value else { return false }
    return items.isEmpty && lists.contains(field)
  }
}
