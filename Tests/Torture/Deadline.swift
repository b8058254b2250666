/// When a programme begins nothing new any more; without seconds never.
struct Deadline: Sendable {
  private let end: ContinuousClock.Instant?

  init(seconds: Double?) { end = seconds.map { ContinuousClock.now + .seconds($0) } }

  var isOver: Bool { end.map { ContinuousClock.now >= $0 } ?? false }
}
