import ArgumentParser
import Cairn
import CairnToolText

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Says what a datastore holds, how near its limits it is, and where it syncs.",
    discussion: "It looks at this device only; sync says what is in the folder.")

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let settings = try store.settings()
    let limits = (settings.limits ?? .standard).limits
    try store.withDatastore { datastore in
      let tables = try datastore.tables().count
      let title = try datastore.title
      let status = datastore.status
      let held = InboxCheck.held(of: datastore.id, in: store.rootPath)
      let traffic = try TrafficRecord.read(root: store.rootPath, datastore: datastore.id)
      var more = held.map { [["held", $0]] } ?? []
      if let traffic { more.append(["traffic", traffic.text]) }
      // Others may be in the folder only.
      let others = try datastore.manager.listDatastores()
        .filter { $0.isOnDevice && $0.id != datastore.id }.map(\.id)
      try report.print(
        [
          "datastore": .string(datastore.id), "title": .optional(title),
          "root": .string(store.rootPath), "device": .string(datastore.device),
          "tables": .count(tables), "records": .count(datastore.recordCount),
          "recordsLimit": .count(limits.recordCount), "size": .count(datastore.size),
          "sizeLimit": .count(limits.datastoreBytes),
          "modified": datastore.mtime.map { .int($0.millisecondsSince1970) } ?? .null,
          "committed": .count(datastore.committedDeltas),
          "published": .count(datastore.publishedDeltas),
          "incoming": .bool(status.incoming), "held": .optional(held),
          "folder": .optional(settings.folder),
          "user": .optional(settings.user), "traffic": traffic?.json ?? .null,
          "otherDatastores": .array(others.map(JSON.string)),
        ],
        text: columns([
          ["datastore", datastore.id + (title.map { " (\(JSON.string($0).text))" } ?? "")],
          ["root", store.rootPath],
          ["device", datastore.device],
          [
            "contents",
            "\(counted(datastore.recordCount, "record")) in \(counted(tables, "table"))",
          ],
          ["size", "\(datastore.size) of \(limits.datastoreBytes) bytes"],
          ["modified", datastore.mtime?.text ?? "never"],
          ["deltas", deltas(datastore, isLinked: settings.folder != nil)],
          ["folder", settings.folder.map { "\($0), as \(settings.user ?? "me")" } ?? "none"],
          ["others here", others.isEmpty ? "none" : others.joined(separator: " ")],
        ] + more))
    }
  }

  private func deltas(_ datastore: Datastore, isLinked: Bool) -> String {
    let committed = "\(datastore.committedDeltas) committed here"
    guard isLinked else { return committed }
    return committed + ", \(datastore.publishedDeltas) published"
      + (datastore.status.incoming ? "; others' wait for the next sync" : "")
  }
}
