/// A type of which a table holds one value a record: each coding key is a field.
///
/// Any `Codable & Sendable` type can be used with a table's name, too:
/// `datastore.table("tasks", of: Task.self)`. What can be a property is listed at ``TypedTable``.
public protocol TableModel: Codable, Sendable {
  /// The id of the table.
  static var table: String { get }

  /// The rules that fields are merged by, by coding key; none unless the model says so. Those of
  /// fields that have none yet are set when the typed table is made, and travel to all devices.
  static var rules: [String: ResolutionRule] { get }
}

extension TableModel {
  /// No rules: every field goes by the datastore's default rule.
  public static var rules: [String: ResolutionRule] { [:] }
}
