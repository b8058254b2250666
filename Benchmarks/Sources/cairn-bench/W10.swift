import Workload

extension Bench {
  /// Compaction of what W6 left: 100,000 records, each overwritten ten times.
  func compaction() throws {
    let store = try Store(directory, durable: false)
    let seconds = try Meter.seconds { try store.compact() }
    report.figure("compact_ms", seconds * 1e3)
    report.figure("peak_rss_MB", Meter.peakMemory / 1e6)
    try store.close()
    try checkSum(Expected.updated)
  }
}
