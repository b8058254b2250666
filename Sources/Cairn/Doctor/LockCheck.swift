internal import CairnDisk
internal import CairnLog

/// Is it open, and where?
enum LockCheck {
  static let name = "lock"

  static func run(_ datastore: inout ExaminedDatastore) -> [Finding] {
    let path = datastore.directory + "/" + FileName.lock
    do throws(DiskError) {
      datastore.holder = try datastore.root.disk.lockHolder(path)
    } catch {
      return [datastore.finding(name, LogError(error))]
    }
    guard let holder = datastore.holder else { return [] }
    return [
      datastore.finding(
        name, .note, "the datastore is open (\(holder)); what was just being written is not judged",
        file: path)
    ]
  }
}
