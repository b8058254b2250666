/// Something that must never be, whatever the bytes: what a fuzz target throws, as a trap is.
package struct FuzzFinding: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }

  /// Throws unless `isTrue`.
  package static func check(_ isTrue: Bool, _ description: @autoclosure () -> String) throws {
    if !isTrue { throw FuzzFinding(description()) }
  }
}
