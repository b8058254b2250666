import CairnMerge

/// The replicated rules: ordinary records of a reserved table, one a table, one field a field.
struct RuleBook {
  static let table = ":rules"
  static let defaultRecord = ":default"
  static let defaultField = ":rule"

  private(set) var byTable: [String: [String: Rule]] = [:]
  /// The default that was set; nil if none was.
  private(set) var ownFallback: Rule?

  var fallback: Rule { ownFallback ?? .remote }

  /// Rules themselves go by "last set wins".
  func rule(table: String, field: String) -> Rule {
    if table == RuleBook.table { return .local }
    // No rule for data may decide who gets in.
    if table == AccessTable.name || table == CutTable.name { return .remote }
    if byTable.isEmpty { return fallback }
    return byTable[table]?[field] ?? fallback
  }

  /// The rules of a table's fields, but for those that have none of their own.
  func rules(of table: String) -> [String: Rule] { byTable[table] ?? [:] }

  /// What was set in one field of the table of rules.
  func own(record: String, field: String) -> Rule? {
    if record != RuleBook.defaultRecord { return byTable[record]?[field] }
    return field == RuleBook.defaultField ? ownFallback : nil
  }

  mutating func set(record: String, field: String, _ value: FieldValue?) {
    var rule: Rule?
    if case .int(let code) = value { rule = UInt8(exactly: code).flatMap(Rule.init(rawValue:)) }
    if record == RuleBook.defaultRecord {
      if field == RuleBook.defaultField { ownFallback = rule }
    } else {
      byTable[record, default: [:]][field] = rule
    }
  }
}
