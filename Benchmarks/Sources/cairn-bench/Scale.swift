import Workload

/// One datastore of an account with so many records (`part`), every step a process of its own, so
/// that each tells its own peak of memory. The device is in `a`, a new one in `b`.
extension Bench {
  private var count: Int { part.flatMap { Int($0) } ?? DataSet.small }

  private func open(durable: Bool, device: String = "a") throws -> Store {
    try Store(directory + "/" + device, durable: durable, folder: directory + "/folder")
  }

  private func point(_ metric: String, _ value: Double) {
    report.point(metric, at: Double(count), value)
  }

  private func reportMemory() { point("peak_MB", Meter.peakMemory / 1e6) }

  /// False if it is none of these.
  func runScale() throws -> Bool {
    switch report.workload {
    case "scale-load": try loadScaled()
    case "scale-open": try openScaled()
    case "scale-scan": try scanScaled()
    case "scale-read": try readScaled()
    case "scale-commit": try commitScaled()
    case "scale-compact": try compactScaled()
    default: return false
    }
    return true
  }

  private func loadScaled() throws {
    let store = try open(durable: false)
    point("seconds", try Meter.seconds { try load(0..<count, into: store) })
    point("close_seconds", try Meter.seconds { try store.close() })
    reportMemory()
  }

  /// Everything into the folder: the deltas, and the snapshot that new devices begin with.
  func publishScaled() async throws {
    let store = try open(durable: false)
    let start = Meter.now()
    var bytes = 0
    while true {
      let round = try await store.round()
      bytes += round.published
      if round.isIdle { break }
    }
    point("seconds", Meter.now() - start)
    point("MB", Double(bytes) / 1e6)
    reportMemory()
    try store.close()
  }

  private func openScaled() throws {
    let number = UInt64(count / 2)
    let start = Meter.now()
    let store = try open(durable: true)
    let price = try store.price(number)
    point("us", (Meter.now() - start) * 1e6)
    reportMemory()
    report.check(price, Sample(number).price)
    try store.close()
  }

  /// A walk over all records, with a condition that one in a hundred meets. The first one reads
  /// and unpacks them.
  private func scanScaled() throws {
    let store = try open(durable: true)
    let times = try (0..<3).map { _ in
      try Meter.seconds {
        let sum = try store.sum(["category": .int(DataSet.wantedCategory)])
        if sum <= 0 { report.fail("nothing was found") }
      }
    }
    point("first_ms", times[0] * 1e3)
    point("ms", times.dropFirst().min().map { $0 * 1e3 } ?? .nan)
    reportMemory()
    try store.close()
  }

  /// Of records anywhere, which need a block of the file each once there are more than the cache
  /// holds, and of 10,000 that lie together, as their ids do.
  private func readScaled() throws {
    let store = try open(durable: true)
    let gets = 20_000
    func reads(of numbers: [UInt64]) throws -> Double {
      var total = 0.0
      for t in 0..<gets { total += try store.price(numbers[Int(pick(t, of: numbers.count))]) }
      total = 0
      let seconds = try Meter.seconds {
        for t in 0..<gets {
          total += try store.price(numbers[Int(pick(t + gets, of: numbers.count))])
        }
      }
      if total <= 0 { report.fail("nothing was read") }
      return seconds * 1e9 / Double(gets)
    }
    let all = (0..<UInt64(count)).map { (id: SampleID($0).first, number: $0) }
    let sorted = all.sorted { $0.id < $1.id }.map(\.number)
    point("near_ns", try reads(of: Array(sorted.prefix(DataSet.small))))
    point("ns", try reads(of: sorted))
    reportMemory()
    try store.close()
  }

  private func commitScaled() throws {
    let store = try open(durable: true)
    let times = try (0..<500).map { t in
      try Meter.seconds {
        try store.setPrice(pick(t, of: count), newPrice(t))
        try store.commit()
      }
    }
    point("us", times.quantile(0.5) * 1e6)
    point("p99_us", times.quantile(0.99) * 1e6)
    reportMemory()
    try store.close()
  }

  /// A folder in which nothing happens.
  func pollScaled() async throws {
    let store = try open(durable: true)
    while try await !store.round().isIdle {}
    var times: [Double] = []
    var requests = 0
    for _ in 0..<200 {
      let start = Meter.now()
      requests = try await store.round().requests
      times.append(Meter.now() - start)
    }
    point("us", times.quantile(0.5) * 1e6)
    point("requests", Double(requests))
    reportMemory()
    try store.close()
  }

  /// At most 100,000 records have changed; all are written anew.
  private func compactScaled() throws {
    let store = try open(durable: false)
    for t in 0..<min(count, DataSet.big) {
      try store.setPrice(pick(t, of: count), newPrice(t))
      if t % DataSet.batch == DataSet.batch - 1 { try store.commit() }
    }
    try store.commit()
    point("seconds", try Meter.seconds { try store.compact() })
    reportMemory()
    try store.close()
  }

  /// A new device takes what is in the folder.
  func bootstrapScaled() async throws {
    let store = try open(durable: true, device: "b")
    let start = Meter.now()
    var bytes = 0
    while true {
      let round = try await store.round()
      bytes += round.fetched
      try store.commit()
      if round.fetched == 0 { break }
    }
    let price = try store.price(UInt64(count - 1))
    point("seconds", Meter.now() - start)
    point("MB", Double(bytes) / 1e6)
    reportMemory()
    if price <= 0 { report.fail("the last record has no price") }
    try store.close()
  }
}
