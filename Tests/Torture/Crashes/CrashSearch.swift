import CairnBytes
import CairnDisk
import TestSupport

/// Lets a scenario happen once, and then looks at everything that a power cut at any of its steps
/// could have left.
struct CrashSearch {
  /// How much is looked at.
  struct Effort {
    var plan: FatePlan
    var deepPlan: FatePlan
    /// One in so many images is recovered with a power cut at each step of the recovery.
    var deepEvery: Int
    /// One in so many is worked on with after the recovery.
    var goOnEvery: Int
    /// One in so many is verified byte for byte.
    var verifyEvery: Int
    /// One in so many that needed no mending is opened a second time; all others always are.
    var againEvery: Int
    /// One in so many is recovered once more, and one call of the disk, any, fails in that.
    var failEvery: Int
    /// One in so many killed processes is recovered with a power cut at each step.
    var killsEvery: Int
    /// Cuts of one recovery that are looked at, at most: depth 2 costs most.
    var deepMax: Int
  }

  private(set) var ledger: Ledger
  /// The kinds of steps before which the power was cut.
  private(set) var sites: Set<String> = []
  private let effort: Effort
  private let seed: UInt64
  /// Images that were recovered, and what they showed.
  private var shown: [UInt64: Look] = [:]
  private var deep: [UInt64: Look] = [:]
  /// Processes that were killed, by what their disks hold and what of it is not durable.
  private var killed: [UInt64: Look] = [:]
  private var counter: UInt64 = 0
  /// No two images have the same randomness.
  private var nonce: UInt64 = 0

  init(_ ledger: Ledger, effort: Effort, seed: UInt64) {
    self.ledger = ledger
    self.effort = effort
    self.seed = seed
  }

  /// Different images by hash, and those among them that an interrupted recovery left.
  var states: Set<UInt64> { Set(deep.keys).union(shown.keys) }
  var deepStates: Set<UInt64> { Set(deep.keys) }

  /// The whole of one scenario.
  mutating func search(_ scenario: some Scenario, variant: UInt64) async throws {
    let recorder = try await Recorder.record(scenario, seed: seed, variant: variant)
    let random = SeededRandom(seed &* 31 &+ variant)
    for (number, point) in recorder.points.enumerated() {
      do { try await search(point, scenario, recorder, random) } catch {
        throw TortureFailure(
          "\(scenario.name), variant \(variant), seed \(seed): power cut at point \(number) "
            + "(\(point.label), step \(point.step)): \(error)")
      }
      ledger.count("power cuts")
    }
    for site in recorder.sites {
      ledger.took(site.name, site.count)
      sites.insert(site.name)
    }
    ledger.count("scenarios")
  }

  private mutating func search(
    _ point: Recorder.Point, _ scenario: some Scenario, _ recorder: Recorder,
    _ random: SeededRandom
  ) async throws {
    let allowed = recorder.allowed(point)
    let homeFates = effort.plan.fates(point.home.pending, random)
    let folderFates = effort.plan.fates(point.folder.pending, random)
    try kill(point, scenario, allowed, recorder.peers)
    // The folder is mostly another computer's, which loses nothing.
    for home in homeFates {
      try await check(point, home, nil, scenario, allowed, recorder.peers)
    }
    guard !point.folder.pending.isEmpty else { return }
    for folder in folderFates {
      try await check(point, homeFates[0], folder, scenario, allowed, recorder.peers)
      try await check(
        point, homeFates[homeFates.count - 1], folder, scenario, allowed, recorder.peers)
    }
  }

  private mutating func image(
    _ point: Recorder.Point, _ home: [FatePlan.Fate], _ folder: [FatePlan.Fate]?,
    _ peers: Set<UInt64>
  ) -> Place {
    let clock = ManualClock(point.time)
    nonce += 1
    var place = Place(
      home: point.home.disk(home, clock: clock),
      folder: folder.map { point.folder.disk($0, clock: clock) }
        ?? point.folder.living(clock: clock),
      clock: clock, seed: seed &+ nonce &* 977)
    place.peers = peers
    return place
  }

  private mutating func check(
    _ point: Recorder.Point, _ home: [FatePlan.Fate], _ folder: [FatePlan.Fate]?,
    _ scenario: some Scenario, _ allowed: ArraySlice<UInt64>, _ peers: Set<UInt64>
  ) async throws {
    let place = image(point, home, folder, peers)
    let hash = CrashSearch.hash(place)
    ledger.count("images")
    do {
      if let look = shown[hash] { return try CrashSearch.demand(look, allowed, "it") }
      counter += 1
      let number = counter
      let look = try scenario.look(place)
      let calls = RecoveryCalls(place.home)
      try recover(scenario, place, look, allowed)
      shown[hash] = look
      if look.hasMended { ledger.count("mended") }
      if number % UInt64(effort.failEvery) == 0 {
        try fail(image(point, home, folder, peers), scenario, look, calls)
      }
      if number % UInt64(effort.verifyEvery) == 0 {
        ledger.count("verified")
        try Verification.check(place)
      }
      if number % UInt64(effort.goOnEvery) == 0 {
        ledger.count("continued")
        try await scenario.goOn(place)
      }
      if number % UInt64(effort.deepEvery) == 0 || look.hasMended && number % 4 == 0 {
        try deepen(image(point, home, folder, peers), scenario, look, peers, besides: [])
      }
    } catch { throw TortureFailure("\(error); left of home \(home), of folder \(folder ?? [])") }
  }

