import ArgumentParser
import Cairn
import CairnToolText

struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "Lists the datastores with their titles, without opening any.",
    discussion: """
      With a shared folder these are all that its devices have told of; those without "here" are \
      fetched by their first sync. What is said of a datastore is as old as its last sync. Where \
      somebody else's datastore is followed, that is the list. With --refresh it ends with 1 if \
      others have deleted very many datastores at once, which are kept then.
      """)

  @Flag(name: .long, help: "Ask the shared folder first, and tell it what is here.")
  var refresh = false

  @Flag(name: .long, help: "With --refresh: believe deletes, however many they are.")
  var allowMassDelete = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    if FollowedRoot.isOne(store.rootPath), !refresh {
      return try print(try DatastoreFollower.info(root: store.rootPath).map { [$0] } ?? [], [])
    }
    var held: [String] = []
    let manager = try store.manager(refresh ? .creating : .reading)
    if refresh {
      guard !manager.isLocal else {
        throw try store.noFolder()
      }
      let found = try await manager.refresh(allowingMassDelete: allowMassDelete)
      held = found.heldDeletes
      Self.tell(found)
      try store.remember()
    }
    try print(try manager.listDatastores(), held)
    if !held.isEmpty { throw ExitCode(ExitStatus.failure.rawValue) }
  }

  /// What the list may lack: files of the folder that are damaged, not wholly there, or a newer
  /// version's.
  private static func tell(_ found: CatalogueReport) {
    for file in found.problems { Console.error("cairn: problem with \(file.name): \(file.reason)") }
    for file in found.waiting { Console.error("cairn: waiting for \(file.name): \(file.reason)") }
  }

  private func print(_ infos: [DatastoreInfo], _ held: [String]) throws {
    try report.print(
      [
        "datastores": .array(infos.map(Self.json)),
        "heldDeletes": .array(held.map(JSON.string)),
      ],
      text: columns(infos.map(Self.row)) + [counted(infos.count, "datastore")]
        + (held.isEmpty
          ? []
          : [
            "held: \(counted(held.count, "datastore")) deleted elsewhere at once, and kept here: "
              + held.joined(separator: " ") + "; if that is meant: "
              + ShellLine.of(
                ["cairn", "ls", "--refresh", "--allow-mass-delete"]
                  + ShellLine.option("--root", store.rootPath))
          ]))
  }

  private static func json(_ info: DatastoreInfo) -> JSON {
    [
      "datastore": .string(info.id), "title": .optional(info.title),
      "modified": info.mtime.map { .int($0.millisecondsSince1970) } ?? .null,
      "records": info.recordCount.map { .count($0) } ?? .null,
      "size": info.size.map { .count($0) } ?? .null, "here": .bool(info.isOnDevice),
      "shareable": .bool(info.isShareable),
    ]
  }

  private static func row(_ info: DatastoreInfo) -> [String] {
    [
      info.id, info.isOnDevice ? "here" : "", info.recordCount.map { counted($0, "record") } ?? "",
      info.title.map { JSON.string($0).text } ?? "",
    ]
  }
}
