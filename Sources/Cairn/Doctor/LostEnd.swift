internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// The end of the log that is not there any more. Nothing in the log itself can tell: one that ends
/// earlier is as whole as before. But INFO says how many deltas there were when the datastore was
/// last closed, or had last published something. Nor can anybody tell why: a backup that copies
/// file by file, `log` before and INFO after something was committed, gives just the same.
enum LostEnd {
  /// What a snapshot has; nothing if there is none, nil if it can't be read.
  static func base(_ snapshot: String?, disk: any Disk) -> VersionVector? {
    guard let snapshot else { return VersionVector() }
    do {
      let reader = try SnapshotReader(snapshot, disk: disk)
      return try SnapshotDescription(reader.description, blockCount: reader.blockCount).vector
    } catch {
      // What is wrong with it other checks say.
      return nil
    }
  }

  /// INFO; nil if there is none that can be read. To be read before the log is: who commits and
  /// closes meanwhile writes one that knows of more.
  static func info(_ directory: String, disk: any Disk) -> InfoFile? {
    // A hint, without which nothing is said.
    (try? InfoFile.read(directory, disk: disk)) ?? nil
  }

  /// What is to be said where the snapshot and the log, both of them whole, have these deltas; nil
  /// if INFO knows of no others. Of a datastore that is open INFO may say anything.
  static func message(
    _ directory: String, _ current: CurrentFile, _ info: InfoFile?, here: VersionVector
  ) -> String? {
    // What was put together anew may have fewer deltas than before, and its folder has the rest.
    guard current.rejoinings == 0, let info, info.view.deltas > here.total else { return nil }
    let (deltas, records) = (info.view.deltas, info.view.records)
    let left = here.isEmpty ? "none of them" : "only \(here.total) of these deltas"
    let advice =
      current.isLinked
      ? "an exchange brings back what was published; for the rest restore a backup of the whole "
        + "directory before that"
      : "restore a backup of the whole directory, if there is one"
    return "\(directory)/\(FileName.info) notes \(records) \(records == 1 ? "record" : "records") "
      + "in \(deltas) \(deltas == 1 ? "delta" : "deltas"), and the snapshot and the log have "
      + "\(left): it seems that the log has lost its end (a power cut with a durability below "
      + "full, a disk that rots or that failed), or this directory was copied while it was open: "
      + "then the rest is where it was copied from. The next opening takes what is here for all "
      + "there was, and then nobody can tell any more: \(advice)"
  }
}
