import Glibc
import Workload

/// SQLite through GRDB. Usage: grdb grdb|grdb-raw WORKLOAD DIRECTORY
///
/// W1, W2 and W2sync want the directory empty, the others want what W2 left in it.
@main
struct Main {
  let style: Style
  let directory: String
  let report: Report

  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let style = Style(rawValue: arguments[1]) else { exit(2) }
    let report = Report(workload: arguments[2], peer: style.rawValue)
    try Main(style: style, directory: arguments[3], report: report).run()
  }

  private func run() throws {
    switch report.workload {
    case "W1": try durableCommits()
    case "W2": try bulkLoad(durable: false)
    case "W2sync": try bulkLoad(durable: true)
    case "W3cold", "W3warm": try firstRead()
    case "W4": try pointReads()
    case "W5": try filters()
    case "W6": try updates()
    default: report.fail("no such workload")
    }
  }

  private func durableCommits() throws {
    let loading = try Store(style, directory, durable: false, fresh: true)
    try loading.load(DataSet.small)
    try loading.queue.close()
    let store = try Store(style, directory, durable: true)
    let commits = try Durable { t in
      try store.queue.write { try store.updateBoth(pick(t, of: DataSet.small), t, $0) }
    }
    commits.report(to: report, directory: directory)
    report.check(try store.sum(.every), Expected.durable)
  }

  private func bulkLoad(durable: Bool) throws {
    let store = try Store(style, directory, durable: durable, fresh: true)
    let loading = try Meter.seconds { try store.load(DataSet.big) }
    let closing = try Meter.seconds { try store.queue.close() }
    report.figure("records_per_s", Double(DataSet.big) / loading)
    report.figure("close_ms", closing * 1e3)
    report.check(try Store(style, directory, durable: false).sum(.every), Expected.loaded)
  }

  private func firstRead() throws {
    let start = Meter.now()
    let store = try Store(style, directory, durable: true)
    let price = try store.queue.read { try store.price(DataSet.firstRead, $0) }
    report.figure("first_read_us", (Meter.now() - start) * 1e6)
    report.figure("peak_rss_MB", Meter.peakMemory / 1e6)
    report.figure("disk_read_KB", Meter.readFromDisk / 1e3)
    report.check(price, Expected.firstRead)
  }

  /// Records are so slow here that a fifth of the reads has to do; the figure is one read's time.
  private func pointReads() throws {
    let count = style == .raw ? DataSet.gets : DataSet.gets / 5
    let store = try Store(style, directory, durable: true)
    var total = 0.0
    let seconds = try Meter.seconds {
      total = try store.queue.read { database in
        try (0..<count).reduce(0) { try $0 + store.price(pick($1, of: DataSet.big), database) }
      }
    }
    report.figure("ns_per_get", seconds * 1e9 / Double(count))
    report.check(total, style == .raw ? Expected.gets : Expected.fewGets)
  }

  private func filters() throws {
    let store = try Store(style, directory, durable: false)
    try scan(store, "int_scan_ms", .category, Expected.category)
    try scan(store, "string_scan_ms", .owner, Expected.owner)
    try store.createIndexes()
    try scan(store, "int_indexed_ms", .category, Expected.category)
    try scan(store, "string_indexed_ms", .owner, Expected.owner)
    try store.dropIndexes()
  }

  private func scan(
    _ store: Store, _ metric: String, _ filter: Filter, _ expected: Double
  ) throws {
    let seconds = try (0..<21).map { _ in
      try Meter.seconds { report.check(try store.sum(filter), expected) }
    }
    report.figure(metric, seconds.quantile(0.5) * 1e3)
  }

  /// With records a fifth of the updates, for the same reason.
  private func updates() throws {
    let count = style == .raw ? DataSet.updates : DataSet.updates / 5
    let store = try Store(style, directory, durable: false)
    let written = Meter.written
    let seconds = try Meter.seconds {
      for first in stride(from: 0, to: count, by: DataSet.batch) {
        try store.queue.write { database in
          for t in first..<first + DataSet.batch {
            try store.update(pick(t, of: DataSet.big), t, database)
          }
        }
      }
    }
    report.figure("updates_per_s", Double(count) / seconds)
    report.figure("written_B", (Meter.written - written) / Double(count))
    let expected = style == .raw ? Expected.updated : Expected.fewUpdated
    report.check(try store.sum(.every), expected)
  }
}
