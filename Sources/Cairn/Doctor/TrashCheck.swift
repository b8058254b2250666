internal import CairnDisk
internal import CairnLog
internal import CairnStore

/// The records that other devices have deleted: can they be had back?
enum TrashCheck {
  static let name = "trash"

  struct File {
    var path: String
    var bytes: UInt64
    var problem: LogError?
  }

  static func run(_ datastore: ExaminedDatastore) -> [Finding] {
    do throws(DiskError) {
      return try files(datastore.directory, of: datastore.identity, disk: datastore.root.disk)
        .compactMap { file in
          file.problem.map { finding($0, file.path, datastore) }
        }
    } catch {
      // Gone just now, or never there.
      if error.reason == .notFound { return [] }
      return [datastore.finding(name, LogError(error))]
    }
  }

  private static func finding(
    _ problem: LogError, _ path: String, _ datastore: ExaminedDatastore
  ) -> Finding {
    // What is in it may be whole.
    if problem.saysUnread {
      return datastore.finding(
        name, .warning, "\(problem)", file: path, offset: problem.offset)
    }
    return datastore.finding(
      name, .warning, "\(problem); the deleted records in it can't be had back. Nothing else "
        + "needs it: remove it, or empty the trash when nothing in it is wanted any more",
      file: path, offset: problem.offset,
      command: datastore.isFollowed
        ? nil : datastore.root.command(["trash", "empty"], on: datastore.id))
  }

  /// Reads all files of a datastore's trash.
  static func files(
    _ datastore: String, of identity: UInt128, disk: any Disk
  ) throws(DiskError) -> [File] {
    let directory = datastore + "/" + FileName.trash
    guard try disk.info(directory) != nil else { return [] }
    var result: [File] = []
    for entry in try disk.list(directory) where FileName.deletedNumber(entry.name) != nil {
      var file = File(path: directory + "/" + entry.name, bytes: entry.info.size)
      do throws(LogError) {
        let bytes = try DurableFile.read(file.path, limit: DeletedFile.bytesMax, disk: disk)
        // Its time was over just now.
        guard let bytes else { continue }
        _ = try DeletedFile(bytes, path: file.path, of: identity)
      } catch { file.problem = error }
      result.append(file)
    }
    return result.sorted { $0.path < $1.path }
  }
}
