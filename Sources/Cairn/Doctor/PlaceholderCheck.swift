internal import CairnLog

/// Files of a datastore that a cloud drive keeps elsewhere. They are not lost, and nothing has to
/// be done; but nobody has looked into them either.
enum PlaceholderCheck {
  static func run(_ datastore: ExaminedDatastore, _ entries: [FolderEntry]) -> [Finding] {
    // Without a head more waits: that is said of each.
    let absent = entries.filter { entry in
      !entry.isPresent
        && (FileName.published(entry.name) != nil || FileName.sharedSnapshot(entry.name) != nil)
    }
    guard let first = absent.map(\.name).min() else { return [] }
    let what =
      absent.count == 1
      ? "a file of the datastore is in the folder, but its content is not here just now, so that "
        + "it was not looked into"
      : "\(absent.count) files of the datastore are in the folder, but their content is not here "
        + "just now, so that they were not looked into"
    return [datastore.finding(FolderCheck.name, .note, what, file: first)]
  }
}
