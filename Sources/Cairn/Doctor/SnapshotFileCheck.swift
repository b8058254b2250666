internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// The snapshot that CURRENT names, to the last byte.
enum SnapshotFileCheck {
  static let name = "snapshot"

  static func run(_ datastore: inout ExaminedDatastore) -> [Finding] {
    guard let current = datastore.current, current.snapshot != 0 else { return [] }
    let path =
      datastore.directory + "/" + FileName.snapshots + "/" + FileName.snapshot(current.snapshot)
    do throws(LogError) {
      let reader = try SnapshotReader(path, disk: datastore.root.disk)
      do throws(DecodeError) {
        datastore.base = try SnapshotDescription(
          reader.description, blockCount: reader.blockCount)
      } catch {
        throw LogError(error, path, at: reader.header.descriptionOffset, "the description")
      }
      datastore.hasCuts = datastore.base?.tables.contains { $0.name == Cut.table } ?? false
    } catch { return [datastore.finding(name, error)] }
    do throws(StoreError) {
      _ = try SnapshotCheck.run(
        path, datastore: current.datastore, disk: datastore.root.disk) { _, _ in }
      return []
    } catch {
      guard let log = error.log else {
        return [datastore.finding(name, .error, error.message, file: path)]
      }
      return [datastore.finding(name, log, "records in it can't be read")]
    }
  }
}
