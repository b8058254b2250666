internal import CairnDisk
internal import Synchronization

/// Real threads, all at once.
package enum Threads {
  /// What threads threw, or that the system had none to give.
  package struct Failure: Error {
    package var all: [String]
  }

  /// Runs `body` in so many threads, with the number of each, and waits for all of them.
  package static func run(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Void
  ) throws {
    let failures = Lock<[String]>([])
    let threads = (0..<count).map { number in
      BackgroundThread {
        do { try body(number) } catch {
          failures.withLock { $0.append("thread \(number): \(error)") }
        }
      }
    }
    for (number, thread) in threads.enumerated() {
      guard let thread else {
        failures.withLock { $0.append("thread \(number) could not be started") }
        continue
      }
      thread.join()
    }
    let all = failures.withLock { $0 }
    if !all.isEmpty { throw Failure(all: all) }
  }
}
