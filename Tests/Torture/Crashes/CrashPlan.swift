import CairnDisk
import Synchronization
import TestSupport

/// Which scenarios a run goes through, in which order, and how far: the scripts first, then short
/// sequences of steps, then the scripts again with other bytes.
struct CrashPlan: Sendable {
  /// One scenario with one set of bytes.
  struct Job: Sendable {
    var scenario: any Scenario
    var variant: UInt64
    /// Whether it is done however many images there have been.
    var isDue: Bool
  }

  /// What is done, in this order.
  private(set) var jobs: [Job] = []

  /// `sequences` is the length up to which all sequences are due; `extra` that of those which fill
  /// up a run that has not seen enough, before it goes on with so many `variants` of the scripts.
  init(sequences: Int, extra: Int, variants: UInt64) {
    add(CrashPlan.scripts, variant: 0, isDue: true)
    for length in 1...max(1, extra) {
      add(CrashPlan.sequences(length), variant: 0, isDue: length <= sequences)
    }
    for variant in 1...max(1, variants) { add(CrashPlan.scripts, variant: variant, isDue: false) }
  }

  /// The one of that name.
  init(only name: String, variant: UInt64) throws {
    let known = CrashPlan.scripts + CrashPlan.sequences(1) + CrashPlan.sequences(2)
      + CrashPlan.sequences(3)
    add(known.filter { $0.name == name }, variant: variant, isDue: true)
    if jobs.isEmpty { throw TortureFailure("there is no scenario \(name)") }
  }

  private mutating func add(_ scenarios: [any Scenario], variant: UInt64, isDue: Bool) {
    jobs += scenarios.map { Job(scenario: $0, variant: variant, isDue: isDue) }
  }

  /// The longest first, so that lanes end together.
  private static var scripts: [any Scenario] {
    let shared = Scenarios.shared.sorted { $0.weight > $1.weight }
    return shared.map { $0 as any Scenario } + Scenarios.store.map { $0 as any Scenario }
  }

  private static func sequences(_ length: Int) -> [any Scenario] {
    let store = Scenarios.storeSequences(of: length).map { $0 as any Scenario }
    // The alphabet of an exchange has as many words of three letters as a night has time for.
    if length > 2 { return store }
    return store + Scenarios.sharedSequences(of: length).map { $0 as any Scenario }
  }
}

/// What all lanes of a run have come to. Each scenario is searched by one of them, from its own
/// seed alone, so that it does the same whatever else there is.
final class CrashTally: Sendable {
  private struct State {
    var next = 0
    var isOver = false
    var states: Set<UInt64> = []
    var deep: Set<UInt64> = []
    var sites: Set<String> = []
    var ledgers: [(job: Int, ledger: Ledger)] = []
  }

  private let state = Lock(State())
  private let plan: CrashPlan
  private let goal: Int
  private let deepGoal: Int

  init(_ plan: CrashPlan, goal: Int, deepGoal: Int) {
    (self.plan, self.goal, self.deepGoal) = (plan, goal, deepGoal)
  }

  /// The next one to do, if there is any and not enough was done.
  func take() -> (number: Int, job: CrashPlan.Job)? {
    state.withLock { state in
      guard !state.isOver, state.next < plan.jobs.count else { return nil }
      let job = plan.jobs[state.next]
      let isEnough = state.states.count >= goal && state.deep.count >= deepGoal
      if !job.isDue, isEnough { return nil }
      state.next += 1
      return (state.next - 1, job)
    }
  }

  /// Nothing new is begun.
  func end() { state.withLock { $0.isOver = true } }

  func add(_ number: Int, _ search: CrashSearch) {
    state.withLock { state in
      state.states.formUnion(search.states)
      state.deep.formUnion(search.deepStates)
      state.sites.formUnion(search.sites)
      state.ledgers.append((number, search.ledger))
    }
  }

  var states: Int { state.withLock { $0.states.count } }

  /// The kinds of steps before which the power was cut.
  var sites: Set<String> { state.withLock { $0.sites } }

  /// Everything, in the order of the plan.
  func merge(into ledger: inout Ledger) {
    let (parts, states, deep) = state.withLock { state in
      (state.ledgers.sorted { $0.job < $1.job }, state.states.count, state.deep.count)
    }
    for part in parts { ledger.merge(part.ledger) }
    ledger.count("states", states)
    ledger.count("states at depth 2", deep)
  }
}
