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
      if journal.isTarget, journal.isInstalled { return [untold(journal, names, path, root)] }
      let place = journal.other.isEmpty ? "" : journal.isTarget ? " from " : " to "
      return [
        Finding(
          check: name, severity: .warning,
          message: "datastores were being moved\(place)\(journal.other) when it was interrupted, "
            + "or are just now: \(names). The next use of the root completes it or takes it back",
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

  /// This root has done its part.
  private static func untold(
    _ journal: MigrationJournal, _ names: String, _ path: String, _ root: ExaminedRoot
  ) -> Finding {
    let what = "datastores were moved here from \(journal.other), which has not been told"
    let until = ". Until then nothing is repaired here, nor merged back from the trash"
    let origin: MigrationJournal.Origin
    // One that can't be looked at is there.
    do { origin = try journal.origin(root.disk) } catch { origin = .there }
    if origin == .there, isTold(journal, root) {
      return Finding(
        check: name, severity: .note,
        message: "datastores were moved here from \(journal.other), which knows: \(names). The "
          + "next use of the root removes the note of it", file: path, command: root.command("ls"))
    }
    return switch origin {
    case .there:
      Finding(
        check: name, severity: .warning,
        message: "\(what): \(names). Its next use does that" + until, file: path,
        command: ShellLine.of(["cairn", "ls", "--root", journal.other]))
    case .gone:
      Finding(
        check: name, severity: .note,
        message: "\(what) and is not there any more: \(names). Nothing waits for it", file: path)
    case .away:
      Finding(
        check: name, severity: .warning,
        message: "\(what) and is not there just now: \(names). Use it once it is, or migrate "
          + "again from where it is now (cairn migrate --to, or migrate(to:))" + until, file: path)
    }
  }

  /// Whether nothing but this note is left; who can't be asked has not been told.
  private static func isTold(_ journal: MigrationJournal, _ root: ExaminedRoot) -> Bool {
    do throws(CairnError) {
      return try MigrationJournal.read(journal.other, disk: root.disk)?.token != journal.token
    } catch { return false }
  }
}
