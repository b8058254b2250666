import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// Watches in which order things are written: nothing is named before it is durable, nothing is
/// removed that is still named by what a power cut would leave, and nothing is in the folder that
/// a power cut could take back at home.
struct WriteOrder: Sendable {
  private let place: Place

  init(_ place: Place) { self.place = place }

  /// What is wrong with a step that is about to happen; nil if nothing is.
  func check(_ operation: MemoryDiskOperation, isHome: Bool) -> TortureFailure? {
    guard let wrong = isHome ? atHome(operation) : inFolder(operation) else { return nil }
    return TortureFailure("write order: \(operation.verb) \(operation.path): \(wrong)")
  }

  /// Files that are replaced as a whole and relied upon.
  private static let relied: Set<String> = [
    FileName.current, FileName.publication, FileName.installation, FileName.journal,
    FileName.accounts,
  ]

  private func atHome(_ operation: MemoryDiskOperation) -> String? {
    switch operation.verb {
    case "rename":
      guard let target = operation.target else { return nil }
      let name = WriteOrder.last(target)
      let isSnapshot = FileName.snapshotNumber(name) != nil
      if WriteOrder.relied.contains(name) || isSnapshot, !place.home.isSynced(operation.path) {
        return "\(name) gets its name before its bytes are durable"
      }
      return name == FileName.current ? named(operation.path, target) : nil
    case "remove": return removed(operation.path)
    default: return nil
    }
  }

  /// What the new CURRENT names.
  private func named(_ source: String, _ target: String) -> String? {
    guard let bytes = place.home.bytes(source) else { return "it is not there" }
    // What is no CURRENT is found by whoever opens it.
    guard let current = try? CurrentFile(bytes, path: source) else { return "it is no CURRENT" }
    let directory = WriteOrder.parent(target)
    if current.snapshot != 0 {
      let path = directory + "/" + FileName.snapshots + "/" + FileName.snapshot(current.snapshot)
      if !place.home.isDurable(path) { return "it names a snapshot that is not durable" }
    }
    for number in current.firstKept..<current.firstSegment {
      let path = directory + "/" + FileName.log + "/" + FileName.segment(number)
      if !place.home.isDurable(path) { return "it names segment \(number), which is not durable" }
    }
    return nil
  }

  private func removed(_ path: String) -> String? {
    let name = WriteOrder.last(path)
    let directory = WriteOrder.parent(WriteOrder.parent(path))
    // A directory that has lost its name is removed in any order.
    if FileName.isTemporary(WriteOrder.last(directory)) { return nil }
    if FileName.stagingToken(WriteOrder.last(directory)) != nil { return nil }
    // Nor is a copy in the trash that somebody wanted to be gone.
    if directory.contains("/" + FileName.trash + "/") { return nil }
    // Nor is what a device takes over gone on with: the next opening removes the rest.
    if WriteOrder.last(directory) == FileName.rejoining { return nil }
    let currentPath = directory + "/" + FileName.current
    guard let bytes = place.home.durableBytes(currentPath),
      // As above.
      let current = try? CurrentFile(bytes, path: currentPath)
    else { return nil }
    if let number = FileName.snapshotNumber(name), number == current.snapshot {
      return "a snapshot is removed that a power cut would bring back into use"
    }
    if let number = FileName.segmentNumber(name), number >= current.firstKept,
      let bytes = place.home.durableBytes(path),
      // One that holds nothing was never begun.
      let scan = try? SegmentScan(bytes, path: path), !scan.frames.isEmpty
    {
      return "a segment is removed that a power cut would bring back into use"
    }
    return nil
  }

  private func inFolder(_ operation: MemoryDiskOperation) -> String? {
    guard operation.verb == "rename", let target = operation.target else { return nil }
    let name = WriteOrder.last(target)
    guard !FileName.isTemporary(name) else { return nil }
    if !place.folder.isSynced(operation.path) {
      return "\(name) gets its name before its bytes are durable"
    }
    if FileName.headDevice(name) != nil {
      let directory = WriteOrder.parent(target)
      for path in place.folder.paths() where WriteOrder.parent(path) == directory {
        if FileName.published(WriteOrder.last(path)) != nil, !place.folder.isDurable(path) {
          return "a head is written while \(path) is not durable"
        }
      }
    }
    guard let published = FileName.published(name) else { return nil }
    return last(of: published.device) >= published.last
      ? nil : "delta \(published.last) is published, and a power cut would take it back at home"
  }

  /// The last own delta that a power cut leaves at home for certain.
  private func last(of device: UInt64) -> UInt64 {
    let paths = place.home.paths()
    for path in paths where WriteOrder.last(path) == FileName.current {
      guard let bytes = place.home.durableBytes(path),
        // As above.
        let current = try? CurrentFile(bytes, path: path), current.device == device
      else { continue }
      let left = place.home.crash(keep: .nothingUnsynced)
      let machine = Machine(disk: left, clock: place.clock, random: SeededRandom(3))
      var options = StoreOptions()
      options.compactsAutomatically = false
      // A store that can't be opened has nothing.
      guard
        let store = try? Store.open(
          WriteOrder.parent(path), datastore: current.datastore, isLinked: current.isLinked,
          options: options, machine: machine)
      else { return 0 }
      return store.vector[store.device]
    }
    return 0
  }

  static func last(_ path: String) -> String {
    String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
  }

  static func parent(_ path: String) -> String {
    String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
  }
}
