extension RecordName {
  /// Order of the ids' texts, by UTF-8 bytes: the one that people see.
  package func textPrecedes(_ other: RecordName) -> Bool {
    self != other && text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }
}
