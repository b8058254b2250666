import Workload

extension Bench {
  /// 1,000,000 updates of one field in commits of 1,000, none of them durable.
  func updates() throws {
    let store = try Store(directory, durable: false)
    let written = Meter.written
    let seconds = try Meter.seconds {
      for t in 0..<DataSet.updates {
        try store.setPrice(pick(t, of: DataSet.big), newPrice(t))
        if t % DataSet.batch == DataSet.batch - 1 { try store.commit() }
      }
    }
    report.figure("updates_per_s", Double(DataSet.updates) / seconds)
    report.figure("written_B", (Meter.written - written) / Double(DataSet.updates))
    try store.close()
    try checkSum(Expected.updated)
  }
}
