import Workload

extension Bench {
  /// 1,000,000 reads of one field by the record's id.
  func pointReads() throws {
    let store = try Store(directory, durable: true)
    var total = 0.0
    let seconds = try Meter.seconds {
      for t in 0..<DataSet.gets { total += try store.price(pick(t, of: DataSet.big)) }
    }
    report.figure("ns_per_get", seconds * 1e9 / Double(DataSet.gets))
    report.check(total, Expected.gets)
    try store.close()
  }
}
