import Cairn

/// Lets one thing go wrong in a short life of a store, and looks at what became of it.
struct FaultRunner {
  let scratch: String
  let shim: Shim?
  var ledger = Ledger("failures")

  init(scratch: String, shim: Shim?) {
    self.scratch = scratch
    self.shim = shim
  }

  /// What must come of a fault that lies, at least once in so many cases of it.
  static let findings = [
    "lost write": "found", "flipped write": "found", "flipped read": "found by the writer",
  ]
  static let findingsNeed = 100

  /// How a fault met its program.
  private enum Strike { case missed, another, meant }

  /// Whether it struck what it was meant for: if not, another of its kind is to be tried.
  mutating func run(_ workload: Workload, _ fault: SystemFault) async throws -> Bool {
    let child = try start(workload, fault)
    var ending: Child.Ending?
    do {
      let found = try child.wait(seconds: 45)
      ending = found
      return try await look(workload, fault, found, Words(child.text))
    } catch {
      throw TortureFailure(
        "\(workload.name), \(fault): \(error); it ended with \(ending.map { "\($0)" } ?? "a kill") "
          + "and said \(Words(child.text).failures) \(child.errors.suffix(2000))")
    }
  }

  private mutating func look(
    _ workload: Workload, _ fault: SystemFault, _ ending: Child.Ending, _ words: Words
  ) async throws -> Bool {
    for failure in words.failures { ledger.count("failed \(failure)") }
    let strike = try strike(fault)
    guard strike != .missed else {
      ledger.count("missed")
      guard ending == .exited(0), words.isDone, words.failures.isEmpty else {
        throw TortureFailure("an error without a fault")
      }
      return false
    }
    ledger.count("cases")
    switch fault {
    case .error(_, let error, let isForGood):
      // Once is no reason to give up; `close` and a file system that can't preallocate are none to
      // fail.
      let mayGiveUp = isForGood && error != "EOPNOTSUPP"
      try require(ending, words, mayGiveUp: mayGiveUp)
    case .interrupted, .slow, .short:
      try require(ending, words, mayGiveUp: false, mayFail: false)
    case .failing(_, _, _, let isForGood): try require(ending, words, mayGiveUp: isForGood)
    case .lost, .flipped, .misread:
      ledger.count("cases of \(fault.name)")
      try damaged(fault.name, workload, ending, words)
      return true
    }
    try await workload.check(words, scratch)
    return strike == .meant
  }

  /// How the fault struck, in the words of who had to do it.
  private mutating func strike(_ fault: SystemFault) throws -> Strike {
    switch fault {
    case .error, .interrupted, .slow:
      var mark = "(INJECTED)"
      if case .slow = fault { mark = "(DELAYED)" }
      let count = TextFile.count(mark, in: TextFile.bytes(tampered))
      if count > 0 { ledger.took(fault.name, count) }
      return count > 0 ? .meant : .missed
    case .failing(_, let function, _, let isForGood):
      let tally = try Shim.Tally(tallied)
      guard tally[.failed] > 0 else { return .missed }
      if let code = fault.code { ledger.took(code) }
      // Threads may have shared the work in another way than when it was counted.
      guard isForGood || tally.struck == function else {
        ledger.count("struck another function")
        return .another
      }
      ledger.took(fault.name)
      return .meant
    case .short:
      let tally = try Shim.Tally(tallied)
      ledger.took("a short write", tally[.shortWrite])
      ledger.took("a short read", tally[.shortRead])
      ledger.took("an interrupted call, any thread", tally[.interrupted])
      if tally.all > 0 { ledger.took(fault.name) }
      return tally.all > 0 ? .meant : .missed
    case .lost, .flipped, .misread:
      let strikes = try Shim.Tally(tallied).all
      if strikes > 0 { ledger.took(fault.name) }
      return strikes > 0 ? .meant : .missed
    }
  }

  /// What strace saw of the calls that it was to spoil.
  private var tampered: String { scratch + "/tampered" }
  /// What the shim counted.
  private var tallied: String { scratch + "/tally" }

  private func start(_ workload: Workload, _ fault: SystemFault) throws -> Child {
    let place = try workload.prepare(scratch)
    func traced(_ call: String, _ how: String) throws -> Child {
      try SystemCalls.start(
        workload, place, call, how, more: ["--persist"], log: tampered, scratch: scratch)
    }
    func shimmed(_ mode: String, persists: Bool = false) throws -> Child {
      try Child(
        Child.own, workload.arguments(place) + (persists ? ["--persist"] : []),
        output: scratch + "/said", environment: try shim?.environment(mode, tally: tallied) ?? [])
    }
    switch fault {
    case .error(let point, let error, let isForGood):
      return try traced(
        point.call, "error=\(error):when=\(point.number)\(isForGood ? "+" : "")")
    case .interrupted(let call, let when): return try traced(call, "error=EINTR:when=\(when)")
    case .slow(let point):
      return try traced(point.call, "delay_enter=100000:when=\(point.number)")
    case .failing(let number, _, let code, let isForGood):
      return try shimmed("\(isForGood ? "errors" : "error"):\(number):\(code)", persists: true)
    case .short(let seed): return try shimmed("short:\(seed)")
    case .lost(let number): return try shimmed("lost:\(number)")
    case .flipped(let number, let bit): return try shimmed("flip:\(number):\(bit)")
    case .misread(let number, let bit): return try shimmed("read:\(number):\(bit)")
    }
  }

  /// A writer that goes on ends by itself: done, or, if it may, with a typed error again and again.
  private func require(
    _ ending: Child.Ending, _ words: Words, mayGiveUp: Bool, mayFail: Bool = true
  ) throws {
    let isDone = ending == .exited(0) && words.isDone
    guard isDone || (mayGiveUp && ending == .exited(9)) else {
      throw TortureFailure("the writer did not go on")
    }
    guard mayFail || words.failures.isEmpty else {
      throw TortureFailure("what is no error was taken for one")
    }
    if let untyped = words.failures.first(where: { $0.hasSuffix("internal") }) {
      throw TortureFailure("an error without a kind: \(untyped)")
    }
  }

  /// Bytes are not what was written: that is found, or does no harm, or took only what the last
  /// sync covered. Never another value.
  private mutating func damaged(
    _ name: String, _ workload: Workload, _ ending: Child.Ending, _ words: Words
  ) throws {
    guard ending == .exited(0) || ending == .exited(1) else {
      throw TortureFailure("the writer trapped")
    }
    if ending == .exited(1) { note(name, "found by the writer") }
    let checker = Checker(place: workload.place(scratch), contents: [workload.content])
    let acked = max(words.acked, workload.before)
    do {
      var finding = Finding()
      try checker.verify(&finding)
      let datastore = try checker.place.open()
      let standing: Int
      do { standing = try workload.content.check(datastore) } catch {
        // The first error says more.
        try? datastore.close()
        throw error
      }
      try datastore.close()
      if standing >= acked { return note(name, "no harm") }
      guard standing == acked - 1 else {
        throw TortureFailure("\(acked) acknowledged, \(standing) there, and nothing said")
      }
      note(name, "the last commit, which nothing vouches for")
    } catch is CairnError {
      note(name, "found")
    } catch let error as TortureFailure {
      guard error.description.hasPrefix("damaged: ") else { throw error }
      note(name, "found")
    }
  }

  private mutating func note(_ name: String, _ outcome: String) {
    if outcome.hasPrefix("found") { ledger.took("a lie that was found") }
    ledger.count("\(name): \(outcome)")
  }
}
