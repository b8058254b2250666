import ArgumentParser
import Cairn
import CairnToolText

/// `cairn list`: a list in a field of a record, item by item. (`cairn ls` lists datastores.)
struct ListFieldCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Shows and edits the items of a list in a field of a record.",
    discussion: """
      Items are numbered from 0. Each edit is one commit, and merges item by item with what other \
      devices do to the list; set field='[...]' replaces a list as a whole. A field that is not \
      there counts as an empty list. Write -- before values that begin with a dash.

      An item is written like the value of a field: 12 is an integer, 1.5 a double, true and false \
      are booleans, anything else is a string; what begins with ", [ or { is JSON.
      """,
    subcommands: [
      Show.self, Insert.self, Append.self, Remove.self, Replace.self, Move.self,
    ], defaultSubcommand: Show.self)

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Prints the items, one a line, each after its number.")

    @OptionGroup var field: ListField
    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore { datastore in
        let list = try field.list(in: datastore)
        try report.print(try field.json(list), text: field.lines(list))
      }
    }
  }

  struct Insert: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "insert", abstract: "Puts items before the one of a number.")

    @OptionGroup var field: ListField

    @Argument(help: "Number of the item to insert before; the count of items for the end.")
    var index: Int

    @Argument(help: "The items.", transform: ListItem.parse)
    var items: [ListItem]

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try field.edit(store, report) { try $0.insert(contentsOf: items.map(\.value), at: index) }
    }
  }

  struct Append: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "append", abstract: "Puts items at the end.")

    @OptionGroup var field: ListField

    @Argument(help: "The items.", transform: ListItem.parse)
    var items: [ListItem]

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try field.edit(store, report) {
        try $0.insert(contentsOf: items.map(\.value), at: $0.count)
      }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Takes items out.")

    @OptionGroup var field: ListField

    @Argument(help: "Numbers of the items, as show prints them.")
    var indexes: [Int]

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func validate() throws {
      if Set(indexes).count < indexes.count { throw ValidationError("an item is named twice") }
    }

    func run() throws {
      try field.edit(store, report) {
        // From the back, so that the numbers of the others hold.
        for index in indexes.sorted(by: >) { try $0.remove(at: index) }
      }
    }
  }

  struct Replace: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "replace", abstract: "Gives an item another value.")

    @OptionGroup var field: ListField

    @Argument(help: "Number of the item.")
    var index: Int

    @Argument(help: "Its new value.", transform: ListItem.parse)
    var item: ListItem

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try field.edit(store, report) { try $0.replace(at: index, with: item.value) }
    }
  }

  struct Move: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "move", abstract: "Moves an item.")

    @OptionGroup var field: ListField

    @Argument(help: "Number of the item.")
    var source: Int

    @Argument(help: "Number that it has in the end.")
    var target: Int

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try field.edit(store, report) { try $0.move(from: source, to: target) }
    }
  }
}
