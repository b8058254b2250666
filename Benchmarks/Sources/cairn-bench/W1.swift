import Workload

extension Bench {
  /// 2,000 durable commits of two fields on 10,000 records.
  func durableCommits() throws {
    let loading = try Store(directory, durable: false)
    try load(0..<DataSet.small, into: loading)
    try loading.close()
    let store = try Store(directory, durable: true)
    let commits = try Durable { t in
      try store.setBoth(pick(t, of: DataSet.small), newPrice(t), newModified(t))
      try store.commit()
    }
    commits.report(to: report, directory: directory)
    try store.close()
    try checkSum(Expected.durable)
  }
}
