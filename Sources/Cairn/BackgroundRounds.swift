internal import CairnDisk
internal import Synchronization

/// Does something again and again: after a hint at once, otherwise at intervals that double while
/// nothing happens. Hints (a commit, a change in a watched directory) may be missed; the clock
/// always goes on, from the end of each round.
final class BackgroundRounds: Sendable {
  private let events: AsyncStream<Void>.Continuation
  private let task: Task<Void, Never>
  private let timer: RoundTimer
  private let watcher: LateWatcher

  /// What came of a round.
  enum Outcome: Sendable {
    case moved, idle
    /// There is nothing to do any more.
    case stop

    /// Of a round that failed. `isOver`: what says that it is closed, deleted or shut down is what
    /// the rounds are of. `tell` hears of what is not an end.
    init(of error: CairnError, isOver: Bool, tell: (CairnError) -> Void) {
      switch error.code {
      case .closed where isOver, .shutdown where isOver, .deleted where isOver: self = .stop
      // Of what was asked to end nobody wants to hear.
      case .cancelled where Task.isCancelled: self = .stop
      default:
        tell(error)
        self = .idle
      }
    }
  }

  /// Starts with a round at once. The directory may come to be later, in a round for example.
  init(
    watching directory: String?, pollSeconds: ClosedRange<Double>,
    _ round: @escaping @Sendable () async -> Outcome
  ) {
    // One waiting hint stands for any number of them.
    let (stream, events) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.events = events
    let shortest = max(0.01, pollSeconds.lowerBound)
    let pause = PollPause(shortest: shortest, longest: max(shortest, pollSeconds.upperBound))
    let watcher = LateWatcher(directory) { events.yield() }
    let timer = RoundTimer { events.yield() }
    (self.watcher, self.timer) = (watcher, timer)
    watcher.start()
    task = Task {
      for await _ in stream {
        if Task.isCancelled { return }
        switch await round() {
        case .moved: pause.note(isIdle: false)
        case .idle: pause.note(isIdle: true)
        case .stop:
          timer.stop()
          watcher.stop()
          return
        }
        if watcher.start() { events.yield() }
        timer.set(seconds: pause.current)
      }
    }
    events.yield()
  }

  /// Something may have changed: look soon.
  func hint() { events.yield() }

  func stop() {
    events.finish()
    task.cancel()
    timer.stop()
    watcher.stop()
  }

  deinit { stop() }
}

/// The pause between two looks: short after something happened, doubling while nothing does.
final class PollPause: Sendable {
  private let shortest: Double
  private let longest: Double
  private let state: Lock<Double>

  init(shortest: Double, longest: Double) {
    self.shortest = shortest
    self.longest = longest
    state = Lock(shortest)
  }

  var current: Double { state.withLock { $0 } }

  func note(isIdle: Bool) {
    state.withLock { $0 = isIdle ? min(longest, $0 * 2) : shortest }
  }
}
