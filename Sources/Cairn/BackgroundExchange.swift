internal import CairnDisk
internal import Synchronization

/// Exchanges again and again: after a hint at once, otherwise at intervals that double while
/// nothing happens. Hints (a commit, a change in a watched directory) may be missed; the clock
/// always goes on.
final class BackgroundExchange: Sendable {
  private let events: AsyncStream<Void>.Continuation
  private let task: Task<Void, Never>
  private let ticker: Task<Void, Never>
  private let watcher: DirectoryWatcher?

  init(
    _ exchange: Exchange, pollSeconds: ClosedRange<Double>,
    onReport: @escaping @Sendable (Result<ExchangeReport, CairnError>) -> Void
  ) {
    // One waiting hint stands for any number of them.
    let (stream, events) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.events = events
    let shortest = max(0.01, pollSeconds.lowerBound)
    let pause = PollPause(shortest: shortest, longest: max(shortest, pollSeconds.upperBound))
    if let folder = exchange.folder.base as? DirectoryFolder {
      watcher = DirectoryWatcher(directory: folder.path + "/" + exchange.directory) {
        events.yield()
      }
    } else {
      watcher = nil
    }
    ticker = Task {
      while !Task.isCancelled {
        do { try await Task.sleep(for: .seconds(pause.current)) } catch { return }
        events.yield()
      }
    }
    task = Task {
      for await _ in stream {
        if Task.isCancelled { return }
        do throws(CairnError) {
          let report = try await exchange.run()
          // What is only waited for is looked at less and less often, too.
          let moved = report.publishedFiles + report.fetchedFiles + report.mergedFiles
          pause.note(isIdle: moved == 0)
          onReport(.success(report))
        } catch {
          if error.code == .closed { return }
          pause.note(isIdle: true)
          onReport(.failure(error))
          if error.code == .deleted { return }
        }
      }
    }
    events.yield()
  }

  /// Something may have changed: look soon.
  func hint() { events.yield() }

  func stop() {
    events.finish()
    ticker.cancel()
    task.cancel()
    watcher?.stop()
  }

  deinit { stop() }
}

/// The pause between two looks: short after something happened, doubling while nothing does.
private final class PollPause: Sendable {
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
