/// Where identifiers come from.
package protocol RandomSource: Sendable {
  func next() -> UInt64
}
