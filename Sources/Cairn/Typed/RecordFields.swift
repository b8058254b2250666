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
  /// Fields that the model holds as a `Double`, or a list of these.
  var doubles: Set<String> = []
  /// Fields of both kinds whose lists hold integers, too, by a type that tells them from doubles.
  var mixed: Set<String> = []

  /// What an insertion writes: an empty list that is as good as none is left out. A whole list
  /// beats all that others put into theirs at the same time, and this one has nothing to say.
  var forInsertion: [(field: String, value: FieldValue?)] {
    if lists.isEmpty { return fields }
    return fields.filter { !isAsGoodAsAbsent($0.field, $0.value) }
  }

  /// What the model shows of a value that a field has: a `Double` takes an integer, and a `Float`
  /// the nearest to either.
  func shown(_ value: FieldValue, _ field: String) -> FieldValue {
    let isFloat = floats.contains(field)
    guard isFloat || doubles.contains(field) else { return value }
    let number = mixed.contains(field) ? value : value.asDoubles
    return isFloat ? number.roundedToFloats : number
  }

  func isAsGoodAsAbsent(_ field: String, _ value: FieldValue?) -> Bool {
    guard case .list(let items)? = value else { return false }
    return items.isEmpty && lists.contains(field)
  }
}
