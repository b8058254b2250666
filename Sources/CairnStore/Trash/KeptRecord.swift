package import CairnMerge

/// A record as it was when another device's delta deleted it here.
package struct KeptRecord: Sendable, Equatable {
  /// The delta that deletes it.
  package var dot: Dot
  /// When that was incorporated here, in milliseconds since 1970.
  package var time: Int64
  package var table: String
  package var id: RecordName
  package var fields: [Field]

  package struct Field: Sendable, Equatable {
    package var name: String
    package var value: FieldValue

    package init(name: String, value: FieldValue) {
      self.name = name
      self.value = value
    }
  }

  package init(dot: Dot, time: Int64, table: String, id: RecordName, fields: [Field]) {
    self.dot = dot
    self.time = time
    self.table = table
    self.id = id
    self.fields = fields
  }
}
