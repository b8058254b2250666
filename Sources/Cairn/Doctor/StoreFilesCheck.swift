internal import CairnDisk
internal import CairnLog

/// Files of a datastore that are none of ours or that nobody names, and those that can be made
/// anew.
enum StoreFilesCheck {
  static let name = "files"

  /// Everything that a datastore has besides temporary files.
  private static let known: Set<String> = [
    FileName.lock, FileName.current, FileName.publication, FileName.log, FileName.snapshots,
    FileName.inbox, FileName.quarantine, FileName.info, FileName.role, FileName.trash,
    FileName.chains, FileName.rejoining, FileName.blobs,
  ]

  static func run(_ datastore: ExaminedDatastore) -> [Finding] {
    var findings: [Finding] = []
    do throws(DiskError) {
      for entry in try datastore.root.list(datastore.directory)
      where !known.contains(entry.name) && FileName.outboxNumber(entry.name) == nil {
        findings += stray(entry.name, datastore.directory, datastore)
      }
      let log = datastore.directory + "/" + FileName.log
      for entry in try datastore.root.list(log)
      where FileName.segmentNumber(entry.name) == nil {
        findings += stray(entry.name, log, datastore)
      }
      let snapshots = datastore.directory + "/" + FileName.snapshots
      for entry in try datastore.root.list(snapshots) {
        guard let number = FileName.snapshotNumber(entry.name) else {
          findings += stray(entry.name, snapshots, datastore)
          continue
        }
        guard datastore.holder == nil, let current = datastore.current, number != current.snapshot
        else { continue }
        findings.append(
          datastore.finding(
            name, .note, "a snapshot that nobody names any more; the next compaction removes it",
            file: snapshots + "/" + entry.name,
            command: datastore.root.command("compact", on: datastore.id)))
      }
    } catch { return findings + [datastore.finding(name, LogError(error))] }
    return findings + info(datastore)
  }

  private static func stray(
    _ entry: String, _ directory: String, _ datastore: ExaminedDatastore
  ) -> [Finding] {
    if FileName.isTemporary(entry) {
      // Somebody may be writing it.
      if datastore.holder != nil { return [] }
      return [
        datastore.finding(
          name, .note, "half written by something that was interrupted; it may be removed",
          file: directory + "/" + entry)
      ]
    }
    return [
      datastore.finding(
        name, .note, "it is none of the library's files; nothing reads it",
        file: directory + "/" + entry)
    ]
  }

  /// INFO is for lists only, and made anew when the datastore is next closed.
  private static func info(_ datastore: ExaminedDatastore) -> [Finding] {
    let path = datastore.directory + "/" + FileName.info
    do throws(LogError) {
      let disk = datastore.root.disk
      if let bytes = try DurableFile.read(path, limit: InfoFile.bytesMax, disk: disk) {
        _ = try InfoFile(bytes, path: path)
      }
      return []
    } catch {
      if case .disk(let disk) = error.reason, disk.reason == .notRegular {
        // No file can take its place.
        return [
          datastore.finding(
            name, .warning, "\(error); lists show less as long as it is there", file: path)
        ]
      }
      return [
        datastore.finding(
          name, .warning, "\(error); lists show less until it is made anew, at the next use",
          file: path, offset: error.offset,
          command: datastore.root.command("status", on: datastore.id))
      ]
    }
  }
}
