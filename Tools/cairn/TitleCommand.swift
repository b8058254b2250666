import ArgumentParser
import Cairn
import CairnToolText

struct TitleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "title", abstract: "Shows the title of a datastore, sets or removes it.")

  @Argument(help: "The new title.")
  var title: String?

  @Flag(name: .long, help: "Remove the title.")
  var remove = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func validate() throws {
    if remove, title != nil { throw ValidationError("a title is either set or removed") }
  }

  func run() throws {
    let changes = remove || title != nil
    let shown = try store.withDatastore(changes ? .writing : .reading) { datastore in
      if changes {
        try datastore.setTitle(title)
        _ = try datastore.sync()
      }
      return try datastore.title
    }
    try report.print(
      ["datastore": .string(store.datastore), "title": .optional(shown)],
      text: shown.map { [$0] } ?? [])
  }
}
