import Glibc

/// Where a workload's figures go: one line each on standard output, of four parts; a point of a
/// curve has five.
public struct Report: Sendable {
  public let workload, peer: String

  public init(workload: String, peer: String) {
    self.workload = workload
    self.peer = peer
  }

  public func figure(_ metric: String, _ value: Double) {
    print(workload, peer, metric, (value * 1e5).rounded() / 1e5, separator: "\t")
  }

  /// A point of a curve.
  public func point(_ metric: String, at place: Double, _ value: Double) {
    print(workload, peer, metric, place, (value * 1e5).rounded() / 1e5, separator: "\t")
  }

  /// Ends the process with status 1 unless the workload came to the right result. Sums of doubles
  /// in another order may differ in their last bits, not in a cent.
  public func check(_ result: Double, _ expected: Double) {
    if abs(result - expected) < 0.005 { return }
    fail("wrong result: \(result) instead of \(expected)")
  }

  public func fail(_ reason: String) -> Never {
    let line = Array("\(workload) \(peer): \(reason)\n".utf8)
    write(STDERR_FILENO, line, line.count)
    exit(1)
  }
}

extension [Double] {
  public func quantile(_ q: Double) -> Double {
    sorted()[Int(q * Double(count - 1) + 0.5)]
  }
}
