import Dispatch

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The user's wish that the program should end: Ctrl-C, or a request to terminate. As long as one
/// of these is there, the signals do not end the process by themselves.
final class Interruption {
  /// One element for each wish.
  let wishes: AsyncStream<Void>
  private let sources: [any DispatchSourceSignal]
  /// What the signals did before.
  private let before: [(number: Int32, handler: (@convention(c) (Int32) -> Void)?)]

  init() {
    let (wishes, events) = AsyncStream.makeStream(of: Void.self)
    self.wishes = wishes
    let numbers = [SIGINT, SIGTERM]
    before = numbers.map { ($0, signal($0, SIG_IGN)) }
    sources = numbers.map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { events.yield() }
      source.resume()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
    // Whoever asks once more while the program closes what it had open does not want to wait.
    for (number, handler) in before { signal(number, handler) }
  }
}
