/// A field where concurrent writes met and a rule had to choose: what an app may want to show.
package struct FieldConflict: Hashable, Sendable {
  package var field: String
  /// The value that was chosen; nil if a removal won.
  package var visible: FieldValue?
  /// Those that were not, in commit order.
  package var losers: [Loser]

  package init(field: String, visible: FieldValue?, losers: [Loser]) {
    self.field = field
    self.visible = visible
    self.losers = losers
  }

  package struct Loser: Hashable, Sendable {
    /// Nil for a removal.
    package var value: FieldValue?
    package var device: DeviceID
    /// Milliseconds since 1970 by that device's clock.
    package var time: Int64

    package init(value: FieldValue?, stamp: Stamp) {
      self.value = value
      device = stamp.dot.device
      time = stamp.time
    }

    init(_ entry: Entry) {
      value = entry.value
      device = entry.stamp.dot.device
      time = entry.stamp.time
    }
  }
}
