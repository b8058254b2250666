import Cairn
import Workload

extension Bench {
  /// Sums of the prices of the records with one category, and of those with one owner; then the
  /// same with indexes.
  func filters() throws {
    let store = try Store(directory, durable: false)
    let category: [String: Value] = ["category": .int(DataSet.wantedCategory)]
    let owner: [String: Value] = ["owner": .string(DataSet.wantedOwner)]
    try scan(store, "int_scan_ms", category, Expected.category)
    try scan(store, "string_scan_ms", owner, Expected.owner)
    // The first query builds the index, which the median leaves out.
    try store.addIndex("category")
    try store.addIndex("owner")
    try scan(store, "int_indexed_ms", category, Expected.category)
    try scan(store, "string_indexed_ms", owner, Expected.owner)
    try store.close()
  }

  private func scan(
    _ store: Store, _ metric: String, _ fields: [String: Value], _ expected: Double
  ) throws {
    let seconds = try (0..<21).map { _ in
      try Meter.seconds { report.check(try store.sum(fields), expected) }
    }
    report.figure(metric, seconds.quantile(0.5) * 1e3)
  }
}
