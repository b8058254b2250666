import Dispatch
import Glibc
import Workload

/// One workload on Cairn. Usage: cairn-bench WORKLOAD DIRECTORY [PART]
///
/// Most want the directory empty; W3 to W6 want what W2 left in it, W10 what W6 left, the open
/// workloads what grow left, those of scale and guard what the ones before them left. W8 can be
/// asked for one of its parts; those of scale are told how many records there are.
@main
struct Bench {
  let directory: String
  let report: Report
  let part: String?

  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3 else { exit(2) }
    let report = Report(workload: arguments[1], peer: "cairn")
    let part = arguments.count > 3 ? arguments[3] : nil
    let bench = Bench(directory: arguments[2], report: report, part: part)
    do {
      // On the main thread, as an app opens its store and as the peers run; only the exchange is
      // asynchronous.
      if try !bench.run() { bench.runAsynchronously() }
    } catch {
      report.fail("\(error)")
    }
  }

  private func runAsynchronously() {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      do { try await exchange() } catch { report.fail("\(error)") }
      done.signal()
    }
    done.wait()
  }

  /// False if it is none of these.
  private func run() throws -> Bool {
    switch report.workload {
    case "W1": try durableCommits()
    case "W2": try bulkLoad(durable: false)
    case "W2sync": try bulkLoad(durable: true)
    case "W3cold", "W3warm": try firstRead()
    case "W4": try pointReads()
    case "W5": try filters()
    case "W6": try updates()
    case "W10": try compaction()
    case "W11": try constantDatabase()
    case "grow": try grow()
    case "open10k", "open100k", "open1M": try openSized()
    case "group": try groupCommits()
    case "base", "guard-base": base()
    default: return try runScale() || runGuard()
    }
    return true
  }

  private func exchange() async throws {
    switch report.workload {
    case "W7": try await remoteChanges()
    case "W8": try await lists()
    case "bytes": try await sizes()
    case "scale-publish": try await publishScaled()
    case "scale-poll": try await pollScaled()
    case "scale-bootstrap": try await bootstrapScaled()
    case "devices": try await manyDevices()
    case "datastores": try await manyDatastores()
    case "year": try await year()
    case "guard-prepare": try await prepareGuard()
    case "guard-merge": try await guardMerge()
    case "guard-idle": try await guardIdle()
    default: report.fail("no such workload")
    }
  }

  /// Inserts the records in commits of one batch each.
  func load(_ range: Range<Int>, into store: Store) throws {
    for number in range {
      try store.insert(Sample(UInt64(number)))
      if number % DataSet.batch == DataSet.batch - 1 { try store.commit() }
    }
  }

  /// Opens the store again and compares what it holds.
  func checkSum(_ expected: Double) throws {
    let store = try Store(directory, durable: false)
    report.check(try store.sum(), expected)
    try store.close()
  }

  /// What this program weighs before it does anything.
  private func base() { report.figure("peak_rss_MB", Meter.peakMemory / 1e6) }
}
