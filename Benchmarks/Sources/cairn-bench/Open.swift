import Workload

extension Bench {
  private static let sizes = [("10k", 10_000), ("100k", 100_000), ("1M", 1_000_000)]

  /// Makes the three stores that the `open` workloads want, below the directory.
  func grow() throws {
    for (name, count) in Self.sizes {
      let store = try Store("\(directory)/\(name)", durable: false)
      try load(0..<count, into: store)
      try store.close()
    }
  }

  /// As W3, on a store of another size; the directory is that of `grow`.
  func openSized() throws {
    let number: UInt64 = 7_777
    let start = Meter.now()
    let store = try Store("\(directory)/\(report.workload.dropFirst(4))", durable: true)
    let price = try store.price(number)
    report.figure("first_read_us", (Meter.now() - start) * 1e6)
    report.figure("peak_rss_MB", Meter.peakMemory / 1e6)
    report.check(price, Sample(number).price)
    try store.close()
  }
}
