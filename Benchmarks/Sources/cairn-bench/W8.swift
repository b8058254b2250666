import Workload

extension Bench {
  /// Lists edited item by item, as people type.
  func lists() async throws {
    func wants(_ name: String) -> Bool { part == nil || part == name }
    if wants("one") { try replay("one_commit", isLinked: true, commitsEach: false) }
    if wants("one-local") { try replay("one_commit_local", isLinked: false, commitsEach: false) }
    if wants("keys-local") { try replay("keystrokes_local", isLinked: false, commitsEach: true) }
    if wants("keys") {
      try await saved(replay("keystrokes", isLinked: true, commitsEach: true))
    }
    if wants("messages") {
      try await messages("friendsforever", suffix: "")
      try await messages("clownschool", suffix: "_clownschool")
    }
    if !wants("middle") { return }
    let small = try editInTheMiddle(of: 1_000)
    let big = try editInTheMiddle(of: 100_000)
    report.figure("edit_1k_ns", small * 1e9)
    report.figure("edit_100k_ns", big * 1e9)
    report.figure("edit_growth", big / small)
  }

  private func trace(_ name: String) -> Trace {
    guard let trace = Trace(name) else {
      report.fail("no trace \(name); CAIRN_TRACES has to name the directory of traces")
    }
    return trace
  }

  /// Types the paper, one edit a character. The directory of what it left.
  @discardableResult
  private func replay(_ metric: String, isLinked: Bool, commitsEach: Bool) throws -> String {
    let paper = trace("automerge-paper")
    let place = directory + "/" + metric
    let store = try Store(place, durable: false, folder: isLinked ? place + "-folder" : nil)
    try store.makeText("paper")
    try store.commit()
    let text = try store.text("paper")
    let start = Meter.now()
    for patch in paper.patches {
      try text.perform(patch)
      if commitsEach { try store.commit() }
    }
    if !commitsEach { try store.commit() }
    report.figure(metric + "_ms", (Meter.now() - start) * 1e3)
    check(try text.read(), paper)
    try store.close()
    return place
  }

  func check(_ items: [Text.Item], _ trace: Trace) {
    if Text.letters(items) != trace.text { report.fail("wrong text") }
  }

  /// What the paper takes with all that merging needs, and how soon it is read again.
  private func saved(_ place: String) async throws {
    var store = try Store(place, durable: false, folder: place + "-folder")
    let seconds = try Meter.seconds { try store.compact() }
    report.figure("compact_ms", seconds * 1e3)
    try store.close()
    let sizes = Files.sizes(place + "/*/snap/*").values
    report.figure("size_kB", Double(sizes.reduce(0, +)) / 1e3)

    let start = Meter.now()
    store = try Store(place, durable: false, folder: place + "-folder")
    let items = try store.text("paper").read()
    report.figure("load_ms", (Meter.now() - start) * 1e3)
    check(items, trace("automerge-paper"))
    try await store.exchange()
    try store.close()
    for (metric, kind) in [("published_kB", "snap"), ("segments_kB", "seg")] {
      let sizes = Files.sizes(place + "-folder/*/*." + kind).values
      if !sizes.isEmpty { report.figure(metric, Double(sizes.reduce(0, +)) / 1e3) }
    }
  }

  /// Seconds for an insertion or a removal in a list of so many items, the commit left out.
  private func editInTheMiddle(of count: Int) throws -> Double {
    let place = directory + "/list-\(count)"
    let store = try Store(place, durable: false, folder: place + "-folder")
    try store.makeText("long")
    let text = try store.text("long")
    try text.insert([UInt8](repeating: 97, count: count))
    try store.commit()
    let edits = 10_000
    let seconds = try Meter.seconds {
      for t in 0..<edits / 2 {
        // Each at another place, so that nothing is at hand.
        let index = Int(pick(t, of: count))
        try text.insert(98, at: index)
        try text.remove(at: (index + count / 2) % count)
      }
    }
    try store.commit()
    if try text.read().count != count { report.fail("wrong count") }
    try store.close()
    return seconds / Double(edits)
  }
}

extension Text {
  func perform(_ patch: Trace.Patch) throws {
    for _ in 0..<patch.deleted { try remove(at: patch.position) }
    for (offset, letter) in patch.inserted.enumerated() {
      try insert(letter, at: patch.position + offset)
    }
  }
}
