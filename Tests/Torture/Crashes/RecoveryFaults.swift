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
    return place
  }

  private mutating func fail(
    _ scenario: some Scenario, _ point: Recorder.Point, _ fates: [FatePlan.Fate],
    _ peers: Set<UInt64>
  ) throws {
    let whole = place(point, fates, peers)
    let wanted = try scenario.look(whole)
    let calls = RecoveryCalls(whole.home)
    for number in 0..<calls.count {
      let fault = faults[number % faults.count]
      if fault.isForCreating, !calls.isRead(number) { continue }
      sites += 1
      try calls.fail(
        number, fault, isForever: number % 2 == 1, scenario, place(point, fates, peers), wanted,
        &ledger)
    }
  }
}
