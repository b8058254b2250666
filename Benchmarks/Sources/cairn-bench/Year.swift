import Workload

extension Bench {
  /// A year of one datastore: ten devices, fifty syncs a day among them, each of three changed
  /// fields and now and then a new record. A sync is a commit, an exchange, and the commit that
  /// shows what came. Each device is closed and opened again every day.
  ///
  /// Nothing waits for the time of day, so the year takes a minute. Replaced files are therefore
  /// removed at once, where they would stay for an hour, which is two syncs.
  func year() async throws {
    let days = part.flatMap { Int($0) } ?? 364
    let folder = SharedFolder()
    let place = (Files.memory ?? directory) + "/cairn-year"
    Files.removeTree(place)
    defer { Files.removeTree(place) }
    Files.makeDirectory(place)
    var account = try await Devices(10, at: place, folder)
    try load(0..<DataSet.batch, into: account.stores[0])
    for _ in 0..<2 { try await account.settle() }
    var week = Week()
    for day in 0..<days {
      try await account.live(through: day, folder, &week)
      if day % 7 == 6 {
        week.report(to: report, at: day + 1, folder)
        week = Week()
      }
      if [7, 28, 91, 182, 364].contains(day + 1) {
        try await join(place + "/new", folder.copy(), at: day + 1, account.records)
      }
    }
    for _ in 0..<3 { try await account.settle() }
    let sums = try account.stores.map { try $0.sum() }
    for sum in sums { report.check(sum, sums[0]) }
    try account.close()
  }

  /// A new device comes, takes what there is, and goes again.
  private func join(
    _ root: String, _ folder: SharedFolder, at day: Int, _ records: Int
  ) async throws {
    let start = Meter.now()
    let store = try Store(root, shared: folder)
    try await store.exchange()
    try store.commit()
    let place = Double(day)
    report.point("join_ms", at: place, (Meter.now() - start) * 1e3)
    report.point("join_requests", at: place, Double(folder.count.requests))
    report.point("join_kB", at: place, Double(folder.count.read) / 1e3)
    if try store.count() != records { report.fail("a new device lacks records") }
    try store.close()
    Files.removeTree(root)
  }
}

/// The devices of the year.
private struct Devices {
  private(set) var stores: [Store] = []
  /// That there are.
  private(set) var records = DataSet.batch
  private let place: String
  private static let syncs = 50

  init(_ count: Int, at place: String, _ folder: SharedFolder) async throws {
    self.place = place
    for number in 0..<count { stores.append(try Store("\(place)/\(number)", shared: folder)) }
  }

  func settle() async throws {
    for store in stores {
      try store.commit()
      try await store.exchange()
      try store.commit()
    }
  }

  mutating func live(
    through day: Int, _ folder: SharedFolder, _ week: inout Week
  ) async throws {
    for number in stores.indices {
      try stores[number].close()
      stores[number] = try Store("\(place)/\(number)", shared: folder)
      // What a device asks after a start is no part of a sync.
      try await stores[number].exchange()
      try stores[number].commit()
    }
    for turn in 0..<Self.syncs {
      let t = day * Self.syncs + turn
      let store = stores[Int(mix64(UInt64(t) + 0x7EA5_0000_0000) % UInt64(stores.count))]
      for edit in 0..<3 {
        try store.setPrice(pick(3 * t + edit, of: DataSet.batch), newPrice(3 * t + edit))
      }
      if turn % 10 == 0 {
        try store.insert(Sample(UInt64(records)))
        records += 1
      }
      let before = folder.count
      let start = Meter.now()
      try store.commit()
      try await store.exchange()
      try store.commit()
      week.add(Meter.now() - start, folder.count - before)
    }
  }

  func close() throws { for store in stores { try store.close() } }
}

/// What the syncs of some days cost.
private struct Week {
  private var seconds: [Double] = []
  private var requests: [Double] = []
  private var count = SharedFolder.Count()

  mutating func add(_ time: Double, _ count: SharedFolder.Count) {
    seconds.append(time)
    requests.append(Double(count.requests))
    self.count = self.count + count
  }

  func report(to report: Report, at day: Int, _ folder: SharedFolder) {
    let place = Double(day)
    let syncs = Double(seconds.count)
    func kB(_ metric: String, _ bytes: Int) {
      report.point(metric, at: place, Double(bytes) / syncs / 1e3)
    }
    report.point("ms", at: place, seconds.reduce(0, +) / syncs * 1e3)
    report.point("p99_ms", at: place, seconds.quantile(0.99) * 1e3)
    report.point("requests", at: place, requests.reduce(0, +) / syncs)
    report.point("p99_requests", at: place, requests.quantile(0.99))
    kB("kB", count.read + count.written)
    kB("head_kB", count.heads + count.headsRead)
    kB("news_kB", count.segments - count.merged)
    kB("news_read_kB", count.segmentsRead - count.mergedFrom)
    kB("merged_kB", count.merged)
    kB("merged_read_kB", count.mergedFrom)
    kB("snapshot_kB", count.snapshots)
    kB("snapshot_read_kB", count.snapshotsRead)
    report.point("entries", at: place, Double(count.entries) / syncs)
    let size = folder.size
    report.point("files", at: place, Double(size.files))
    report.point("folder_kB", at: place, Double(size.bytes) / 1e3)
  }
}
