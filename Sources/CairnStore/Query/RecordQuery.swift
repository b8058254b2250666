package import CairnMerge

/// A query in the store's terms: the public one has been checked when it gets here.
package struct RecordQuery: Hashable, Sendable {
  package struct Condition: Hashable, Sendable {
    package var field: String
    package var test: ValueTest

    package init(field: String, test: ValueTest) {
      self.field = field
      self.test = test
    }
  }

  package struct Sort: Hashable, Sendable {
    package var field: String
    package var isDescending: Bool

    package init(field: String, isDescending: Bool) {
      self.field = field
      self.isDescending = isDescending
    }
  }

  /// What a record is sorted by: its values of the sorts' fields, then its id.
  package struct Key: Sendable {
    package var values: [FieldValue?]
    package var id: RecordName

    package init(values: [FieldValue?], id: RecordName) {
      self.values = values
      self.id = id
    }
  }

  package var conditions: [Condition] = []
  package var sorts: [Sort] = []
  package var skip = 0
  package var limit: Int?

  package init() {}

  /// Whether the result has an order: a part of it means nothing without one.
  package var isOrdered: Bool { !sorts.isEmpty || skip > 0 || limit != nil }

  /// Whether a record with these values is in the result, skip and limit aside.
  package func matches(_ value: (String) -> FieldValue?) -> Bool {
    conditions.allSatisfy { $0.test.matches(value($0.field)) }
  }

  /// What a record of these values is sorted by.
  package func key(_ id: RecordName, _ value: (String) -> FieldValue?) -> Key {
    Key(values: sorts.map { value($0.field) }, id: id)
  }

  /// Whether `a` comes before `b`. Two records never tie: ids differ.
  package func precedes(_ a: Key, _ b: Key) -> Bool {
    for index in sorts.indices {
      let order = FieldValue.ordered(a.values[index], b.values[index])
      if order != 0 { return sorts[index].isDescending ? order > 0 : order < 0 }
    }
    return a.id.textPrecedes(b.id)
  }
}
