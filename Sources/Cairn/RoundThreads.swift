internal import CairnDisk

/// Threads for all that works with a folder. A directory that an engine or a server carries may
/// take minutes to give a file, or never come back: a cloud drive fetches what is read, and a mount
/// whose server is gone blocks. Swift's own threads are as many as cores; two such rounds would
/// stop all that an app does with `await`. There are at most 16 of these threads: once as many
/// rounds never come back, all further ones wait for good, and nothing but those.
///
/// Threads are started when there is work that none is free for, and end when they had none for a
/// while.
// Unchecked: all that is kept is only ever touched under the lock of `change`.
final class RoundThreads: TaskExecutor, @unchecked Sendable {
  static let shared = RoundThreads()

  /// Rounds that block are few at a time, as each datastore has one.
  private static let threadsMax = 16
  private static let idleNanoseconds: UInt64 = 10_000_000_000

  private let change = Condition()
  private var jobs = [] as [UnownedJob]
  private var threads = 0
  private var idle = 0

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isShort = change.withLock {
      jobs.append(job)
      change.wakeAll()
      guard idle < jobs.count, threads < RoundThreads.threadsMax else { return false }
      threads += 1
      return true
    }
    guard isShort, BackgroundThread({ [self] in work() }) == nil else { return }
    let isAlone = change.withLock {
      threads -= 1
      return threads == 0
    }
    // The system has no thread to give, and nobody is left who would come back to what waits.
    if isAlone { Task.detached { [self] in drain() } }
  }

  /// What a thread does for as long as it lives.
  private func work() {
    while let job = next() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  private func drain() {
    while let job = change.withLock({ takeFirst() }) {
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// The next job, once there is one; nil if there was none for long: the thread is done.
  private func next() -> UnownedJob? {
    change.withLock {
      let until = Condition.now + RoundThreads.idleNanoseconds
      while true {
        if let job = takeFirst() { return job }
        if Condition.now >= until {
          threads -= 1
          return nil
        }
        idle += 1
        change.wait(until: until)
        idle -= 1
      }
    }
  }

  private func takeFirst() -> UnownedJob? { jobs.isEmpty ? nil : jobs.removeFirst() }
}
