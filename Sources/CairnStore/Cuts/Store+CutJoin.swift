import CairnDisk
import CairnMerge
import Synchronization

/// What is asked of deltas one by one is asked of a whole snapshot at once.
extension Store {
  /// Deltas of the snapshot that have not seen an own cut would not be applied by themselves. What
  /// is sealed is behind the fence, and was asked for with it.
  static func obstacle(toJoining vector: VersionVector, _ guarded: Guarded) -> StoreError? {
    let cut = guarded.store.cuts.cuts.first { cut in
      !vector.contains(cut.dot) && !CutBook.isCovered(vector, by: cut, guarded.words)
    }
    return cut.map(Store.cutObstacle)
  }

  /// Cuts that only the snapshot has must let through what is here.
  static func obstacle(
    to cuts: [Cut], of vector: VersionVector, at device: DeviceID, _ guarded: Guarded
  ) -> StoreError? {
    let here = guarded.store.vector
    let cut = cuts.first { cut in
      !here.contains(cut.dot) && !vector.covers(here)
        && !CutBook.admits(cut, at: device, seen: here, words: guarded.words)
    }
    return cut.map(Store.cutObstacle)
  }

  /// The cuts that a snapshot brings.
  func cutsBrought(by theirs: BaseSnapshot) throws(StoreError) -> [Cut] {
    guard theirs.tableNumber(CutTable.name) != nil else { return [] }
    var other = StoreState(device: device, isAlone: false)
    other.adopt(theirs)
    try other.readCuts()
    return other.cuts.cuts
  }

  private static func cutObstacle(_ cut: Cut) -> StoreError {
    StoreError(
      .invalidOperation,
      "the snapshot can't be joined: it has deltas that do not count beside delta "
        + "\(cut.dot.sequence) of device \(cut.dot.device), or the other way round; fetch the "
        + "deltas themselves")
  }
}
