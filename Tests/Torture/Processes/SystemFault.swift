#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One thing that goes wrong with the system calls of a process.
enum SystemFault: Sendable {
  /// By strace: the error, at one call or from there on.
  case error(SystemCalls.Point, String, isForGood: Bool)
  /// By strace: some of the calls of this name are interrupted.
  case interrupted(String, when: String)
  case slow(SystemCalls.Point)
  /// By the shim, in whatever thread: the function that this call was when they were counted.
  case failing(Int, function: String, Int32, isForGood: Bool)
  case short(UInt64)
  case lost(Int)
  case flipped(Int, bit: UInt64)
  case misread(Int, bit: UInt64)

  /// What each call may answer.
  static let errors: KeyValuePairs = [
    "openat": ["EMFILE", "ENFILE", "ENOSPC", "EIO"], "pwrite64": ["EIO", "ENOSPC", "EDQUOT"],
    "pread64": ["EIO"], "fdatasync": ["EIO", "ENOSPC", "EDQUOT"], "fsync": ["EIO"],
    "rename": ["EIO", "ENOSPC", "EDQUOT"], "unlink": ["EIO", "EPERM"], "unlinkat": ["EIO"],
    "mkdir": ["ENOSPC", "EDQUOT"], "fallocate": ["ENOSPC", "EDQUOT", "EOPNOTSUPP"],
    "ftruncate": ["EIO"], "flock": ["ENOLCK"], "close": ["EIO"], "getdents64": ["EIO"],
  ]
  static let interruptible = [
    "pwrite64", "fdatasync", "fsync", "flock", "fallocate", "ftruncate",
  ]
  /// Which calls are interrupted, as strace counts them in each thread.
  static let interruptions = ["1..3", "2..4", "5..9", "3+2", "10+3"]
  static let codes: KeyValuePairs = [
    "EIO": EIO, "ENOSPC": ENOSPC, "EDQUOT": EDQUOT, "EMFILE": EMFILE, "EACCES": EACCES,
  ]
  /// Functions that the shim lets fail.
  static let functions = Shim.functions.filter { !$0.isEmpty && $0 != "pread" }

  /// What the ledger calls it once it has struck.
  var name: String {
    switch self {
    case .error(let point, let error, let isForGood):
      "\(point.call) \(error) \(isForGood ? "for good" : "once")"
    case .interrupted(let call, _): "\(call) interrupted"
    case .slow(let point): "slow \(point.call)"
    case .failing(_, let function, _, let isForGood):
      "\(function) fails \(isForGood ? "for good" : "once"), any thread"
    case .short: "short calls"
    case .lost: "lost write"
    case .flipped: "flipped write"
    case .misread: "flipped read"
    }
  }

  /// Whether bytes are not what they should be, and nobody says so.
  var isLie: Bool {
    switch self {
    case .short, .lost, .flipped, .misread: true
    case .error, .interrupted, .slow, .failing: false
    }
  }

  /// The error of one that fails in any thread.
  var code: String? {
    guard case .failing(_, _, let code, _) = self else { return nil }
    return SystemFault.codes.first { $0.value == code }.map { "\($0.key), any thread" }
  }

  /// All names that there are with strace.
  static var tracedNames: [String] {
    var names: [String] = []
    for (call, errors) in errors {
      let point = SystemCalls.Point(call: call, number: 0)
      for error in errors {
        for isForGood in [false, true] {
          names.append(SystemFault.error(point, error, isForGood: isForGood).name)
        }
      }
    }
    names += interruptible.map { SystemFault.interrupted($0, when: "").name }
    return names + [SystemFault.slow(SystemCalls.Point(call: "fdatasync", number: 0)).name]
  }

  /// All names that there are with the shim.
  static var shimmedNames: [String] {
    var names: [String] = []
    for function in functions {
      for isForGood in [false, true] {
        names.append(SystemFault.failing(0, function: function, 0, isForGood: isForGood).name)
      }
    }
    names += codes.map { "\($0.key), any thread" }
    names += [SystemFault.short(0), .lost(0), .flipped(0, bit: 0), .misread(0, bit: 0)].map(\.name)
    return names + ["a short write", "a short read", "an interrupted call, any thread"]
  }

  /// What strace can do to a run with these calls.
  static func traced(_ points: [SystemCalls.Point]) -> [SystemFault] {
    var faults: [SystemFault] = []
    for point in points {
      for error in errors.first(where: { $0.key == point.call })?.value ?? [] {
        faults += [false, true].map { SystemFault.error(point, error, isForGood: $0) }
      }
      if point.call == "fdatasync" { faults.append(.slow(point)) }
    }
    for call in interruptible {
      faults += interruptions.map { SystemFault.interrupted(call, when: $0) }
    }
    return faults
  }

  /// What the shim can do to a run of which it has this tally.
  static func shimmed(_ tally: Shim.Tally, _ random: () -> UInt64) -> [SystemFault] {
    var faults: [SystemFault] = []
    for (number, function) in tally.functions.enumerated().dropFirst() {
      for (_, code) in codes {
        for isForGood in [false, true] {
          faults.append(.failing(number, function: function, code, isForGood: isForGood))
        }
      }
    }
    for number in 0..<tally.writes {
      faults.append(.lost(number + 1))
      faults += (0..<2).map { _ in SystemFault.flipped(number + 1, bit: random() >> 1) }
    }
    faults += (0..<tally.reads).map { SystemFault.misread($0 + 1, bit: random() >> 1) }
    faults += (0..<100).map { _ in SystemFault.short(random() >> 1) }
    return faults
  }
}
