internal import CairnMerge
internal import CairnStore

/// What to ask a table for: conditions on fields, an order, a part of the result.
///
/// A value; building one touches nothing and checks nothing. What is wrong with it (a bad field
/// name, a list in a list, a negative limit) is thrown where it is used.
///
///     Query().where("done", .equals(false)).where("due", .less(.date(today)))
///       .sorted(by: "due").limit(20)
public struct Query: Hashable, Sendable {
  /// What a field's value has to be. An absent field meets `isAbsent` and nothing else.
  ///
  /// Equality: numbers by value (1 equals 1.0, not 2^53 rounded to a double; NaN equals NaN, -0.0
  /// equals 0.0), all else within its own type; no boolean is a number. Ranges match values of the
  /// bound's own kind only: numbers with numbers (integers and doubles are one kind, compared
  /// exactly; NaN is below all others), dates with dates, strings (by UTF-8 bytes) with strings,
  /// bytes with bytes, booleans (false before true), lists item by item.
  @nonexhaustive
  public enum Condition: Hashable, Sendable {
    case equals(Value)
    /// There is a value, and it does not equal this one.
    case notEquals(Value)
    case less(Value)
    case lessOrEqual(Value)
    case greater(Value)
    case greaterOrEqual(Value)
    /// From the first to the second, both included. Nothing matches if they are of two kinds or the
    /// wrong way round.
    case between(Value, Value)
    /// The value equals one of these.
    case oneOf([Value])
    /// There is a value, of any type.
    case exists
    /// There is none.
    case isAbsent
    /// A string that begins with these bytes of UTF-8.
    case hasPrefix(String)
  }

  /// Which end of an order comes first.
  @nonexhaustive
  public enum SortOrder: Hashable, Sendable {
    /// Absent, booleans, numbers, dates, strings, bytes, lists; within a kind the smallest first.
    case ascending
    /// The other way round; absent fields come last.
    case descending
  }

  struct FieldCondition: Hashable, Sendable {
    var field: String
    var condition: Condition
  }

  struct FieldSort: Hashable, Sendable {
    var field: String
    var order: SortOrder
  }

  private(set) var conditions: [FieldCondition] = []
  private(set) var sorts: [FieldSort] = []
  /// How many records are wanted at most, nil for all.
  public private(set) var limit: Int?
  /// How many records are left out before the first.
  public private(set) var skip = 0

  /// All records of a table, in no set order.
  public init() {}

  /// The same with one more condition; all must hold. A field may have several.
  public func `where`(_ field: String, _ condition: Condition) -> Query {
    var query = self
    query.conditions.append(FieldCondition(field: field, condition: condition))
    return query
  }

  /// The same with one more field to sort by, which decides where those before it tie.
  ///
  /// What still ties is in the order of the record ids (`RecordID`'s `<`), ascending always: the
  /// same records are always in the same order. Without a sort there is no set order, unless there
  /// is a limit or a skip: then it is the order of the ids.
  public func sorted(by field: String, _ order: SortOrder = .ascending) -> Query {
    var query = self
    query.sorts.append(FieldSort(field: field, order: order))
    return query
  }

  /// The same with at most so many records.
  public func limit(_ count: Int) -> Query {
    var query = self
    query.limit = count
    return query
  }

  /// The same without the first so many records.
  public func skip(_ count: Int) -> Query {
    var query = self
    query.skip = count
    return query
  }
}

extension Query {
  /// Throws what is wrong with the query: whoever runs it calls this first.
  func check() throws(CairnError) {
    for entry in conditions {
      try Query.check(field: entry.field)
      for value in entry.condition.values { try value.check(field: entry.field) }
    }
    for sort in sorts { try Query.check(field: sort.field) }
    if let limit, limit < 0 {
      throw CairnError(
        .illegalArgument, "a query's limit can't be \(limit); give 0 or more, or no limit for all")
    }
    guard skip >= 0 else {
      throw CairnError(.illegalArgument, "a query can't skip \(skip) records; give 0 or more")
    }
  }

  static func check(field: String) throws(CairnError) {
    guard Identifier.isValidField(field) else {
      throw CairnError(
        .illegalArgument,
        "\"\(field)\" can't name a field: 1 to 64 of the characters A-Z a-z 0-9 - . _ + / =, or a "
          + "colon and up to 63 of these", id: field)
    }
  }

  /// The form that the store runs, and that says of a record's values whether they match and of two
  /// records which comes first. `check` comes before it.
  var stored: RecordQuery {
    var query = RecordQuery()
    query.conditions = conditions.map {
      RecordQuery.Condition(field: $0.field, test: $0.condition.stored)
    }
    query.sorts = sorts.map {
      RecordQuery.Sort(field: $0.field, isDescending: $0.order == .descending)
    }
    query.skip = skip
    query.limit = limit
    return query
  }
}

extension Query.Condition {
  fileprivate var values: [Value] {
    switch self {
    case .equals(let value), .notEquals(let value), .less(let value), .lessOrEqual(let value),
      .greater(let value), .greaterOrEqual(let value):
      [value]
    case .between(let low, let high): [low, high]
    case .oneOf(let values): values
    case .exists, .isAbsent, .hasPrefix: []
    }
  }

  fileprivate var stored: ValueTest {
    switch self {
    case .equals(let value): .equals(value.stored)
    case .notEquals(let value): .notEquals(value.stored)
    case .less(let value): .range(ValueRange(upper: value.stored, includesUpper: false))
    case .lessOrEqual(let value): .range(ValueRange(upper: value.stored))
    case .greater(let value): .range(ValueRange(lower: value.stored, includesLower: false))
    case .greaterOrEqual(let value): .range(ValueRange(lower: value.stored))
    case .between(let low, let high): .range(ValueRange(lower: low.stored, upper: high.stored))
    case .oneOf(let values): .oneOf(values.map(\.stored))
    case .exists: .exists
    case .isAbsent: .isAbsent
    case .hasPrefix(let text): .hasPrefix(text)
    }
  }
}
