import ArgumentParser
import Cairn
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Makes system calls fail, be interrupted, be slow, be short or lie, over the whole life of a
/// store whose writer goes on as an app would.
struct FailuresCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "failures",
    abstract: "System calls of real processes that fail, are interrupted, slow, short, or lie.")

  @OptionGroup var options: RunOptions

  /// One thing that goes wrong.
  enum Fault: Sendable {
    /// By strace: the error, at one call or from there on.
    case error(SystemCalls.Point, String, isForGood: Bool)
    case interrupted(String)
    case slow(SystemCalls.Point)
    /// By the shim, in whatever thread.
    case failing(Int, Int32, isForGood: Bool)
    case short(UInt64)
    case lost(Int)
    case flipped(Int, bit: UInt64)
    case misread(Int, bit: UInt64)

    /// What the ledger calls it.
    var name: String {
      switch self {
      case .error(_, _, let isForGood): isForGood ? "error for good" : "error once"
      case .interrupted: "interrupted calls"
      case .slow: "slow call"
      case .failing(_, _, let isForGood):
        isForGood ? "error for good, any thread" : "error once, any thread"
      case .short: "short calls"
      case .lost: "lost write"
      case .flipped: "flipped write"
      case .misread: "flipped read"
      }
    }
  }

  /// What each call may answer.
  static let errors = [
    "openat": ["EMFILE", "ENFILE", "ENOSPC", "EIO"], "pwrite64": ["EIO", "ENOSPC", "EDQUOT"],
    "pread64": ["EIO"], "fdatasync": ["EIO", "ENOSPC", "EDQUOT"], "fsync": ["EIO"],
    "rename": ["EIO", "ENOSPC", "EDQUOT"], "unlink": ["EIO", "EPERM"], "unlinkat": ["EIO"],
    "mkdir": ["ENOSPC", "EDQUOT"], "fallocate": ["ENOSPC", "EDQUOT", "EOPNOTSUPP"],
    "ftruncate": ["EIO"], "flock": ["ENOLCK"], "close": ["EIO"], "getdents64": ["EIO"],
  ]
  static let interruptible = [
    "pwrite64", "fdatasync", "fsync", "flock", "fallocate", "ftruncate",
  ]

  func run() async throws {
    let seed = options.begin("failures")
    var ledger = Ledger("failures")
    let place = try Workplace(options.directory)
    let shim = try Shim(scratch: place.path)
    var cases: [(Workload, Fault)] = []
    var random = SeededRandom(seed)
    for workload in try await Workload.all(place.path) {
      if Command.isThere("strace") {
        cases += try strace(workload, place.path).map { (workload, $0) }
      }
      if let shim {
        let counts = try shim.count(workload, scratch: place.path)
        for number in 1...counts.writes {
          cases.append((workload, .lost(number)))
          for _ in 0..<2 { cases.append((workload, .flipped(number, bit: random.next() >> 1))) }
        }
        for number in 1...max(1, counts.reads) {
          cases.append((workload, .misread(number, bit: random.next() >> 1)))
        }
        for number in 1...counts.calls {
          for code in [EIO, ENOSPC, EDQUOT, EMFILE, EACCES] {
            cases.append((workload, .failing(number, code, isForGood: number % 8 == 0)))
          }
        }
        for _ in 0..<100 { cases.append((workload, .short(random.next() >> 1))) }
      }
    }
    if Command.isThere("strace") {
      ledger.expect(["error once", "error for good", "interrupted calls", "slow call"])
    } else {
      RunOptions.skip("failing system calls", "no strace")
    }
    if shim == nil { RunOptions.skip("short, lost and flipped writes", "no gcc") } else {
      ledger.expect([
        "error once, any thread", "error for good, any thread", "short calls", "lost write",
        "flipped write", "flipped read",
      ])
    }
    if cases.isEmpty { return }
    cases.shuffle(using: &random)
    // One of each kind comes first: a slice may be too short to meet a rare one by chance.
    var met: Set<String> = []
    let firsts = cases.indices.filter { met.insert(cases[$0].1.name).inserted }
    let others = cases.indices.filter { !firsts.contains($0) }
    let order = (firsts + others).map { cases[$0] }
    let turns = options.turns(default: min(1000, order.count))
    ledger.count("cases there are", order.count)
    try await options.lanes(&ledger, turns) { lane in
      let scratch = place.path("lane\(lane)")
      try TextFile.makeDirectory(scratch)
      var runner = FaultRunner(scratch: scratch, shim: shim)
      while let turn = turns.take(), turn < order.count {
        try await runner.run(order[turn].0, order[turn].1)
      }
      return runner.ledger
    }
    try ledger.close(rates: ["cases"])
  }

  private func strace(_ workload: Workload, _ scratch: String) throws -> [Fault] {
    let points = try SystemCalls(workload, scratch: scratch).points
    var faults: [Fault] = []
    for point in points {
      for error in FailuresCommand.errors[point.call] ?? [] {
        faults.append(.error(point, error, isForGood: false))
        if point.number % 4 == 0 { faults.append(.error(point, error, isForGood: true)) }
      }
      if point.call == "fdatasync", point.number % 2 == 0 { faults.append(.slow(point)) }
    }
    for call in FailuresCommand.interruptible {
      for step in ["2..4", "5..9", "3+2", "10+3"] { faults.append(.interrupted("\(call) \(step)")) }
    }
    return faults
  }
}
