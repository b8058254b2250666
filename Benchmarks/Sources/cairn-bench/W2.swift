import Workload

extension Bench {
  /// 100,000 records into an empty store. W2 asks for no sync, W2sync for one a commit.
  func bulkLoad(durable: Bool) throws {
    let store = try Store(directory, durable: durable)
    let loading = try Meter.seconds { try load(0..<DataSet.big, into: store) }
    let closing = try Meter.seconds { try store.close() }
    report.figure("records_per_s", Double(DataSet.big) / loading)
    report.figure("close_ms", closing * 1e3)
    reportGenerator()
    try checkSum(Expected.loaded)
  }

  /// How fast the records are made, which is part of the time to load them.
  private func reportGenerator() {
    var letters = 0
    let seconds = Meter.seconds {
      for number in 0..<DataSet.big { letters += Sample(UInt64(number)).note.utf8.count }
    }
    report.figure("generator_per_s", letters > 0 ? Double(DataSet.big) / seconds : .nan)
  }
}
