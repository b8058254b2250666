/// Something that a repair could not read.
package struct SalvageLoss: Sendable, Equatable {
  /// Path of the file.
  package var path: String
  /// Where in the file.
  package var offset: UInt64?
  /// What is lost, in words: records and deltas by name and range.
  package var message: String

  package init(path: String, offset: UInt64?, message: String) {
    self.path = path
    self.offset = offset
    self.message = message
  }
}
