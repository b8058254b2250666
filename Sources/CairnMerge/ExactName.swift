/// A name as its bytes: for `==` of texts, U+212A is a "K".
package struct ExactName: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (a: ExactName, b: ExactName) -> Bool { a.text.isSameName(as: b.text) }
}

extension String {
  /// Whether both are the same name. Names that are in a store are ASCII, and whatever else means
  /// the same as one of these is longer.
  @inlinable @inline(__always)
  package func isSameName(as other: String) -> Bool {
    self == other && utf8.count == other.utf8.count
  }
}
