internal import CairnDisk
internal import CairnLog

/// What was put aside because it failed a check.
enum QuarantineCheck {
  static let name = "quarantine"

  static func run(_ directory: String, of root: ExaminedRoot, datastore: String?) -> [Finding] {
    let quarantine = directory + "/" + FileName.quarantine
    return root.listed(quarantine).compactMap { entry in
      guard !Quarantine.isReason(entry.name) else { return nil }
      let path = quarantine + "/" + entry.name
      let why = Quarantine.reason(path, disk: root.disk) ?? "a tail of the log that was cut off"
      return Finding(
        check: name, severity: .note, datastore: datastore,
        message: "\(entry.info.size) bytes were put aside: \(why). Nothing reads them; remove them "
          + "when they are of no more interest", file: path)
    }
  }
}
