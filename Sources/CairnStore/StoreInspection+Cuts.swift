import CairnLog
package import CairnMerge

extension StoreInspection {
  /// Devices for which agreements wait, as an opening of these files would find it that has heard
  /// these words of others. Costs what opening costs.
  package func silentMembers(_ words: CutBook.Words) throws(StoreError) -> Set<DeviceID> {
    var state = StoreState(device: DeviceID(rawValue: current.device), isAlone: false)
    if let snapshotPath {
      let reader: SnapshotReader
      do { reader = try SnapshotReader(snapshotPath, disk: disk) } catch { throw StoreError(error) }
      state.adopt(
        try BaseSnapshot(
          number: current.snapshot, reader: reader, budget: StoreOptions().cacheBytes))
      try state.readRulesOfBase()
      try state.readCuts()
    }
    for segment in try segments() where !segment.isFolded {
      guard let scan = segment.scan else { continue }
      var replay = SegmentReplay(scan: scan, path: segment.path)
      do { try replay.run(into: &state) } catch { throw StoreError(error) }
    }
    return state.silentMembers(words)
  }
}
