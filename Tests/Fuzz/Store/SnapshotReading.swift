import CairnBytes
import CairnLog
import CairnStore

/// A snapshot, read to its last block.
package enum SnapshotReading {
  /// A hash of all that it says; throws a typed error with the path if anything is wrong.
  ///
  /// `datastore` is whose it has to be; nil takes its own word for it.
  package static func hash(
    _ bytes: [UInt8], _ path: String, datastore: UInt128? = nil
  ) throws -> UInt64 {
    let disk = OneFileDisk(bytes)
    let found = try SnapshotCheck.run(
      path, datastore: datastore ?? HeaderOwner.of(bytes), disk: disk
    ) { _, _ in }
    let reader = try SnapshotReader(path, disk: disk)
    var hash = XXH3.hash64(reader.description, seed: UInt64(found.rows))
    for number in 0..<reader.blockCount { hash = XXH3.hash64(try reader.block(number), seed: hash) }
    return hash
  }
}
