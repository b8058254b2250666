internal import Cairn
internal import CairnDisk
internal import Synchronization

/// Where a pull says how far it is, and others read it.
final class ProgressBoard: Sendable {
  private struct State {
    var progress = CouchDBProgress()
    var readers: [Int: AsyncStream<CouchDBProgress>.Continuation] = [:]
    var count = 0
  }

  private let state = Lock(State())

  var current: CouchDBProgress { state.withLock { $0.progress } }

  func set(_ change: (inout CouchDBProgress) -> Void) {
    state.withLock { state in
      change(&state.progress)
      // Under the lock, so that the last one to come is the newest; it calls nobody's code.
      for reader in state.readers.values { reader.yield(state.progress) }
    }
  }

  /// As it is now, and whenever it has changed; only the newest waits.
  var changes: AsyncStream<CouchDBProgress> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CouchDBProgress.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.count += 1
      state.readers[state.count] = continuation
      continuation.yield(state.progress)
      return state.count
    }
    continuation.onTermination = { [weak self] _ in self?.remove(number) }
    return stream
  }

  private func remove(_ number: Int) {
    // Not under the lock: what a continuation holds may go with it.
    let gone = state.withLock { $0.readers.removeValue(forKey: number) }
    withExtendedLifetime(gone) {}
  }

  deinit { for reader in state.withLock({ Array($0.readers.values) }) { reader.finish() } }
}
