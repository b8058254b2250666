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

  init() {
    let (wishes, events) = AsyncStream.makeStream(of: Void.self)
    self.wishes = wishes
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { events.yield() }
      source.resume()
      return source
    }
  }

  deinit { for source in sources { source.cancel() } }
}
