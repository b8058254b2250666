internal import CairnMerge

/// What a model encodes.
struct RecordFields {
  /// Nil for what is absent.
  var fields: [(field: String, value: FieldValue?)] = []
  /// Fields whose lists are sets: neither order nor repetition means anything in them.
  var sets: Set<String> = []
}
