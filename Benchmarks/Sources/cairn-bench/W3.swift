import Workload

extension Bench {
  /// From the call to open until one price is known, in a process that did nothing before.
  func firstRead() throws {
    let start = Meter.now()
    let store = try Store(directory, durable: true)
    let price = try store.price(DataSet.firstRead)
    report.figure("first_read_us", (Meter.now() - start) * 1e6)
    report.figure("peak_rss_MB", Meter.peakMemory / 1e6)
    report.figure("disk_read_KB", Meter.readFromDisk / 1e3)
    report.check(price, Expected.firstRead)
    try store.close()
  }
}
