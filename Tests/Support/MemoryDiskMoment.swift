package import CairnDisk
internal import Synchronization

/// A simulated disk as it was at one moment: what is durable by then, and the changes of which a
/// power cut keeps some. It shares its bytes with the disk, so taking one costs next to nothing.
package struct MemoryDiskMoment: Sendable {
  /// A change that no sync has covered.
  package enum Pending: Equatable, Sendable {
    /// Of a name in a directory.
    case name
    /// So many bytes from that place of a file on.
    case write(at: Int, count: Int)
    /// Of a file's length alone.
    case length
  }

  /// What becomes of such a change.
  package enum Fate: Equatable, Sendable {
    case lost
    case kept
    /// Of a write: the first so many bytes.
    case prefix(Int)
    /// Of a write: those of the medium's sectors that it touches, counted from its first one;
    /// `grows` if the file has its new length all the same.
    case sectors([Bool], grows: Bool)
  }

  let state: MemoryDiskState
  let clock: any WallClock

  /// The changes that are not durable, in the order in which `disk` asks for their fates: names by
  /// directory, then contents by file, each in the order in which they were made.
  package var pending: [Pending] {
    var result: [Pending] = []
    for (_, directory) in state.directories.sorted(by: { $0.key < $1.key }) {
      result += directory.pending.map { _ in .name }
    }
    for (_, file) in state.files.sorted(by: { $0.key < $1.key }) {
      for change in file.pending {
        switch change {
        case .write(let place, let bytes): result.append(.write(at: place, count: bytes.count))
        case .truncate, .extend: result.append(.length)
        }
      }
    }
    return result
  }

  /// The disk that a power cut at this moment leaves if each change has the fate at its index;
  /// those beyond the last one are lost.
  package func disk(_ fates: [Fate], clock other: (any WallClock)? = nil) -> MemoryDisk {
    var index = 0
    let left = state.crashed {
      defer { index += 1 }
      return index < fates.count ? fates[index] : .lost
    }
    return MemoryDisk(left, clock: other ?? clock)
  }

  /// The disk as programs see it, with what is not durable: of a program that was killed, or of a
  /// place that loses no power.
  package func living(clock other: (any WallClock)? = nil) -> MemoryDisk {
    MemoryDisk(state.copied(), clock: other ?? clock)
  }
}

extension MemoryDiskMoment.Fate {
  func apply(_ change: MemoryDiskContent.Change, to bytes: inout MemoryDiskBytes) {
    switch self {
    case .lost: return
    case .kept: MemoryDiskContent.apply(change, to: &bytes)
    case .prefix(let count):
      guard case .write(let place, let new) = change else { return }
      bytes.write(new.prefix(count), at: place)
    case .sectors(let kept, let grows):
      guard case .write(let place, let new) = change else { return }
      if grows { bytes.grow(to: place + new.count) }
      var start = 0
      var sector = 0
      while start < new.count {
        let sectorEnd = ((place + start) / MemoryDisk.sectorSize + 1) * MemoryDisk.sectorSize
        let end = min(new.count, sectorEnd - place)
        if sector < kept.count, kept[sector] { bytes.write(new[start..<end], at: place + start) }
        start = end
        sector += 1
      }
    }
  }
}

extension MemoryDiskMoment.Pending {
  /// How many of the medium's sectors it touches.
  package var sectors: Int {
    guard case .write(let place, let count) = self, count > 0 else { return 0 }
    return (place + count - 1) / MemoryDisk.sectorSize - place / MemoryDisk.sectorSize + 1
  }
}

extension MemoryDisk {
  /// The disk as it is now.
  package func moment() -> MemoryDiskMoment {
    MemoryDiskMoment(state: state.withLock { $0.moment() }, clock: clock)
  }
}

extension MemoryDiskState {
  /// Without what was ordered of the disk.
  func moment() -> MemoryDiskState {
    var copy = self
    copy.interceptor = nil
    copy.operationFaults = []
    copy.readFaults = []
    copy.strikes = []
    return copy
  }
}
