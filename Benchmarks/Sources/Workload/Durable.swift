import Glibc

/// W1's commits as they are timed, and the disk's own limit beside them.
public struct Durable {
  public static let commits = 2_000

  private var seconds: [Double] = []
  private var total = 0.0
  private var written = 0.0

  /// Times each call of `commit`, which is handed the number of its step.
  public init<E: Error>(_ commit: (Int) throws(E) -> Void) throws(E) {
    seconds.reserveCapacity(Self.commits)
    let writtenBefore = Meter.written
    let start = Meter.now()
    for t in 0..<Self.commits {
      let before = Meter.now()
      try commit(t)
      seconds.append(Meter.now() - before)
    }
    total = Meter.now() - start
    written = Meter.written - writtenBefore
  }

  /// Reports the commits, and right after them the raw loop in the same directory.
  public func report(to report: Report, directory: String) {
    let raw = Self.rawLoop(directory, report)
    let rate = Double(Self.commits) / total
    let rawRate = Double(raw.count) / raw.reduce(0, +)
    report.figure("commits_per_s", rate)
    report.figure("p50_us", seconds.quantile(0.5) * 1e6)
    report.figure("p99_us", seconds.quantile(0.99) * 1e6)
    report.figure("written_B", written / Double(Self.commits))
    report.figure("raw_per_s", rawRate)
    report.figure("share_of_raw", rate / rawRate)
    report.figure("over_raw_us", (seconds.quantile(0.5) - raw.quantile(0.5)) * 1e6)
  }

  /// pwrite of 256 bytes + fdatasync in a file whose blocks exist; the seconds of each.
  private static func rawLoop(_ directory: String, _ report: Report) -> [Double] {
    let path = directory + "/raw-loop"
    let block = [UInt8](repeating: 7, count: 1 << 20)
    let file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o644)
    guard file >= 0, write(file, block, block.count) == block.count, fsync(file) == 0
    else { report.fail("cannot write \(path)") }
    defer {
      close(file)
      unlink(path)
    }
    return (0..<1_000).map { i in
      let before = Meter.now()
      guard pwrite(file, block, 256, 256 * i) == 256, fdatasync(file) == 0
      else { report.fail("cannot write \(path)") }
      return Meter.now() - before
    }
  }
}
