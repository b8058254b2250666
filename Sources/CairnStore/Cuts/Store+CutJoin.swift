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
  func checkCuts(_ theirs: BaseSnapshot) throws(StoreError) {
    guard theirs.tableNumber(CutTable.name) != nil else { return }
    var other = StoreState(device: device, isAlone: false)
    other.adopt(theirs)
    try other.readCuts()
    let cuts = other.cuts.cuts
    let vector = other.vector
    let found = state.withLock { guarded in
      cuts.first { cut in
        !guarded.store.vector.contains(cut.dot) && !vector.covers(guarded.store.vector)
          && !CutBook.admits(
            cut, at: device, seen: guarded.store.vector, words: guarded.words)
      }
    }
    if let found { throw Store.cutObstacle(found) }
  }

  private static func cutObstacle(_ cut: Cut) -> StoreError {
    StoreError(
      .invalidOperation,
      "the snapshot can't be joined: it has deltas that do not count beside delta "
        + "\(cut.dot.sequence) of device \(cut.dot.device), or the other way round; fetch the "
        + "deltas themselves")
  }
}
