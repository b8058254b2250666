/// What time people's clocks show. It may jump, also backwards: it orders nothing.
package protocol WallClock: Sendable {
  /// Milliseconds since 1970.
  func now() -> Int64
}
