import ArgumentParser
import Cairn
import CairnToolText

/// `cairn rules`: how fields are merged.
struct RulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rules",
    abstract: "Shows and sets the rules by which concurrent changes of fields are merged.",
    discussion: """
      RULES: remote keeps the first of concurrent changes, local the last, max and min the largest \
      and the smallest value, sum adds up what each device added. They are part of the datastore: \
      set here, they hold on all devices after the next sync. What was decided is decided anew.
      """,
    subcommands: [Show.self, Set.self, Default.self], defaultSubcommand: Show.self)

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Lists the fields that have a rule, and the default.")

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore { datastore in
        let rules = RulesCommand.sorted(datastore.rules)
        let fallback = datastore.defaultRule.rawValue
        try report.print(
          [
            "rules": .array(
              rules.map { rule in
                [
                  "table": .string(rule.table), "field": .string(rule.field),
                  "rule": .string(rule.rule),
                ]
              }),
            "default": .string(fallback),
          ],
          text: columns(rules.map { [$0.table, $0.field, $0.rule] } + [["(default)", "", fallback]])
        )
      }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set", abstract: "Sets the rule of a field of all records of a table.")

    @Argument(help: "Table of the field; it need not have records yet.")
    var table: String

    @Argument(help: "The field.")
    var field: String

    @Argument(help: "remote, local, max, min or sum.")
    var rule: RuleArgument

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore(.writing) { datastore in
        try datastore.table(table).setRule(rule.rule, field: field)
        let committed = try datastore.sync().committed
        try report.print(
          [
            "table": .string(table), "field": .string(field), "rule": .string(rule.rawValue),
            "committed": .bool(committed),
          ],
          text: ["\(table)  \(field)  \(rule.rawValue)"])
      }
    }
  }

  struct Default: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "default", abstract: "Sets the rule of fields that have none of their own.")

    @Argument(help: "remote, local, max, min or sum.")
    var rule: RuleArgument

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore(.writing) { datastore in
        try datastore.setDefaultRule(rule.rule)
        let committed = try datastore.sync().committed
        try report.print(
          ["default": .string(rule.rawValue), "committed": .bool(committed)],
          text: ["(default)  \(rule.rawValue)"])
      }
    }
  }

  private static func sorted(
    _ rules: [String: [String: ResolutionRule]]
  ) -> [(table: String, field: String, rule: String)] {
    rules.flatMap { table, fields in
      fields.map { (table: table, field: $0.key, rule: $0.value.rawValue) }
    }
    .sorted { ($0.table, $0.field) < ($1.table, $1.field) }
  }
}

/// A rule by its name.
enum RuleArgument: String, ExpressibleByArgument, CaseIterable {
  case remote, local, max, min, sum

  var rule: ResolutionRule {
    switch self {
    case .remote: .remote
    case .local: .local
    case .max: .max
    case .min: .min
    case .sum: .sum
    }
  }
}
