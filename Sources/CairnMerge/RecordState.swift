/// The causal state of one record: its deletes, its inserts and its fields.
///
/// The general form, for records in conflict or not yet settled. A record without history is just
/// its values, and a store keeps it so.
package struct RecordState: Hashable, Sendable {
  /// The deletes that no other delete here has seen, sorted by dot.
  package var tombstones: [Tombstone]
  /// The inserts that are alive, in commit order.
  package var presences: [Presence]
  /// The fields with anything to remember; no register is empty.
  package var fields: RecordFields

  package init(
    tombstones: [Tombstone] = [], presences: [Presence] = [],
    fields: RecordFields = [:]
  ) {
    self.tombstones = tombstones
    self.presences = presences
    self.fields = fields
  }

  /// True if nothing is left to remember, so that the record may be forgotten altogether.
  package var isEmpty: Bool { tombstones.isEmpty && presences.isEmpty && fields.isEmpty }

  /// True if some insert or some value is alive.
  package var exists: Bool {
    !presences.isEmpty || fields.values.contains { $0.entries.contains { $0.value != nil } }
  }

  /// The births of an insert that is made now, and of the fields that are written with it: the
  /// latest deletes.
  package var bornOfInsert: [Dot] { tombstones.map(\.dot) }

  /// The births of an update that is made now: it belongs to all incarnations that it has seen
  /// alive, and dies with the last of them.
  package var bornOfUpdate: [Dot] {
    var dots = Set(presences.flatMap(\.born))
    for register in fields.values {
      dots.formUnion(register.entries.flatMap(\.born))
      dots.formUnion(register.bases.flatMap(\.born))
      dots.formUnion(register.totals.flatMap(\.born))
    }
    return dots.sorted()
  }

  package func register(_ field: String) -> Register { fields[field] ?? Register() }

  /// Keeps no empty registers.
  mutating func set(_ register: Register, for field: String) {
    fields[field] = register.isEmpty ? nil : register
  }
}
