import Cairn
import CairnDisk
import CairnStore
import TestSupport

/// Errors of the disk while what a power cut has left is opened: they are typed, change nothing,
/// and the next try shows what it would have shown without them.
struct RecoveryFaults {
  private(set) var ledger: Ledger
  private(set) var sites = 0
  private let seed: UInt64
  private let faults: [FaultSearch.Fault]
  private var nonce: UInt64 = 0

  init(_ ledger: Ledger, seed: UInt64, faults: [FaultSearch.Fault]) {
    self.ledger = ledger
    self.seed = seed
    self.faults = faults
  }

  /// One in so many points of the scenario.
  mutating func search(_ scenario: some Scenario, variant: UInt64, every: Int) async throws {
    let recorder = try await Recorder.record(scenario, seed: seed, variant: variant)
    let random = SeededRandom(seed &+ variant)
    let plan = FatePlan(changes: 3, samples: 2, parts: 4)
    for (number, point) in recorder.points.enumerated() where number % every == 0 {
      let fates = plan.fates(point.home.pending, random)
      let chosen = fates[random.below(fates.count)]
      do { try fail(scenario, point, chosen, recorder.peers) } catch {
        throw TortureFailure(
          "\(scenario.name), variant \(variant), seed \(seed): recovery at point \(number) "
            + "(\(point.label)), \(chosen): \(error)")
      }
    }
  }

  private mutating func place(
    _ point: Recorder.Point, _ fates: [FatePlan.Fate], _ peers: Set<UInt64>
  ) -> Place {
    nonce += 1
    let clock = ManualClock(point.time)
    var place = Place(
      home: point.home.disk(fates, clock: clock), folder: point.folder.living(clock: clock),
      clock: clock, seed: seed &+ nonce &* 977)
    place.peers = peers
    place.process = ProcessDisk(place.home)
    return place
  }

  private mutating func fail(
    _ scenario: some Scenario, _ point: Recorder.Point, _ fates: [FatePlan.Fate],
    _ peers: Set<UInt64>
  ) throws {
    let whole = place(point, fates, peers)
    let wanted = try scenario.look(whole)
    let (operations, reads) = (whole.home.operations, whole.home.reads)
    for number in 0..<(operations + reads) {
      let fault = faults[number % faults.count]
      let isRead = number >= operations
      if fault.isForCreating, !isRead { continue }
      sites += 1
      let isForever = number % 2 == 1
      var place = place(point, fates, peers)
      if isRead {
        place.home.failAt(
          read: number - operations + 1, reason: fault.reason, forever: isForever)
      } else {
        place.home.failAt(operation: number + 1, reason: fault.reason, forever: isForever)
      }
      let disk = place.home
      do {
        let look = try scenario.look(place)
        ledger.count("recoveries that went on all the same")
        guard look.content == wanted.content else {
          throw TortureFailure("with \(fault.name) at call \(number) it shows something else")
        }
      } catch {
        guard error is StoreError || error is CairnError else { throw error }
        ledger.count("recoveries that failed")
      }
      guard disk.strikeCount > 0 else {
        throw TortureFailure("call \(number) of the recovery, which was to fail, never came")
      }
      ledger.took("in a recovery: " + fault.name)
      place.home.heal()
      place.process?.kill()
      place.process = ProcessDisk(place.home)
      guard try scenario.look(place).content == wanted.content else {
        throw TortureFailure("after \(fault.name) at call \(number) it shows something else")
      }
    }
  }
}
