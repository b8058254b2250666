import ArgumentParser
import Cairn
import CairnToolText

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Says what is wrong here and which command mends it; changes nothing.",
    discussion: """
      Looks at the root, at its datastores (all, or the one that is named), and at their files in \
      the shared folder. Of a datastore it reads the snapshot, the log, the trash, attachments, \
      PUBLISHED, and what was fetched and waits to be merged, to the last byte; one that is \
      damaged, or open in an app, is no obstacle. The root may be the directory of an app's \
      accounts, or one in which somebody else's datastore is followed, too. Ends with 0 if there \
      is nothing to be done, with 1 if there is.
      """)

  @Argument(help: "Id of a datastore (default: all).")
  var datastore: String?

  @OptionGroup var place: RootOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    var doctor = Doctor(
      root: place.rootPath, account: try place.account(), folderKinds: try place.folderKinds())
    if let folder = place.folder {
      doctor.commandOptions = ShellLine.option("--folder", try FolderOption.normalized(folder))
      if let user = place.user { doctor.commandOptions += ShellLine.option("--user", user) }
    }
    doctor.followOptions = try Settings(root: place.rootPath).serverOptions
    let found = await doctor.examine(datastore)
    try report.print(Self.json(found), text: Self.lines(found))
    if !found.isHealthy { throw ExitCode(ExitStatus.failure.rawValue) }
  }

  private static func lines(_ found: DoctorReport) -> [String] {
    var lines: [String] = []
    for finding in found.findings.sorted(by: { $0.severity > $1.severity }) {
      let place = finding.datastore.map { "\($0): " } ?? ""
      // Most messages name the file themselves.
      let file = finding.file.flatMap { finding.message.contains($0) ? nil : $0 + ": " } ?? ""
      lines.append("\(finding.severity.rawValue): \(place)\(file)\(finding.message)")
      if let command = finding.command { lines.append("  -> \(command)") }
    }
    let counts = Finding.Severity.allCases.reversed().compactMap { severity -> String? in
      let count = found.findings.count { $0.severity == severity }
      return count == 0 ? nil : counted(count, severity.rawValue)
    }
    let looked = "looked at \(counted(found.datastores.count, "datastore"))"
    lines.append(looked + ": " + (counts.isEmpty ? "all is well" : counts.joined(separator: ", ")))
    return lines
  }

  private static func json(_ found: DoctorReport) -> JSON {
    [
      "healthy": .bool(found.isHealthy), "roots": .array(found.roots.map(JSON.string)),
      "datastores": .array(found.datastores.map(JSON.string)),
      "findings": .array(
        found.findings.map { finding in
          [
            "check": .string(finding.check), "severity": .string(finding.severity.rawValue),
            "datastore": .optional(finding.datastore), "message": .string(finding.message),
            "file": .optional(finding.file), "offset": finding.offset.map { .count($0) } ?? .null,
            "command": .optional(finding.command),
          ]
        }),
    ]
  }
}
