internal import CairnDisk
internal import CairnLog

/// What the root knows of the account's datastores, and whether it fits what is here.
enum CatalogueCheck {
  static let name = "catalogue"

  /// Reads CATALOGUE into the root.
  static func run(_ root: inout ExaminedRoot) -> [Finding] {
    let path = root.root + "/" + FileName.installation
    do throws(LogError) {
      let limit = InstallationFile.bytesMax
      guard let bytes = try DurableFile.read(path, limit: limit, disk: root.disk) else { return [] }
      root.installation = try InstallationFile(bytes, path: path)
    } catch { return [damaged(error, path, root)] }
    return root.datastores().filter(\.isOver).map { datastore in
      datastore.finding(
        name, .warning, "the datastore was deleted on another device; its copy goes to the trash "
          + "when the list is next exchanged and nobody has it open",
        command: root.command("ls", "--refresh"))
    }
  }

  private static func damaged(_ error: LogError, _ path: String, _ root: ExaminedRoot) -> Finding {
    let message = "\(error); the account's datastores can't be listed or opened until then"
    var finding = Finding(
      check: name, severity: .error, message: message, file: path, offset: error.offset)
    if error.saysUnread { return finding }
    let away = ShellLine.of(["mv", "--", path, path + ".damaged"])
    finding.command =
      root.account == nil ? away : away + " && " + root.command("ls", "--refresh")
    return finding
  }
}
