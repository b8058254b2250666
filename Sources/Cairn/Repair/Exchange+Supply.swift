internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Whether a snapshot is to be fetched and joined with what is here, instead of deltas.
extension Exchange {
  /// What is fetched as deltas below this is not worth a join, which writes the whole snapshot at
  /// home anew …
  private static let joinFrom: UInt64 = 1 << 20
  /// … and neither is one that saves less than half of it.
  private static let joinFactor: UInt64 = 2
  /// What a request counts with, in bytes.
  private static let requestBytes: UInt64 = 16 << 10

  /// What of the heads' deltas can be had from segments.
  private struct Supply {
    /// What is here, visible or not.
    var have: VersionVector
    /// Up to where the files continue it.
    var reach: VersionVector
    /// The files that it takes.
    var files: [(device: DeviceID, last: UInt64, size: UInt64)] = []

    /// What is still to be fetched by one who has a snapshot of this vector.
    func cost(beyond vector: VersionVector) -> UInt64 {
      files.reduce(0) {
        $1.last > vector[$1.device] ? $0 &+ $1.size &+ Exchange.requestBytes : $0
      }
    }

    /// What is read first to find out whether a snapshot of this vector goes on from what is here.
    func cost(comparing vector: VersionVector) -> UInt64 {
      var seen: Set<DeviceID> = []
      return files.reduce(0) { sum, file in
        let (device, size) = (file.device, file.size)
        guard have[device] > 0, vector[device] > 0, seen.insert(device).inserted else {
          return sum
        }
        return sum &+ size &+ Exchange.requestBytes
      }
    }
  }

  /// The snapshot to join; nil if deltas will do.
  func snapshotToJoin(
    _ snapshots: [Head.Snapshot], _ listing: [String: FolderEntry]
  ) -> Head.Snapshot? {
    let heads = memory.withLock { $0.sortedHeads }
    let supply = supply(heads, listing)
    let useful = snapshots.filter {
      !supply.have.covers($0.vector)
        && store.obstacle(toJoining: $0.vector, fence: $0.fence) == nil
    }
    let needed = useful.filter { !supply.reach.covers($0.vector) }
    let rounds = memory.withLock { memory in
      let known = memory.needed
      memory.needed = [:]
      for snapshot in needed { memory.needed[snapshot.name] = (known[snapshot.name] ?? 0) + 1 }
      return memory.needed
    }
    let urgent = needed.filter { snapshot in
      rounds[snapshot.name] ?? 0 >= Exchange.patience
        || heads.contains { fillsGap(snapshot, $0, supply) }
    }
    if let newest = Exchange.newest(urgent) { return newest }
    let deltas = supply.cost(beyond: supply.have)
    guard deltas >= Exchange.joinFrom else { return nil }
    func cost(_ snapshot: Head.Snapshot) -> UInt64 {
      snapshot.size &+ Exchange.requestBytes
        &+ supply.cost(beyond: supply.have.merged(with: snapshot.vector))
        &+ supply.cost(comparing: snapshot.vector)
    }
    let heldBefore = inbox.withLock { $0.heldBefore }
    let cheapest = useful.filter { !heldBefore.contains($0.content) }
      .min { (cost($0), $0.hash) < (cost($1), $1.hash) }
    guard let cheapest, cost(cheapest) <= deltas / Exchange.joinFactor else { return nil }
    return cheapest
  }

  static func newest(_ snapshots: [Head.Snapshot]) -> Head.Snapshot? {
    snapshots.max { ($0.vector.total, $0.hash) < ($1.vector.total, $1.hash) }
  }

  /// Whether a head says that what comes next of its device is in no segment any more: there is
  /// nothing to wait for.
  private func fillsGap(_ snapshot: Head.Snapshot, _ head: Head, _ supply: Supply) -> Bool {
    let next = supply.reach[head.device] &+ 1
    if head.isWrittenAgain, next > head.last { return snapshot.vector[head.device] >= next }
    return head.gaps.contains {
      $0.contains(next) && snapshot.vector[head.device] >= $0.upperBound
    }
  }

  private func supply(_ heads: [Head], _ listing: [String: FolderEntry]) -> Supply {
    var have = store.vector
    inbox.withLock { inbox in
      for device in Set(inbox.items.map(\.device)) {
        have[device] = inbox.reach(device, from: have[device])
      }
    }
    var supply = Supply(have: have, reach: have)
    let (foreign, withheld) = memory.withLock { ($0.foreign, $0.withheld) }
    for head in heads {
      var last = have[head.device]
      for segment in head.segments where segment.last > last {
        let name = segment.name(head.device)
        guard segment.first - 1 <= last, let entry = listing[name], entry.size == segment.size,
          foreign[name]?.version != entry.version, withheld[name]?.version != entry.version
        else { break }
        supply.files.append((head.device, segment.last, segment.size))
        last = segment.last
      }
      if last > 0 { supply.reach[head.device] = last }
    }
    return supply
  }
}
