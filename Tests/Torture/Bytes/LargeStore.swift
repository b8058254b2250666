import CairnFuzzEntries
import CairnMerge
import CairnStore
import TestSupport

/// A store of many mebibytes in small segments, since all of a file is read for each of its bytes.
struct LargeStore {
  private let disk = MemoryDisk(clock: ManualClock())

  /// Commits records of the sample until its files have that many bytes; a few are in a snapshot.
  init(bytes wanted: Int, seed: UInt64) throws {
    var options = StoreOptions()
    options.compactsAutomatically = false
    options.segmentBytes = 16 << 10
    options.durability = .none
    options.limits.datastoreBytes = 1 << 40
    options.limits.records = 1 << 30
    let store = try Store.open(
      SampleWorld.storeDirectory, datastore: SampleWorld.storeIdentity, isLinked: true,
      options: options, machine: SampleWorld.machine(disk, seed: seed))
    var commit = 0
    while commit & 0xFF != 0 || total < wanted {
      let id = "\(seed)-\(commit)"
      try store.insert(
        table: "t", id: RecordName(id), SampleWorld.fields(id).map { ($0.0, $0.1) })
      try store.sync()
      commit += 1
      if commit == 64 { _ = try store.compact() }
    }
    try store.close()
  }

  private var total: Int { disk.paths().reduce(0) { $0 + (disk.bytes($1)?.count ?? 0) } }

  /// Its files of a kind that is read, by path.
  func files() -> [(path: String, kind: FileKind, bytes: [UInt8])] {
    disk.paths().compactMap { path in
      guard let kind = SampleWorld.kind(path), let bytes = disk.bytes(path) else { return nil }
      return (path, kind, bytes)
    }
  }
}
