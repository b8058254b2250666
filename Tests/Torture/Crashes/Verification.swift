import CairnDisk
import CairnLog
import CairnStore
import TestSupport

/// Every byte of a closed store, as `cairn verify` looks at it.
enum Verification {
  /// All stores of a place that are in use.
  static func check(_ place: Place) throws {
    for path in place.home.paths() where WriteOrder.last(path) == FileName.current {
      let directory = WriteOrder.parent(path)
      let name = WriteOrder.last(directory)
      if path.contains("/" + FileName.trash + "/") || FileName.isTemporary(name) { continue }
      if FileName.stagingToken(name) == nil { try check(place, directory) }
    }
  }

  static func check(_ place: Place, _ directory: String) throws {
    let inspection = try StoreInspection(directory, machine: place.machine)
    defer { inspection.close() }
    for segment in try inspection.segments() {
      if let problem = segment.problem { throw TortureFailure("verify: \(problem)") }
      try inspection.deltas(segment) { _ in }
    }
    _ = try inspection.checkSnapshot { _, _ in }
  }
}

/// Files that nobody needs and nobody will remove.
enum Strays {
  /// After a compaction there are only the files that CURRENT names, and those of known names.
  static func check(_ place: Place, stores: [String]) throws {
    for store in stores {
      let inspection = try StoreInspection(store, machine: place.machine)
      let current = inspection.current
      inspection.close()
      for path in place.home.paths() where path.hasPrefix(store + "/") {
        let name = WriteOrder.last(path)
        if FileName.isTemporary(name) { throw TortureFailure("\(path) is left for ever") }
        if let number = FileName.snapshotNumber(name), number != current.snapshot {
          throw TortureFailure("\(path) is left for ever")
        }
        if path.contains("/" + FileName.log + "/"), let number = FileName.segmentNumber(name),
          number < current.firstKept
        {
          throw TortureFailure("\(path) is left for ever")
        }
      }
    }
  }
}
