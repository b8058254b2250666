import Glibc
import Workload

/// How long reads take while others write. Usage: cairn-latency readers DIRECTORY
///
/// One read is due every 20 microseconds, whatever became of the one before: what a read waited for
/// those before it counts, so that one long pause is not one value among a million.
@main
struct Main {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, arguments[1] == "readers" else { exit(2) }
    let report = Report(workload: arguments[1], peer: "cairn")
    do { try Readers(arguments[2], report).run() } catch { report.fail("\(error)") }
  }
}
