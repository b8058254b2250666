import Workload

extension Bench {
  /// One datastore that more and more devices take part in: what an exchange costs when nothing
  /// happened, when one other device has changed one record, and when all others have.
  func manyDevices() async throws {
    let folder = SharedFolder()
    let place = (Files.memory ?? directory) + "/cairn-devices"
    Files.removeTree(place)
    defer { Files.removeTree(place) }
    Files.makeDirectory(place)
    var devices: [Store] = []
    for number in 0..<100 {
      let store = try Store("\(place)/\(number)", shared: folder)
      if number == 0 { try load(0..<DataSet.batch, into: store) }
      let join = try await cost(of: store, folder)
      devices.append(store)
      try await change(number, on: store)
      guard [1, 2, 5, 10, 20, 50, 100].contains(devices.count) else { continue }
      report.point("join_requests", at: Double(devices.count), Double(join.count.requests))
      try await measure(devices, folder)
    }
    for store in devices { try store.close() }
  }

  /// Each device has a record that it changes, always to another price.
  private func change(_ device: Int, on store: Store) async throws {
    let record = UInt64(device)
    try store.setPrice(record, try store.price(record) + 1)
    try store.commit()
    try await store.exchange()
  }

  private func cost(
    of store: Store, _ folder: SharedFolder
  ) async throws -> (seconds: Double, count: SharedFolder.Count) {
    let before = folder.count
    let start = Meter.now()
    try await store.exchange()
    try store.commit()
    return (Meter.now() - start, folder.count - before)
  }

  private func measure(_ devices: [Store], _ folder: SharedFolder) async throws {
    let place = Double(devices.count)
    func note(_ kind: String, _ cost: (seconds: Double, count: SharedFolder.Count)) {
      report.point(kind + "_requests", at: place, Double(cost.count.requests))
      report.point(kind + "_kB", at: place, Double(cost.count.read + cost.count.written) / 1e3)
    }
    // Until each has said that it has everything, and all have read that.
    for _ in 0..<3 {
      for store in devices { _ = try await cost(of: store, folder) }
    }
    let idle = devices[0]
    var times: [Double] = []
    for _ in 0..<50 { times.append(try await cost(of: idle, folder).seconds) }
    report.point("idle_us", at: place, times.quantile(0.5) * 1e6)
    note("idle", try await cost(of: idle, folder))

    guard let author = devices.last, devices.count > 1 else { return }
    times = []
    for turn in 0..<10 {
      let before = folder.count
      try await change(devices.count - 1, on: author)
      if turn == 0 { note("publish", (0, folder.count - before)) }
      let fetch = try await cost(of: idle, folder)
      if turn == 0 { note("fetch", fetch) }
      times.append(fetch.seconds)
    }
    report.point("fetch_us", at: place, times.quantile(0.5) * 1e6)

    for (number, store) in devices.enumerated().dropFirst() {
      try await change(number, on: store)
    }
    let all = try await cost(of: idle, folder)
    note("all", all)
    report.point("all_us", at: place, all.seconds * 1e6)
  }
}
