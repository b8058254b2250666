import CairnDisk
import Synchronization
import TestSupport

/// Takes note of both disks before each step of theirs, and of what the datastore showed at the
/// end of each commit.
final class Recorder: Sendable {
  /// A place where the power can fail.
  struct Point: Sendable {
    var home: MemoryDiskMoment
    var folder: MemoryDiskMoment
    var time: Int64
    /// What was to happen next.
    var label: String
    /// The scenario's step, by index.
    var step: Int
    /// The content that was acknowledged last, as an index of `contents`.
    var acknowledged: Int
  }

  private struct State {
    var points: [Point] = []
    /// How many contents there were at the end of each step.
    var ceilings: [Int] = []
    var contents: [UInt64] = [0]
    var acknowledged = 0
    var pauses = 0
    /// Reads of the folder's disk that others have done, by their numbers.
    var othersReads: [ClosedRange<Int>] = []
    var readsAtPause = 0
    var sites: [(name: String, count: Int)] = []
    var peers: Set<UInt64> = []
    var failure: TortureFailure?
    var isWatching = true
    var hook: (@Sendable (MemoryDiskOperation) -> Void)?
    var nested: [Int: Int] = [:]
  }

  private let state = Lock(State())
  private let place: Place
  private let order: WriteOrder
  private let nestedBefore: [Int: Int]?

  /// `nested` is what a run without faults has noted, for one with them.
  init(_ place: Place, nested: [Int: Int]? = nil) {
    self.place = place
    nestedBefore = nested
    order = WriteOrder(place)
  }

  /// Begins to take notes.
  func watch() {
    place.home.intercept { [self] operation in
      note(operation, isHome: true)
      return nil
    }
    place.folder.intercept { [self] operation in
      note(operation, isHome: false)
      return nil
    }
  }

  func stop() {
    place.home.intercept(nil)
    place.folder.intercept(nil)
  }

  private func note(_ operation: MemoryDiskOperation, isHome: Bool) {
    guard state.withLock({ $0.pauses == 0 }) else { return }
    let site = Site.name(operation, isHome: isHome)
    let broken = order.check(operation, isHome: isHome)
    add(site)
    let hook = state.withLock { state in
      if let place = state.sites.firstIndex(where: { $0.name == site }) {
        state.sites[place].count += 1
      } else {
        state.sites.append((site, 1))
      }
      if let broken, state.failure == nil { state.failure = broken }
      return state.hook
    }
    if isHome { hook?(operation) }
  }

  private func add(_ label: String) {
    let (home, folder) = (place.home.moment(), place.folder.moment())
    let time = place.clock.now()
    state.withLock { state in
      state.points.append(
        Point(
          home: home, folder: folder, time: time, label: label, step: state.ceilings.count,
          acknowledged: state.acknowledged))
    }
  }

  /// Called before each step of the home disk, which is not locked meanwhile.
  func hook(_ body: (@Sendable (MemoryDiskOperation) -> Void)?) {
    state.withLock { $0.hook = body }
  }

  /// Calls the hook and takes no notes: for interceptors of others.
  func announce(_ operation: MemoryDiskOperation) {
    let hook = state.withLock { $0.hook }
    hook?(operation)
  }

  /// So many commits were made inside of a step, by its index.
  func noteNested(_ count: Int, in step: Int) { state.withLock { $0.nested[step] = count } }

  var nested: [Int: Int] { state.withLock { $0.nested } }

  /// How many commits have to be made inside of a step; nil for as many as there are moments for.
  func nestedGoal(of step: Int) -> Int? { nestedBefore.map { $0[step] ?? 0 } }

  /// What others do meanwhile is no step of ours.
  func pause() {
    let reads = place.folder.reads
    state.withLock { state in
      if state.pauses == 0 { state.readsAtPause = reads }
      state.pauses += 1
    }
  }

  func resume() {
    let reads = place.folder.reads
    state.withLock { state in
      state.pauses -= 1
      if state.pauses == 0, reads > state.readsAtPause {
        state.othersReads.append(state.readsAtPause + 1...reads)
      }
    }
  }

  var isPaused: Bool { state.withLock { $0.pauses > 0 } }
  var othersReads: [ClosedRange<Int>] { state.withLock { $0.othersReads } }

  // MARK: contents

  /// The datastore is about to commit this.
  func begin(_ content: UInt64) {
    state.withLock { state in
      if state.contents.last != content { state.contents.append(content) }
    }
  }

  /// What was begun is safe.
  func acknowledge() { state.withLock { $0.acknowledged = $0.contents.count - 1 } }

  func notePeer(_ device: UInt64) { state.withLock { _ = $0.peers.insert(device) } }

  /// A step of the scenario is over; the power may fail here, too.
  func endStep() {
    add("after the step")
    state.withLock { $0.ceilings.append($0.contents.count) }
  }

  // MARK: results

  var points: [Point] { state.withLock { $0.points } }
  var sites: [(name: String, count: Int)] { state.withLock { $0.sites } }
  var peers: Set<UInt64> { state.withLock { $0.peers } }
  var failure: TortureFailure? { state.withLock { $0.failure } }
  var contents: [UInt64] { state.withLock { $0.contents } }

  /// What may be found after a crash at this point.
  func allowed(_ point: Point) -> ArraySlice<UInt64> {
    state.withLock { state in
      let ceiling =
        point.step < state.ceilings.count ? state.ceilings[point.step] : state.contents.count
      return state.contents[point.acknowledged..<max(ceiling, point.acknowledged + 1)]
    }
  }
}