  /// One call of another recovery fails.
  private mutating func fail(
    _ left: Place, _ scenario: some Scenario, _ look: Look, _ calls: RecoveryCalls
  ) throws {
    let random = SeededRandom(seed &* 7919 &+ counter)
    var number = random.below(calls.count)
    let fault = Errors.faults[random.below(Errors.faults.count)]
    // Steps are few beside the reads, and what matters most.
    if random.below(2) == 0 { number %= max(1, calls.stepCount) }
    if fault.isForCreating, !calls.isRead(number) { return }
    try calls.fail(number, fault, isForever: random.below(2) == 0, scenario, left, look, &ledger)
    ledger.count("sites in recoveries")
  }

  /// What shows was allowed, and when it is opened a second time nothing changes any more.
  private mutating func recover(
    _ scenario: some Scenario, _ place: Place, _ look: Look, _ allowed: ArraySlice<UInt64>
  ) throws {
    try CrashSearch.demand(look, allowed, "the recovery")
    guard look.hasMended || counter % UInt64(effort.againEvery) == 0 else { return }
    ledger.count("opened twice")
    let bytes = place.home.imageHash()
    let again = try scenario.look(place)
    guard again.content == look.content, !again.hasMended else {
      throw TortureFailure("the second recovery finds something else to mend or to show")
    }
    guard place.home.imageHash() == bytes else {
      throw TortureFailure("opening what is whole changes bytes")
    }
    guard place.home.openFiles == 0, place.home.heldLocks == 0 else {
      throw TortureFailure("\(place.home.openFiles) files are left open")
    }
  }

  /// The power fails while the recovery is under way, and in the commit after it.
  private mutating func deepen(
    _ place: Place, _ scenario: some Scenario, _ look: Look, _ peers: Set<UInt64>,
    besides: ArraySlice<UInt64>
  ) throws {
    let recorder = Recorder(place)
    recorder.watch()
    try scenario.resume(place, recorder)
    recorder.stop()
    if let failure = recorder.failure { throw failure }
    guard recorder.contents.contains(look.content) else {
      throw TortureFailure("the same image shows something else the second time")
    }
    ledger.count("recoveries cut")
    let random = SeededRandom(seed &+ counter)
    let points = recorder.points
    // Some of all points, rather than all of some.
    let each = max(1, effort.deepMax / max(1, points.count))
    for point in points {
      var all = effort.deepPlan.fates(point.home.pending, random)
      if points.count > effort.deepMax, random.below(points.count) >= effort.deepMax {
        continue
      }
      while all.count > each { all.remove(at: random.below(all.count)) }
      for fates in all {
        let left = image(point, fates, nil, peers)
        let hash = CrashSearch.hash(left)
        // Before anything was acknowledged what was recovered has to show.
        var allowed = recorder.allowed(point).filter { $0 != 0 || look.content == 0 }
        let isEarly = point.acknowledged == 0
        if isEarly || recorder.contents[point.acknowledged] == look.content { allowed += besides }
        if scenario.hasComings {
          // What the killed process did to another datastore may be undone, and what was
          // acknowledged since may not.
          allowed += besides.flatMap { one in
            recorder.allowed(point).map { one &+ $0 &- look.content }
          }
        }
        do {
          // The same bytes show the same; what they may show is another question at each point.
          let known = shown[hash] ?? deep[hash]
          let again = try known ?? scenario.look(left)
          if known == nil {
            deep[hash] = again
            ledger.count("images")
          }
          guard allowed.contains(again.content) else {
            throw TortureFailure(
              "a recovery after an interrupted recovery shows \(again.content) (\(again.detail)), "
                + "the first one \(look.content) (\(look.detail)); allowed are \(allowed)")
          }
        } catch {
          throw TortureFailure("power cut in the recovery (\(point.label), \(fates)): \(error)")
        }
      }
    }
  }

  /// The process is killed and opened again, without a power cut; that comes while it goes on.
  private mutating func kill(
    _ point: Recorder.Point, _ scenario: some Scenario, _ allowed: ArraySlice<UInt64>,
    _ peers: Set<UInt64>
  ) throws {
    func killed() -> Place {
      let clock = ManualClock(point.time)
      nonce += 1
      var place = Place(
        home: point.home.living(clock: clock), folder: point.folder.living(clock: clock),
        clock: clock, seed: seed &+ nonce &* 977)
      place.peers = peers
      return place
    }
    do {
      let first = killed()
      var hash = CrashSearch.hash(first)
      for change in point.home.pending + point.folder.pending {
        hash = hash &* 31 &+ UInt64(change.sectors + 1)
      }
      // The same bytes, of which as many are not durable: another name for the same moment.
      if let look = self.killed[hash] { return try CrashSearch.demand(look, allowed, "it") }
      let look = try scenario.look(first)
      self.killed[hash] = look
      try CrashSearch.demand(look, allowed, "the next process")
      ledger.count("kills")
      if self.killed.count % effort.killsEvery != 0 { return }
      // What it finds may be in the system's memory only, until it has committed something.
      try deepen(killed(), scenario, look, peers, besides: allowed)
    } catch { throw TortureFailure("the process is killed there: \(error)") }
  }

  private static func demand(_ look: Look, _ allowed: ArraySlice<UInt64>, _ who: String) throws {
    guard let first = allowed.first, !allowed.contains(look.content) else { return }
    throw TortureFailure(
      "\(who) shows \(look.content), which is none of the \(allowed.count) contents from the one "
        + "that was acknowledged (\(first)) on")
  }

  private static func hash(_ place: Place) -> UInt64 {
    // What is in the trash goes by the month.
    let months = UInt64(place.clock.now() / Scenarios.month)
    return (place.home.imageHash() &* 31 &+ place.folder.imageHash()) ^ months
  }
}
