internal import CairnDisk
internal import CairnLog

/// Datastores that were being moved when something was interrupted.
enum MigrationCheck {
  static let name = "migration"

  static func run(_ root: ExaminedRoot) -> [Finding] {
    let path = root.root + "/" + FileName.journal
    do throws(CairnError) {
      guard let journal = try MigrationJournal.read(root.root, disk: root.disk) else { return [] }
      let names = journal.items.map(\.directory).joined(separator: " ")
      let place = journal.other.isEmpty ? "" : journal.isTarget ? " from " : " to "
      let what =
        journal.isTarget && journal.isInstalled
        ? "datastores were moved here\(place)\(journal.other), which has not been told: \(names)"
        : "datastores were being moved\(place)\(journal.other) when it was interrupted, or are "
          + "just now: \(names)"
      return [
        Finding(
          check: name, severity: .warning,
          message: what + ". The next use of the root completes it or takes it back",
          file: path, command: root.command("ls"))
      ]
    } catch {
      return [
        Finding(
          check: name, severity: .error,
          message: error.message + "; no datastore of the root can be opened until it can be read "
            + "or is gone. What was being moved is in directories m… beside it", file: path,
          offset: error.offset)
      ]
    }
  }
}
