import Cairn

extension CairnError {
  /// Whether a caller would look for the fault in its own calls: programming errors, and what a
  /// right program meets only because of others. Where nobody else deletes records, writes fields
  /// or shuts anything down the library may throw none of them, whatever its disk does.
  var blamesCaller: Bool {
    isProgrammingError || [.deleted, .badType, .shutdown].contains(code)
  }
}
