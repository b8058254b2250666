import Cairn
import CairnDisk
import CairnStore
import Synchronization
import TestSupport

/// Lets a scenario happen once for every call of the disk, which fails there: once, or from there
/// on until the error has been seen. Then it is tried again, until all is done.
struct FaultSearch {
  /// Where it fails, and with what.
  struct Fault: Sendable {
    var name: String
    var reason: DiskError.Reason
    /// Calls that can't fail in this way.
    var isForCreating = false
  }

  private(set) var ledger: Ledger
  private let seed: UInt64
  private(set) var sites = 0

  init(_ ledger: Ledger, seed: UInt64) {
    self.ledger = ledger
    self.seed = seed
  }

  /// What a run without faults is like.
  private struct Plain {
    var operations: [MemoryDiskOperation]
    var reads: Int
    var contents: [UInt64]
    var floors: [Int]
    var ceilings: [Int]
    var final: UInt64
  }

  /// One call that fails.
  private struct Call {
    /// Of the disk's steps, or of its reads.
    var operation: Int?
    var read: Int?
    var isForever: Bool
    var fault: Fault
    var call = ""

    var description: String {
      let place = operation.map { "step \($0) (\(call))" } ?? "read \(read ?? 0)"
      return "\(place) fails with \(fault.name)\(isForever ? " from there on" : "")"
    }
  }

  mutating func search(
    _ scenario: some Scenario, faults: [Fault], variant: UInt64, stride: Int
  ) async throws {
    let plain = try await plain(scenario, variant)
    var number = 0
    for fault in faults {
      for isForever in [false, true] {
        for operation in plain.operations {
          if fault.isForCreating, !["create", "lock", "make the directory"].contains(operation.verb)
          {
            continue
          }
          number += 1
          if number % stride != 0 { continue }
          var site = Call(operation: operation.number, isForever: isForever, fault: fault)
          site.call = Site.name(operation, isHome: true)
          try await run(scenario, site, plain, variant)
        }
        // Reads fail with errors of the medium, and because handles ran out.
        guard fault.name == "EIO" || fault.isForCreating else { continue }
        for read in 1...max(1, plain.reads) {
          number += 1
          if number % stride != 0 { continue }
          let site = Call(read: read, isForever: isForever, fault: fault)
          try await run(scenario, site, plain, variant)
        }
      }
    }
    ledger.count("scenarios")
  }

  private func plain(_ scenario: some Scenario, _ variant: UInt64) async throws -> Plain {
    let place = Place(seed: seed &+ variant, variant: variant)
    let recorder = Recorder(place)
    let operations = Lock<[MemoryDiskOperation]>([])
    place.home.intercept { operation in
      operations.withLock { $0.append(operation) }
      return nil
    }
    var floors: [Int] = []
    var ceilings: [Int] = []
    let life = try scenario.begin(place, recorder)
    for step in life.stepNames.indices {
      floors.append(recorder.contents.count - 1)
      try await life.perform(step)
      ceilings.append(recorder.contents.count)
    }
    let final = try life.content()
    try life.close()
    place.home.intercept(nil)
    return Plain(
      operations: operations.withLock { $0 }, reads: place.home.reads,
      contents: recorder.contents, floors: floors, ceilings: ceilings, final: final)
  }

  private mutating func run(
    _ scenario: some Scenario, _ site: Call, _ plain: Plain, _ variant: UInt64
  ) async throws {
    let place = Place(seed: seed &+ variant, variant: variant)
    let recorder = Recorder(place)
    place.home.tearFailedWrites(seed: seed &+ UInt64(sites))
    if let operation = site.operation {
      place.home.failAt(
        operation: operation, reason: site.fault.reason, forever: site.isForever)
    }
    if let read = site.read {
      place.home.failAt(read: read, reason: site.fault.reason, forever: site.isForever)
    }
    sites += 1
    ledger.took(site.fault.name)
    do {
      let life = try scenario.begin(place, recorder)
      var errors = 0
      var isAcknowledged = true
      for step in life.stepNames.indices {
        errors += try await insist(life, step, place, plain, &isAcknowledged)
      }
      ledger.count(errors == 0 ? "survived unnoticed" : "errors seen", max(1, errors))
      try await settle(scenario, life, place, plain, recorder, isAcknowledged: isAcknowledged)
    } catch {
      throw TortureFailure(
        "\(scenario.name), variant \(variant), seed \(seed): \(site.description): \(error)")
    }
  }

  /// One step until it is done. Returns how many errors there were.
  private func insist(
    _ life: any Life, _ step: Int, _ place: Place, _ plain: Plain, _ isAcknowledged: inout Bool
  ) async throws -> Int {
    for attempt in 0..<4 {
      do {
        try await life.perform(step)
        return attempt
      } catch {
        guard error is StoreError || error is CairnError || error is DiskError else { throw error }
        if attempt == 3 { throw error }
        place.home.heal()
        try life.mend(error)
        // Nothing half done: what shows is what did before, or what it was to be.
        let shown = try life.content()
        let allowed = plain.contents[plain.floors[step]..<plain.ceilings[step]]
        guard allowed.contains(shown) else {
          throw TortureFailure(
            "after \(error), in step \(step) (\(life.stepNames[step])), something shows that is "
              + "neither the state before it nor the one after it")
        }
        // It was done, but for its acknowledgement.
        if allowed.first != allowed.last, shown == allowed.last {
          isAcknowledged = false
          return attempt + 1
        }
      }
    }
    return 0
  }

  /// In the end all is there, and nothing is held.
  private func settle(
    _ scenario: some Scenario, _ life: any Life, _ place: Place, _ plain: Plain,
    _ recorder: Recorder, isAcknowledged: Bool
  ) async throws {
    do {
      try life.close()
    } catch {
      // Whatever it was, the next open tells.
      guard error is StoreError || error is CairnError else { throw error }
    }
    place.home.heal()
    guard place.home.openFiles == 0, place.home.heldLocks == 0 else {
      throw TortureFailure(
        "\(place.home.openFiles) files and \(place.home.heldLocks) locks are never given back")
    }
    var place = place
    place.peers = recorder.peers
    let look = try scenario.look(place)
    guard look.content == plain.final else {
      throw TortureFailure("in the end something else shows")
    }
    // What a failed sync of a directory has dropped no later one brings back, and nobody can tell.
    if place.home.hasLostNames || !scenario.isDurable { return }
    // What was never acknowledged may be in the system's memory only, until the next commit there.
    if !isAcknowledged, !(scenario is StoreScenario) { return }
    try scenario.resume(place, recorder)
    let after = try scenario.look(place).content
    var left = Place(
      home: place.home.crash(keep: .nothingUnsynced), folder: place.folder, clock: place.clock,
      seed: seed &+ 5)
    left.peers = recorder.peers
    guard try scenario.look(left).content == after else {
      throw TortureFailure("in the end something is not durable")
    }
  }
}
