import CairnMerge
import CairnStore
import TestSupport

/// What a query should find, the obvious way: a filter and a sort over all fields of all records.
enum NaiveQuery {
  typealias Records = [String: [String: FieldValue]]

  static func run(_ query: RecordQuery, _ records: Records) -> [String] {
    var found = records.keys.filter { id in
      query.conditions.allSatisfy { passes(records[id]?[$0.field], $0.test) }
    }
    found.sort { precedes($0, $1, query, records) }
    if !query.isOrdered { return found }
    return Array(found.dropFirst(query.skip).prefix(query.limit ?? .max))
  }

  static func passes(_ value: FieldValue?, _ test: ValueTest) -> Bool {
    guard let value else {
      if case .isAbsent = test { return true }
      return false
    }
    switch test {
    case .equals(let wanted): return order(value, wanted) == 0
    case .notEquals(let unwanted): return order(value, unwanted) != 0
    case .oneOf(let wanted): return wanted.contains { order(value, $0) == 0 }
    case .exists: return true
    case .isAbsent: return false
    case .hasPrefix(let prefix):
      guard case .string(let text) = value else { return false }
      return Array(text.utf8.prefix(prefix.utf8.count)) == Array(prefix.utf8)
    case .range(let range):
      if let lower = range.lower {
        guard kind(lower) == kind(value) else { return false }
        let order = order(value, lower)
        if order < 0 || order == 0 && !range.includesLower { return false }
      }
      if let upper = range.upper {
        guard kind(upper) == kind(value) else { return false }
        let order = order(value, upper)
        if order > 0 || order == 0 && !range.includesUpper { return false }
      }
      return true
    }
  }

  private static func order(_ a: FieldValue?, _ b: FieldValue?) -> Int {
    FieldValue.ordered(a, b)
  }

  private static func kind(_ value: FieldValue) -> String {
    switch value {
    case .bool: "bool"
    case .int, .double: "number"
    case .string: "string"
    case .bytes: "bytes"
    case .date: "date"
    case .list: "list"
    }
  }

  private static func precedes(
    _ a: String, _ b: String, _ query: RecordQuery, _ records: Records
  ) -> Bool {
    for sort in query.sorts {
      let order = order(records[a]?[sort.field], records[b]?[sort.field])
      if order != 0 { return sort.isDescending ? order > 0 : order < 0 }
    }
    return Array(a.utf8).lexicographicallyPrecedes(Array(b.utf8))
  }
}

extension RecordQuery {
  /// Any query over some fields and values.
  static func random(
    _ random: SeededRandom, fields: [String], values: [FieldValue]
  ) -> RecordQuery {
    func field() -> String { fields[random.below(fields.count)] }
    var query = RecordQuery()
    for _ in 0..<random.below(4) {
      query.conditions.append(
        Condition(field: field(), test: .random(random, values)))
    }
    for _ in 0..<random.below(3) {
      query.sorts.append(Sort(field: field(), isDescending: random.coin()))
    }
    if random.coin() { query.limit = [0, 1, 2, 3, 10, 1000, .max][random.below(7)] }
    if random.below(3) == 0 { query.skip = [0, 1, 2, 50, .max][random.below(5)] }
    return query
  }
}

extension ValueTest {
  static func random(_ random: SeededRandom, _ values: [FieldValue]) -> ValueTest {
    func value() -> FieldValue { values[random.below(values.count)] }
    switch random.below(10) {
    case 0, 1: return .equals(value())
    case 2: return .notEquals(value())
    case 3: return .oneOf((0..<random.below(5)).map { _ in value() })
    case 4: return .exists
    case 5: return .isAbsent
    case 6:
      let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
      if texts.isEmpty { return .exists }
      let text = texts[random.below(texts.count)]
      return .hasPrefix(String(text.prefix(random.below(text.count + 1))))
    default:
      let kind = random.below(3)
      return .range(
        ValueRange(
          lower: kind != 1 ? value() : nil, upper: kind != 0 ? value() : nil,
          includesLower: random.coin(), includesUpper: random.coin()))
    }
  }
}

extension Store {
  /// What is wrong with a query's result, by any of the ways to ask, nil if nothing is.
  func mistake(
    table: String, _ query: RecordQuery, _ records: NaiveQuery.Records
  ) throws -> String? {
    let wanted = NaiveQuery.run(query, records)
    var found = try self.query(table: table, query).map(\.text)
    let plan = try explain(table: table, query)
    if !query.isOrdered { found.sort { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) } }
    if found != wanted { return "\(query) by \(plan) finds \(found), not \(wanted)" }
    let count = try count(table: table, query)
    if count != wanted.count { return "\(query) by \(plan) counts \(count), not \(wanted.count)" }
    var walk = QueryWalk(query)
    var walked: [String] = []
    while !walk.hasEnded { walked += try advance(&walk, table: table).map(\.text) }
    if !query.isOrdered { walked.sort { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) } }
    return walked == wanted ? nil : "\(query) walks over \(walked), not \(wanted)"
  }
}
