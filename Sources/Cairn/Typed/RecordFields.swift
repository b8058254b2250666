internal import CairnMerge

/// What a model encodes.
struct RecordFields {
  /// Nil for what is absent.
  var fields: [(field: String, value: FieldValue?)] = []
  /// Fields whose lists are sets: neither order nor repetition means anything in them.
  var sets: Set<String> = []
  /// Fields that are kept as lists and are none to the model, as a range is: only the whole of one
  /// makes sense.
  var wholes: Set<String> = []
  /// Fields of arrays and sets that are not optional: absent they read as empty.
  var lists: Set<String> = []
  /// Fields that the model holds as a `Float`, or a list of these.
  var floats: Set<String> = []
  /// Fields that the model holds as a `Double`, or a list of these.
  var doubles: Set<String> = []
  /// Fields of both kinds whose type tells integers from doubles: it has both in a list, or has
  /// read integers from the record.
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
    guard hasDoubles(field) else { return value }
    let number = mixed.contains(field) ? value : value.asDoubles
    return floats.contains(field) ? number.roundedToFloats : number
  }

  /// Whether the model holds a field as a `Double` or a `Float`, or a list of these.
  func hasDoubles(_ field: String) -> Bool { doubles.contains(field) || floats.contains(field) }

  /// Whether a record has integers where the model has doubles: then it matters whether its type
  /// tells them apart.
  func mayTellApart(_ record: [(String, FieldValue)]) -> Bool {
    record.contains { field, value in hasDoubles(field) && value.hasInteger }
  }

  /// Given is what the same type has read from a record: what it has as an integer there, it would
  /// not have made a double without meaning it.
  mutating func tellApart(as read: RecordFields) {
    for (field, value) in read.fields where hasDoubles(field) && value?.hasInteger == true {
      mixed.insert(field)
    }
  }

  func isAsGoodAsAbsent(_ field: String, _ value: FieldValue?) -> Bool {
    guard case .list(let items)? = value else { return false }
    return items.isEmpty && lists.contains(field)
  }
}
