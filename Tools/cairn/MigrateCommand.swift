import ArgumentParser
import Cairn
import CairnToolText

struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Moves all local datastores to a root that is linked to a shared folder.",
    discussion: """
      --root is the local root; it is empty after that. --folder and --user say where the other \
      root syncs, if it isn't linked yet. Where that root has a datastore of the same id, the two \
      are merged, and fields that had to go are listed. Nothing is published: sync does that.
      """)

  @Option(name: .long, help: "The root that they are moved to.")
  var to: String

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    try store.refuseDatastore()
    var target = try StoreOptions.parse(["--root", to])
    (target.folder, target.user, target.limits) = (store.folder, store.user, store.limits)
    (target.credentials, target.certificates) = (store.credentials, store.certificates)
    guard try target.settings().folder != nil else {
      throw ToolError.usage("\(to) has no shared folder yet; link one with --folder")
    }
    var source = try StoreOptions.parse(["--root", store.rootPath])
    source.limits = store.limits
    let account = try target.manager(.creating)
    let moved = try source.manager(.writing).migrate(to: account)
    try target.rememberIfFree(account)
    let conflicts = moved.datastores.flatMap { datastore in
      datastore.conflicts.map { (datastore: datastore.id, conflict: $0) }
    }
    try report.print(
      [
        "completedEarlier": .bool(moved.hasCompletedEarlier),
        "datastores": .array(
          moved.datastores.map {
            [
              "datastore": .string($0.id), "records": .count($0.records),
              "merged": .count($0.mergedRecords),
            ]
          }),
        "conflicts": .array(
          conflicts.map { id, lost in
            [
              "datastore": .string(id), "table": .string(lost.table),
              "id": .string(lost.record.description), "field": .string(lost.field),
              "rule": .string(lost.rule.rawValue), "kept": lost.kept.json, "lost": lost.lost.json,
            ]
          }),
      ],
      text: moved.datastores.map { "moved \($0.id): \(counted($0.records, "record"))" }
        + conflicts.map { id, lost in
          "\(id): \(lost.table)/\(lost.record).\(lost.field) is \(lost.kept.json.text); "
            + "\(lost.lost.json.text) is lost"
        })
  }
}
