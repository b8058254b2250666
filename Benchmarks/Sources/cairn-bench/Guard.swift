import Workload

/// Small fixed pieces of work whose instructions are counted. Each is a process of its own on what
/// `guard-prepare` left: `notes` is a device of an account, whose folder has changes of another one
/// that were not fetched, and `local` a store without an account. They go in the order given here.
extension Bench {
  private static let records = 20_000
  private static let changes = 5_000

  private var notes: String { directory + "/notes" }
  private var folder: String { directory + "/folder" }
  private var local: String { directory + "/local" }

  func prepareGuard() async throws {
    Files.makeDirectory(folder)
    let first = try Store(notes, durable: false, folder: folder)
    try load(0..<Self.records, into: first)
    try first.compact()
    while try await !first.round().isIdle {}
    let second = try Store(directory + "/second", durable: false, folder: folder)
    try await second.exchange()
    try second.commit()
    try await second.exchange()
    // What the other one has seen is nothing that the guarded exchange should have to hear.
    while try await !first.round().isIdle {}
    try first.compact()
    try first.close()
    for t in 0..<Self.changes {
      try second.setPrice(pick(t, of: Self.records), newPrice(t))
      if t % 10 == 9 { try second.commit() }
    }
    try second.commit()
    try await second.exchange()
    try second.close()
    let store = try Store(local, durable: false)
    try load(0..<Self.records, into: store)
    try store.makeText("text")
    try store.commit()
    try store.compact()
    try store.close()
  }

  /// False if it is none of these.
  func runGuard() throws -> Bool {
    switch report.workload {
    case "guard-open": try withLocal { _ = try $0.price(7_777) }
    case "guard-get": try guardGet()
    case "guard-scan": try guardScan()
    case "guard-index": try guardIndex()
    case "guard-load": try guardLoad()
    case "guard-commit": try guardCommit()
    case "guard-update": try guardUpdate()
    case "guard-list": try guardList()
    case "guard-compact": try withLocal { try $0.compact() }
    default: return false
    }
    return true
  }

  private func withLocal(_ body: (Store) throws -> Void) throws {
    let store = try Store(local, durable: false)
    try body(store)
    try store.close()
  }

  private func guardGet() throws {
    try withLocal { store in
      var total = 0.0
      for t in 0..<100_000 { total += try store.price(pick(t, of: Self.records)) }
      if total <= 0 { report.fail("nothing was read") }
    }
  }

  private func guardScan() throws {
    try withLocal { store in
      for category in 0..<20 { _ = try store.sum(["category": .int(Int64(category))]) }
    }
  }

  private func guardIndex() throws {
    try withLocal { store in
      try store.addIndex("category")
      for category in 0..<100 { _ = try store.sum(["category": .int(Int64(category))]) }
    }
  }

  private func guardLoad() throws {
    let store = try Store(directory + "/new", durable: false)
    try load(0..<Self.records, into: store)
    try store.close()
  }

  private func guardCommit() throws {
    try withLocal { store in
      for t in 0..<2_000 {
        try store.setBoth(pick(t, of: Self.records), newPrice(t), newModified(t))
        try store.commit()
      }
    }
  }

  private func guardUpdate() throws {
    try withLocal { store in
      for t in 0..<50_000 {
        try store.setPrice(pick(t, of: Self.records), newPrice(t))
        if t % DataSet.batch == DataSet.batch - 1 { try store.commit() }
      }
    }
  }

  private func guardList() throws {
    try withLocal { store in
      let text = try store.text("text")
      for t in 0..<10_000 {
        try text.insert(UInt8(97 + t % 26), at: Int(mix64(UInt64(t)) % UInt64(t + 1)))
      }
      try store.commit()
      if try text.read().count != 10_000 { report.fail("wrong text") }
    }
  }

  /// Takes in what the other device has changed.
  func guardMerge() async throws {
    let store = try Store(notes, durable: false, folder: folder)
    let round = try await store.round()
    if round.fetched == 0 { report.fail("nothing was fetched") }
    try store.commit()
    try store.close()
  }

  /// A folder in which nothing happens.
  func guardIdle() async throws {
    let store = try Store(notes, durable: false, folder: folder)
    while try await !store.round().isIdle {}
    for _ in 0..<500 { try await store.exchange() }
    try store.close()
  }
}
