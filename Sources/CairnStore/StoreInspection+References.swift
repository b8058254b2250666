import CairnDisk
package import CairnLog

extension StoreInspection {
  /// The contents that the snapshot, or a delta of the log behind it, refers to: all that a record
  /// may have, and some that none has any more. What can't be read is another check's.
  package func references(_ segments: [Segment]) -> Set<BlobReference> {
    var found: Set<BlobReference> = []
    for segment in segments where !segment.isFolded {
      guard let scan = segment.scan else { continue }
      for frame in scan.frames {
        // Another check says what is wrong with it.
        guard let payload = try? frame.payload(scan.bytes) else { continue }
        found.formUnion(BlobReference.all(in: payload))
      }
    }
    guard let path = snapshotPath else { return found }
    // Likewise.
    guard let reader = try? SnapshotReader(path, disk: disk) else { return found }
    for number in 0..<reader.blockCount {
      // Likewise.
      guard let bytes = try? reader.block(number) else { continue }
      found.formUnion(BlobReference.all(in: bytes))
    }
    return found
  }
}
