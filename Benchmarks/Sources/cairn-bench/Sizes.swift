import Workload

extension Bench {
  /// Bytes of small edits, each a commit, and of the snapshot of a datastore that lies quiet.
  func sizes() async throws {
    try editsOnDisk()
    try await editsInFolder()
    try snapshots()
  }

  private static let edits = 1_000

  private func edit(_ t: Int, _ store: Store) throws {
    try store.setPrice(pick(t, of: DataSet.small), newPrice(t))
    try store.commit()
  }

  private func editsOnDisk() throws {
    let place = directory + "/local"
    let loading = try Store(place, durable: false)
    try load(0..<DataSet.small, into: loading)
    try loading.compact()
    try loading.close()
    let store = try Store(place, durable: false)
    let before = Meter.written
    for t in 0..<Self.edits { try edit(t, store) }
    report.figure("disk_B", (Meter.written - before) / Double(Self.edits))
    try store.close()
  }

  /// Each edit in a file of its own, together with the head that names it; then all in one file.
  private func editsInFolder() async throws {
    let folder = SharedFolder()
    let store = try Store(directory + "/device", shared: folder)
    try load(0..<DataSet.small, into: store)
    while try await !store.round().isIdle {}
    let before = folder.count
    var messages: [Double] = []
    var heads: [Double] = []
    for t in 0..<Self.edits {
      let last = folder.count
      try edit(t, store)
      try await store.exchange()
      let count = folder.count - last
      heads.append(Double(count.heads))
      // Now and then an exchange also merges the small files of those before.
      if count.segmentFiles == 1 { messages.append(Double(count.segments)) }
    }
    let all = folder.count - before
    report.figure("message_B", messages.quantile(0.5))
    report.figure("head_B", heads.quantile(0.5))
    report.figure("published_B", Double(all.written) / Double(Self.edits))
    for t in 0..<Self.edits { try edit(Self.edits + t, store) }
    let last = folder.count
    try await store.exchange()
    let batch = folder.count - last
    report.figure("batch_B", Double(batch.segments) / Double(Self.edits))
    try store.close()
  }

  /// What 100,000 records take that were written once and have come to rest.
  private func snapshots() throws {
    for (metric, isLinked) in [("snapshot_MB", false), ("linked_snapshot_MB", true)] {
      let place = directory + "/" + metric
      let store = try Store(place, durable: false, folder: isLinked ? place + "-folder" : nil)
      try load(0..<DataSet.big, into: store)
      try store.compact()
      try store.close()
      let sizes = Files.sizes(place + "/*/snap/*").values
      report.figure(metric, Double(sizes.reduce(0, +)) / 1e6)
    }
  }
}
