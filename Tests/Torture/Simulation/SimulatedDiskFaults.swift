import CairnDisk
import Synchronization
import TestSupport

/// Faults of one device's disk that were ordered, and a count of those that have struck.
final class SimulatedDiskFaults: Sendable {
  private struct Armed {
    var act: SimulationStep.Act
    var countdown: Int
    /// How many operations in a row it strikes.
    var duration: Int
  }

  private struct State {
    var armed: [Armed] = []
    var counts: [SimulationStep.Act: Int] = [:]
    var total = 0
    /// What steps of the disk at hand were made to fail by, by their number.
    var ordered: [Int: SimulationStep.Act] = [:]
    /// So many of its strikes are in the counts.
    var counted = 0
  }

  private let state = Lock(State())
  /// What is told of each operation, if somebody listens.
  let listener = Lock<(@Sendable (String) -> Void)?>(nil)

  /// All that have struck so far, as the disk says.
  func total(_ disk: MemoryDisk) -> Int {
    let number = disk.strikeCount
    return state.withLock { state in
      if number == state.counted { return state.total }
      for strike in disk.strikes[state.counted..<number] {
        let act = strike.isRead ? .readError : state.ordered[strike.number]
        if let act { state.counts[act, default: 0] += 1 }
      }
      state.total += number - state.counted
      state.counted = number
      return state.total
    }
  }

  func count(_ act: SimulationStep.Act) -> Int { state.withLock { $0.counts[act] ?? 0 } }

  func arm(_ act: SimulationStep.Act, on disk: MemoryDisk, _ random: SeededRandom) {
    switch act {
    case .powerCut: disk.powerOff(before: disk.operations + 1 + random.below(40))
    case .readError:
      disk.failAt(read: disk.reads + 1 + random.below(40), reason: .io(errno: 5))
    default:
      let armed = Armed(
        act: act, countdown: random.below(act == .syncError ? 5 : 15),
        duration: act == .diskFull ? 1 + random.below(20) : 1)
      state.withLock { $0.armed.append(armed) }
    }
  }

  /// No more of them on this disk.
  func disarm(_ disk: MemoryDisk) {
    _ = total(disk)
    disk.heal()
    state.withLock { $0.armed = [] }
  }

  /// The disk asks before each step from now on.
  func install(on disk: MemoryDisk) {
    disk.intercept { [self] operation in
      let reason = strike(operation)
      if let tell = listener.withLock({ $0 }) {
        let failure = reason.map { " fails: \($0)" } ?? ""
        tell("    \(operation.number) \(operation.verb) \(operation.path)\(failure)")
      }
      return reason
    }
  }

  /// Another disk takes the place of this one, on which nothing has struck yet.
  func leave(_ disk: MemoryDisk) {
    _ = total(disk)
    state.withLock { state in
      state.ordered = [:]
      state.counted = 0
    }
  }

  private func strike(_ operation: MemoryDiskOperation) -> DiskError.Reason? {
    state.withLock { state in
      guard !state.armed.isEmpty,
        let index = state.armed.firstIndex(where: { Self.concerns($0.act, operation.verb) })
      else { return nil }
      if state.armed[index].countdown > 0 {
        state.armed[index].countdown -= 1
        return nil
      }
      let act = state.armed[index].act
      state.armed[index].duration -= 1
      if state.armed[index].duration == 0 { state.armed.remove(at: index) }
      // Whether it comes to that the disk says: without power it fails for another reason.
      state.ordered[operation.number] = act
      return act == .diskFull ? .noSpace : .io(errno: 5)
    }
  }

  private static func concerns(_ act: SimulationStep.Act, _ verb: String) -> Bool {
    switch act {
    case .syncError: verb == "sync"
    case .writeError: verb == "write"
    case .diskFull: verb == "write" || verb == "reserve space for" || verb == "create"
    default: verb == "create" || verb == "rename" || verb == "remove"
    }
  }
}
