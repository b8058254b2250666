import ArgumentParser
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How long a programme runs, and from what its choices come.
struct RunOptions: ParsableArguments {
  @Option(name: .long, help: "From what all choices come (default: the time).")
  var seed: UInt64?

  @Option(name: .long, help: "How much to do at least, unless the time is over.")
  var count: Int?

  @Option(name: .long, help: "Seconds after which nothing new is begun.")
  var seconds: Double?

  @Option(name: .long, help: "How many at once.")
  var jobs = 2

  @Option(name: .long, help: "Where directories are made; they go at the end.")
  var directory = "/tmp"

  /// The seed, printed.
  func begin(_ programme: String) -> UInt64 {
    let seed = seed ?? UInt64(time(nil))
    print("\(programme): seed \(seed)")
    return seed
  }

  /// What is to be done. With a time and no count, as much as fits into it.
  func turns(default number: Int) -> Turns {
    let count = count ?? (seconds == nil ? number : Int.max)
    return Turns(count: count, until: seconds.map { ContinuousClock.now + .seconds($0) })
  }

  /// Runs lanes side by side until there are no turns left or one of them throws.
  func lanes(
    _ ledger: inout Ledger, _ turns: Turns,
    _ body: @escaping @Sendable (Int) async throws -> Ledger
  ) async throws {
    try await withThrowingTaskGroup(of: Ledger.self) { group in
      for lane in 0..<max(1, jobs) {
        group.addTask {
          do { return try await body(lane) } catch {
            turns.end()
            throw error
          }
        }
      }
      for try await part in group { ledger.merge(part) }
    }
  }

  /// What can't be done on this machine, in the words that Tools/torture counts.
  static func skip(_ what: String, _ reason: String) { print("skipped: \(what) (\(reason))") }
}

/// Numbers from 0 up, each given out once, until there were enough or the time is over.
final class Turns: Sendable {
  private let next = Atomic<Int>(0)
  private let isOver = Atomic<Bool>(false)
  let count: Int
  private let until: ContinuousClock.Instant?

  init(count: Int, until: ContinuousClock.Instant?) {
    self.count = count
    self.until = until
  }

  func end() { isOver.store(true, ordering: .releasing) }

  /// Whether there is more to do.
  var isOpen: Bool {
    if isOver.load(ordering: .acquiring) || next.load(ordering: .relaxed) >= count { return false }
    return until.map { ContinuousClock.now < $0 } ?? true
  }

  func take() -> Int? {
    guard isOpen else { return nil }
    let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
    return number < count ? number : nil
  }
}
