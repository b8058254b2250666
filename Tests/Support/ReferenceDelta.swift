package import CairnMerge

/// What an app asked for, before it is turned into writes.
package enum ReferenceIntent: Hashable, Sendable {
  case insert
  case delete
  case set(field: String, FieldValue?, Rule)
}

/// One delta of a history, with everything that its author had seen spelled out.
package struct ReferenceDelta: Hashable, Sendable {
  package struct Step: Hashable, Sendable {
    package var record: String
    package var intent: ReferenceIntent

    package init(_ record: String, _ intent: ReferenceIntent) {
      self.record = record
      self.intent = intent
    }
  }

  package var stamp: Stamp
  /// This delta included.
  package var context: VersionVector
  /// For each record: a delete, an insert, writes of different fields, in this order.
  package var steps: [Step]

  package init(stamp: Stamp, context: VersionVector, steps: [Step]) {
    self.stamp = stamp
    self.context = context
    self.steps = steps
  }
}
