import Workload

extension Bench {
  /// Device B makes 100,000 changes in 1,000 commits, device A takes them in: first from one
  /// exchange of B after the last commit, then from one exchange after each.
  func remoteChanges() async throws {
    try await remoteChanges(exchangingEachCommit: false, suffix: "")
    try await remoteChanges(exchangingEachCommit: true, suffix: "_1000")
  }

  private func remoteChanges(exchangingEachCommit: Bool, suffix: String) async throws {
    let folder = directory + "/folder" + suffix
    Files.makeDirectory(folder)
    let a = try Store(directory + "/a" + suffix, durable: true, folder: folder)
    try load(0..<DataSet.small, into: a)
    try await a.exchange()
    let b = try Store(directory + "/b" + suffix, durable: true, folder: folder)
    try await b.exchange()
    try b.commit()

    let segments = folder + "/*/*.seg"
    let before = Files.sizes(segments)
    try await write(b, exchangingEachCommit: exchangingEachCommit, suffix: suffix)
    let messages = Files.sizes(segments).filter { before[$0.key] == nil }

    // Peers are handed a message. Here it is found, read, checked and kept first.
    let start = Meter.now()
    try await a.exchange()
    let fetched = Meter.now()
    try a.commit()
    let end = Meter.now()
    report.figure("apply\(suffix)_ms", (end - start) * 1e3)
    report.figure("fetch\(suffix)_ms", (fetched - start) * 1e3)
    report.figure("message\(suffix)_MB", Double(messages.values.reduce(0, +)) / 1e6)
    report.figure("files\(suffix)", Double(messages.count))
    report.check(try a.sum(), Expected.merged)
    try a.close()
    try b.close()
  }

  private func write(_ b: Store, exchangingEachCommit: Bool, suffix: String) async throws {
    var publishing = 0.0
    for t in 0..<DataSet.big {
      try b.setPrice(pick(t, of: DataSet.small), newPrice(t))
      guard t % 100 == 99 else { continue }
      try b.commit()
      guard exchangingEachCommit || t == DataSet.big - 1 else { continue }
      let start = Meter.now()
      try await b.exchange()
      publishing += Meter.now() - start
    }
    report.figure("publish\(suffix)_ms", publishing * 1e3)
  }
}
