import Histogram
import Synchronization
import Workload

/// The same reads three times: alone, while another store commits and compacts, which costs the
/// machine the same and shares no lock, and while their own store does.
struct Readers {
  private static let reads = 200_000
  private static let interval = 20e-6
  private static let percentiles = [50, 90, 99, 99.9, 99.99, 100]

  private let directory: String
  private let report: Report

  init(_ directory: String, _ report: Report) {
    (self.directory, self.report) = (directory, report)
  }

  func run() throws {
    let store = try Notes(directory + "/own")
    let other = try Notes(directory + "/other")
    // Every block is in memory.
    for number in 0..<UInt64(DataSet.big) { _ = try store.price(number) }
    show("alone", try reads(store))
    show("other", try beside(Commits(to: other), store))
    let commits = Commits(to: store)
    show("same", try beside(commits, store))
    commits.report(to: report)
    try store.close()
    try other.close()
  }

  private func beside(_ commits: Commits, _ store: Notes) throws -> Histogram<UInt64> {
    commits.start()
    let times: Histogram<UInt64>
    do {
      defer { commits.stop() }
      times = try reads(store)
    }
    // Reads beside nothing would be measured well, too.
    commits.check(report)
    return times
  }

  private func reads(_ store: Notes) throws -> Histogram<UInt64> {
    var times = Histogram<UInt64>(
      highestTrackableValue: 10_000_000_000, numberOfSignificantValueDigits: .three)
    var due = Meter.now() + Self.interval
    for t in 0..<Self.reads {
      while Meter.now() < due {}
      guard try store.price(pick(t, of: DataSet.big)) != nil else {
        report.fail("a record is missing")
      }
      times.record(UInt64(max(0, (Meter.now() - due) * 1e9)))
      due += Self.interval
    }
    return times
  }

  private func show(_ name: String, _ times: Histogram<UInt64>) {
    for percentile in Self.percentiles {
      let value = Double(times.valueAtPercentile(percentile)) / 1e3
      report.point(name + "_us", at: percentile, value)
    }
    report.figure(name + "_p50_us", Double(times.valueAtPercentile(50)) / 1e3)
    report.figure(name + "_p99_us", Double(times.valueAtPercentile(99)) / 1e3)
    report.figure(name + "_p999_us", Double(times.valueAtPercentile(99.9)) / 1e3)
    report.figure(name + "_max_us", Double(times.max) / 1e3)
  }
}

/// A thread that commits, durably, and one that compacts five times a second.
final class Commits: Sendable {
  private let store: Notes
  private let isStopped = Atomic(false)
  private let commits = Atomic(0)
  private let compactions = Atomic(0)
  private let workers = Mutex<(all: [Worker], since: Double, seconds: Double)>(([], 0, 0))
  private let failure = Mutex<String?>(nil)

  init(to store: Notes) { self.store = store }

  func start() {
    let run: @Sendable (@escaping @Sendable () throws -> Void) -> Worker? = { [self] step in
      Worker {
        do {
          while !self.isStopped.load(ordering: .relaxed) { try step() }
        } catch { self.failure.withLock { $0 = "\(error)" } }
      }
    }
    let commit = run { [self] in
      try store.change(commits.add(1, ordering: .relaxed).oldValue)
    }
    let compact = run { [self] in
      try store.compact()
      compactions.add(1, ordering: .relaxed)
      Meter.sleep(0.2)
    }
    workers.withLock { $0 = ([commit, compact].compactMap { $0 }, Meter.now(), 0) }
  }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    workers.withLock { workers in
      for worker in workers.all { worker.join() }
      workers.all = []
      workers.seconds = Meter.now() - workers.since
    }
  }

  func check(_ report: Report) {
    if let failure = failure.withLock({ $0 }) { report.fail(failure) }
    if commits.load(ordering: .relaxed) == 0 || compactions.load(ordering: .relaxed) == 0 {
      report.fail("nothing was committed, or nothing compacted, beside the reads")
    }
  }

  func report(to report: Report) {
    let seconds = workers.withLock { $0.seconds }
    report.figure("commits_per_s", Double(commits.load(ordering: .relaxed)) / seconds)
    report.figure("compactions", Double(compactions.load(ordering: .relaxed)))
  }
}
