import Glibc
import Synchronization
import Workload

extension Bench {
  /// Durable commits by several threads at once, each after a change of its own; and what the disk
  /// gives as many threads that each write to the same file and sync it.
  func groupCommits() throws {
    var single = 0.0
    for threads in [1, 2, 4, 8] {
      let rate = try commits(threads)
      if threads == 1 { single = rate }
      report.figure("commits_\(threads)_per_s", rate)
      report.figure("times_\(threads)", rate / single)
      report.point("commits_per_s", at: Double(threads), rate)
      report.point("raw_per_s", at: Double(threads), rawSyncs(threads))
    }
  }

  private func commits(_ threads: Int) throws -> Double {
    let place = "\(directory)/\(threads)"
    let loading = try Store(place, durable: false)
    try load(0..<DataSet.small, into: loading)
    try loading.close()
    let store = try Store(place, durable: true)
    let rate = Self.rate(threads) { t in
      do {
        try store.setPrice(pick(t, of: DataSet.small), newPrice(t))
        try store.commit()
      } catch { report.fail("\(error)") }
    }
    try store.close()
    return rate
  }

  private func rawSyncs(_ threads: Int) -> Double {
    let path = "\(directory)/raw"
    let block = [UInt8](repeating: 7, count: 4 << 20)
    let file = Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC, 0o644)
    guard file >= 0, write(file, block, block.count) == block.count, fsync(file) == 0
    else { report.fail("cannot write \(path)") }
    defer {
      close(file)
      unlink(path)
    }
    return Self.rate(threads) { t in
      if pwrite(file, block, 256, 256 * (t % 16_000)) != 256 || fdatasync(file) != 0 {
        report.fail("cannot write \(path)")
      }
    }
  }

  /// How often a second all threads together do this, which is told how often it was done before.
  private static func rate(_ threads: Int, _ step: @escaping @Sendable (Int) -> Void) -> Double {
    let duration = 1.0
    let turn = Turn()
    let start = Meter.now()
    Worker.inParallel(threads) { _ in
      while Meter.now() - start < duration { step(turn.next()) }
    }
    return Double(turn.next()) / (Meter.now() - start)
  }

  private final class Turn: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
  }
}
