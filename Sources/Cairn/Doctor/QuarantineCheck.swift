internal import CairnDisk
internal import CairnLog

/// What was put aside because it failed a check.
enum QuarantineCheck {
  static let name = "quarantine"

  static func run(_ directory: String, of root: ExaminedRoot, datastore: String?) -> [Finding] {
    let quarantine = directory + "/" + FileName.quarantine
    let entries = root.listed(quarantine)
    let names = Set(entries.map(\.name))
    return entries.compactMap { entry in
      let path = quarantine + "/" + entry.name
      func note(_ message: String) -> Finding {
        Finding(
          check: name, severity: .note, datastore: datastore, message: message, file: path)
      }
      if let subject = Quarantine.subject(entry.name) {
        guard !names.contains(subject), let why = Quarantine.reason(path, disk: root.disk) else {
          return nil
        }
        return note("a file was refused: \(why). Nothing of it is kept here")
      }
      let why = Quarantine.reason(path, disk: root.disk) ?? "a tail of the log that was cut off"
      return note(
        "\(entry.info.size) bytes were put aside: \(why). Nothing reads them; remove the file "
          + "when it is of no more interest, and the .reason beside it, if there is one")
    }
  }
}
