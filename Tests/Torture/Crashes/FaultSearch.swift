import Cairn
import CairnDisk
import CairnLog
import CairnStore
import Synchronization
import TestSupport

/// Lets a scenario happen once for every call of the device's disk, and of the one that the folder
/// is on, which fails there: once, or from there on until the error has been seen. Then it is tried
/// again, until all is done.
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
  /// Steps and reads that have failed, by what they are.
  private(set) var hit: Set<String> = []

  init(_ ledger: Ledger, seed: UInt64) {
    self.ledger = ledger
    self.seed = seed
  }

  /// What one disk has to do in a run without faults.
  private struct Work {
    var operations: [MemoryDiskOperation]
    var reads: [MemoryDiskRead]
  }

  /// What a run without faults is like.
  private struct Plain {
    var home: Work
    /// Without what other devices do there.
    var folder: Work
    var contents: [UInt64]
    var floors: [Int]
    var ceilings: [Int]
    /// How many commits came inside of a step, by its index.
    var nested: [Int: Int]
    var final: UInt64
  }

  /// One call that fails.
  private struct Call {
    /// Of which disk: the device's own, or the one that the folder is on.
    var isHome: Bool
    /// Of the disk's steps, or of its reads.
    var operation: Int?
    var read: Int?
    var isForever: Bool
    var fault: Fault
    /// Which kind of call it is.
    var site: String

    var description: String {
      let place = operation.map { "step \($0)" } ?? "read \(read ?? 0)"
      return "\(place) (\(site)) fails with \(fault.name)"
        + (isForever ? " from there on" : "")
    }
  }

  mutating func search(
    _ scenario: some Scenario, faults: [Fault], variant: UInt64, stride: Int
  ) async throws {
    let plain = try await plain(scenario, variant)
    var number = 0
    for isHome in [true, false] {
      for fault in faults {
        for call in Self.calls(isHome ? plain.home : plain.folder, fault, isHome: isHome) {
          number += 1
          // The first one of its kind comes whatever the stride.
          if number % stride != 0, hit.contains(call.site) { continue }
          try await run(scenario, call, plain, variant)
        }
      }
    }
    ledger.count("scenarios")
  }

  /// Everything that can fail in one way, once and for good.
  private static func calls(_ work: Work, _ fault: Fault, isHome: Bool) -> [Call] {
    var result: [Call] = []
    for isForever in [false, true] {
      for operation in work.operations {
        let makes = ["create", "lock", "make the directory"].contains(operation.verb)
        if fault.isForCreating, !makes { continue }
        result.append(
          Call(
            isHome: isHome, operation: operation.number, isForever: isForever, fault: fault,
            site: Site.name(operation, isHome: isHome)))
      }
      // Reads fail with errors of the medium, and because handles ran out.
      guard fault.name == "EIO" || fault.isForCreating else { continue }
      result += work.reads.map {
        Call(
          isHome: isHome, read: $0.number, isForever: isForever, fault: fault,
          site: Site.name($0, isHome: isHome))
      }
    }
    return result
  }

  private func plain(_ scenario: some Scenario, _ variant: UInt64) async throws -> Plain {
    let place = Place(seed: seed &+ variant, variant: variant)
    let recorder = Recorder(place)
    let home = Lock<[MemoryDiskOperation]>([])
    let folder = Lock<[MemoryDiskOperation]>([])
    place.home.intercept { operation in
      recorder.announce(operation)
      // It comes behind the steps of the commit that it was announced to.
      var counted = operation
      counted.number = place.home.operations + 1
      home.withLock { [counted] in $0.append(counted) }
      return nil
    }
    place.folder.intercept { operation in
      if !recorder.isPaused { folder.withLock { $0.append(operation) } }
      return nil
    }
    place.home.logReads()
    place.folder.logReads()
    var floors: [Int] = []
    var ceilings: [Int] = []
    let life = try scenario.begin(place, recorder)
    for step in life.stepNames.indices {
      floors.append(recorder.contents.count - 1)
      do { try await life.perform(step) } catch {
        throw TortureFailure(
          "\(scenario.name), step \(step) (\(life.stepNames[step])) fails by itself: \(error)")
      }
      ceilings.append(recorder.contents.count)
    }
    try life.close()
    place.home.intercept(nil)
    place.folder.intercept(nil)
    let (homeReads, folderReads) = (place.home.readLog, place.folder.readLog)
    var left = place
    left.peers = recorder.peers
    let final = try scenario.look(left).content
    guard final == recorder.contents.last else {
      throw TortureFailure("\(scenario.name): in the end there is not what was committed last")
    }
    let others = recorder.othersReads
    return Plain(
      home: Work(operations: home.withLock { $0 }, reads: homeReads),
      folder: Work(
        operations: folder.withLock { $0 },
        reads: folderReads.filter { read in !others.contains { $0.contains(read.number) } }),
      contents: recorder.contents, floors: floors, ceilings: ceilings, nested: recorder.nested,
      final: final)
  }

  /// What comes inside of a step comes in a run with faults, too, until and after one.
  private static func announce(_ home: MemoryDisk, to recorder: Recorder) {
    home.intercept { operation in
      recorder.announce(operation)
      return nil
    }
  }

  private mutating func run(
    _ scenario: some Scenario, _ call: Call, _ plain: Plain, _ variant: UInt64
  ) async throws {
    let place = Place(seed: seed &+ variant, variant: variant)
    let recorder = Recorder(place, nested: plain.nested)
    Self.announce(place.home, to: recorder)
    let disk = call.isHome ? place.home : place.folder
    disk.tearFailedWrites(seed: seed &+ UInt64(sites))
    if let operation = call.operation {
      disk.failAt(operation: operation, reason: call.fault.reason, forever: call.isForever)
    }
    if let read = call.read {
      disk.failAt(read: read, reason: call.fault.reason, forever: call.isForever)
    }
    sites += 1
    do {
      let life = try scenario.begin(place, recorder)
      var errors = 0
      var isAcknowledged = true
      for step in life.stepNames.indices {
        errors += try await insist(life, step, place, recorder, plain, &isAcknowledged)
      }
      ledger.count(errors == 0 ? "survived unnoticed" : "errors seen", max(1, errors))
      try await settle(
        scenario, life, place, plain, recorder, isAcknowledged: isAcknowledged,
        isHome: call.isHome)
      try count(call, disk)
    } catch {
      let strike = disk.strikes.first.map { " (\($0.verb) \($0.path))" } ?? ""
      throw TortureFailure(
        "\(scenario.name), variant \(variant), seed \(seed): \(call.description)\(strike): "
          + "\(error)")
    }
  }

  /// The disk says what has failed. Until then all is as in the run without faults, so the call
  /// comes.
  private mutating func count(_ call: Call, _ disk: MemoryDisk) throws {
    guard disk.strikeCount > 0 else {
      throw TortureFailure("the call that was to fail never came")
    }
    ledger.took((call.isHome ? "" : "folder: ") + call.fault.name)
    ledger.took(call.site)
    hit.insert(call.site)
  }

  /// One step until it is done. Returns how many errors there were.
  private func insist(
    _ life: any Life, _ step: Int, _ place: Place, _ recorder: Recorder, _ plain: Plain,
    _ isAcknowledged: inout Bool
  ) async throws -> Int {
    for attempt in 0..<4 {
      do {
        try await life.perform(step)
        return attempt
      } catch {
        guard
          error is StoreError || error is CairnError || error is DiskError || error is ToldFault
        else { throw error }
        if attempt == 3 {
          throw TortureFailure(
            "step \(step) (\(life.stepNames[step])) does not get over it: \(error)")
        }
        place.home.heal()
        place.folder.heal()
        Self.announce(place.home, to: recorder)
        try life.mend(error)
        if (error as? ToldFault)?.isPartial == true { continue }
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
    _ recorder: Recorder, isAcknowledged: Bool, isHome: Bool
  ) async throws {
    do {
      try life.close()
    } catch {
      // Whatever it was, the next open tells.
      guard error is StoreError || error is CairnError else { throw error }
    }
    place.home.heal()
    place.folder.heal()
    for disk in [place.home, place.folder] where disk.openFiles > 0 || disk.heldLocks > 0 {
      throw TortureFailure(
        "\(disk.openFiles) files and \(disk.heldLocks) locks are never given back")
    }
    var place = place
    place.peers = recorder.peers
    let look = try scenario.look(place)
    guard look.content == plain.final else {
      throw TortureFailure("in the end something else shows")
    }
    if !scenario.isDurable || isBeyondHelp(scenario, place.home) { return }
    // What was never acknowledged may be in the system's memory only, until the next commit there;
    // of several datastores that comes to one.
    if !isAcknowledged, scenario.hasComings { return }
    try scenario.resume(place, recorder)
    let after = try scenario.look(place).content
    var left = Place(
      home: place.home.crash(keep: .nothingUnsynced), folder: place.folder, clock: place.clock,
      seed: seed &+ 5)
    left.peers = recorder.peers
    guard try scenario.look(left).content == after else {
      throw TortureFailure("in the end something is not durable")
    }
    // What is in the folder is whole, too, for others.
    if !isHome { try await scenario.goOn(place) }
  }

  /// Whether a failed sync has lost what no later one brings back, and nobody can tell: for a store
  /// alone that is a directory which could not be taken back either; an account moves directories,
  /// and beside its datastores' segments it has files that nobody makes anew.
  private func isBeyondHelp(_ scenario: some Scenario, _ home: MemoryDisk) -> Bool {
    let lost = home.lostNames()
    if !lost.directories.isEmpty { return true }
    if scenario is StoreScenario { return false }
    if scenario.hasComings { return !lost.files.isEmpty }
    return lost.files.contains { path in
      FileName.segmentNumber(WriteOrder.last(path)) == nil
        || WriteOrder.last(WriteOrder.parent(path)) != FileName.log
    }
  }
}
