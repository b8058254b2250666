internal import CairnDisk
internal import CairnLog

/// CURRENT, which names all other files.
enum CurrentCheck {
  static let name = "current"

  /// Reads CURRENT into the datastore.
  static func run(_ datastore: inout ExaminedDatastore) -> [Finding] {
    let path = datastore.directory + "/" + FileName.current
    do throws(LogError) {
      let disk = datastore.root.disk
      guard let bytes = try DurableFile.read(path, limit: 4096, disk: disk) else {
        return missing(datastore, path)
      }
      let current = try CurrentFile(bytes, path: path)
      guard current.datastore == datastore.identity else {
        throw LogError(.foreign, path, at: 16, "it belongs to another datastore")
      }
      datastore.current = current
      return []
    } catch {
      return [
        datastore.finding(name, error, "nothing else of the datastore can be used without it")
      ]
    }
  }

  /// Whether it belongs to whom its root does. No damage: a repair has nothing to do with it.
  static func linkage(_ datastore: ExaminedDatastore) -> [Finding] {
    // Of a root that is looked at without its account another check tells.
    guard let current = datastore.current, datastore.root.account != nil, !current.isLinked
    else { return [] }
    return [
      datastore.finding(
        name, .error,
        "the datastore is a local one, but its root belongs to an account; it can't be opened "
          + "there. Move its directory to a local root and migrate that",
        file: datastore.directory + "/" + FileName.current, offset: 12)
    ]
  }

  private static func missing(_ datastore: ExaminedDatastore, _ path: String) -> [Finding] {
    let parts = [FileName.log, FileName.snapshots]
    let hasContent = parts.contains { part in
      datastore.root.listed(datastore.directory + "/" + part).contains {
        FileName.segmentNumber($0.name) != nil || FileName.snapshotNumber($0.name) != nil
      }
    }
    guard hasContent else {
      return [
        datastore.finding(
          name, .note, "an empty directory of a datastore that was never finished, or whose files "
            + "were removed", file: path)
      ]
    }
    return [
      datastore.finding(
        name, .error, "it is missing although there is a log or a snapshot: the datastore can't be "
          + "opened", file: path, command: datastore.repair)
    ]
  }
}
