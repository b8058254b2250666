import CairnMerge
import TestSupport
import Testing

/// What two devices' inserts, updates and deletes of one record make together.
struct RecordTableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    var shared: [ReferenceIntent] = [.insert, .set("a", .int(1))]
    var local: [[ReferenceIntent]]
    var remote: [[ReferenceIntent]]
    var rule = Rule.remote
    /// Nil if the record is gone.
    var result: [String: FieldValue]?

    var testDescription: String { name }
  }

  static func insert(_ fields: KeyValuePairs<String, Int64>, _ rule: Rule = .remote)
    -> [ReferenceIntent]
  {
    [.insert] + fields.map { .set($0.key, .int($0.value), rule) }
  }

  static let inserts: [Row] = [Rule.remote, .local, .sum].map { rule in
    Row(
      name: "insert, insert under \(rule)", shared: [],
      local: [insert(["a": 1, "b": 2], rule)], remote: [insert(["a": 9, "c": 3], rule)],
      rule: rule,
      result: [
        "a": .int(rule == .remote ? 9 : rule == .local ? 1 : 10), "b": .int(2), "c": .int(3),
      ])
  }

  static let rows: [Row] = [
    Row(
      name: "insert | insert, delete", shared: [], local: [insert(["a": 1])],
      remote: [insert(["a": 9]), [.delete]], result: nil),
    Row(
      name: "insert, delete | insert", shared: [], local: [insert(["a": 1]), [.delete]],
      remote: [insert(["a": 9])], result: nil),
    Row(
      name: "insert, delete, insert | insert", shared: [],
      local: [insert(["a": 1]), [.delete], insert(["b": 1])], remote: [insert(["a": 9])],
      result: ["b": .int(1)]),
    Row(
      name: "delete, insert | update", local: [[.delete], insert(["b": 1])],
      remote: [[.set("a", .int(5))]], result: ["b": .int(1)]),
    Row(
      name: "delete, insert | delete", local: [[.delete], insert(["b": 1])],
      remote: [[.delete]], result: ["b": .int(1)]),
    Row(
      name: "delete, insert | delete, insert", local: [[.delete], insert(["b": 1])],
      remote: [[.delete], insert(["c": 1])], result: ["b": .int(1), "c": .int(1)]),
    Row(
      name: "update | delete, insert", local: [[.set("a", .int(5))]],
      remote: [[.delete], insert(["c": 1])], result: ["c": .int(1)]),
    Row(
      name: "delete | delete, insert", local: [[.delete]],
      remote: [[.delete], insert(["c": 1])], result: ["c": .int(1)]),
    Row(
      name: "update | delete", local: [[.set("a", .int(5))]], remote: [[.delete]], result: nil),
    Row(
      name: "delete | update", local: [[.delete]], remote: [[.set("a", .int(5))]], result: nil),
    Row(name: "delete | delete", local: [[.delete]], remote: [[.delete]], result: nil),
    Row(
      name: "updates of different fields", local: [[.set("b", .int(2))]],
      remote: [[.set("c", .int(3))]],
      result: ["a": .int(1), "b": .int(2), "c": .int(3)]),
  ]

  @Test(arguments: inserts + rows)
  func `two devices`(row: Row) throws {
    try check(row)
  }

  /// The same rows with every device's changes in one delta: delete and insert stand together.
  @Test(arguments: rows.filter { $0.local.first != [.insert] && !$0.shared.isEmpty })
  func `two devices with one delta each`(row: Row) throws {
    var row = row
    row.local = [Array(row.local.joined())]
    row.remote = [Array(row.remote.joined())]
    try check(row)
  }

  private func check(_ row: Row) throws {
    var pair = Pair(shared: row.shared)
    for intents in row.remote { pair.onRemote(intents) }
    for intents in row.local { pair.onLocal(intents) }
    pair.meet()
    let met = try #require(pair.met)
    #expect(met.exists == (row.result != nil))
    #expect(met.visible { _ in row.rule } == row.result ?? [:])
  }

  @Test func `delete wins under every rule`() throws {
    for rule in Rule.allCases {
      var pair = Pair(shared: [.insert, .set("a", .int(1), rule)])
      pair.onRemote(.delete)
      pair.onLocal(.set("a", .int(7), rule))
      pair.meet()
      #expect(try #require(pair.met).exists == false)
    }
  }

  @Test func `a re-insert after both deletes is killed by neither`() throws {
    var pair = Pair(shared: [.insert])
    pair.onRemote(.delete)
    pair.onLocal(.delete)
    pair.meet()
    pair.onLocal(.insert, .set("a", .int(1)))
    pair.meet()
    #expect(try #require(pair.met).visible("a", rule: .remote) == .int(1))
    pair.onRemote(.delete)
    pair.meet()
    #expect(try #require(pair.met).exists == false)
  }
}
