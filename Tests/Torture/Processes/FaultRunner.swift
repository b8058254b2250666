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

  mutating func run(_ workload: Workload, _ fault: FailuresCommand.Fault) async throws {
    ledger.count("cases")
    let child = try start(workload, fault)
    let ending = child.wait(seconds: 60)
    let words = Words(child.text)
    for failure in words.failures { ledger.count("failed \(failure)") }
    ledger.took(fault.name)
    do {
      switch fault {
      case .error(_, let error, let isForGood):
        // Once is no reason to give up; `close` and a file system that can't preallocate are
        // none to fail.
        let mayGiveUp = isForGood && error != "EOPNOTSUPP"
        try require(ending, words, mayGiveUp: mayGiveUp)
      case .interrupted, .slow, .short:
        try require(ending, words, mayGiveUp: false, mayFail: false)
      case .failing(_, _, let isForGood): try require(ending, words, mayGiveUp: isForGood)
      case .lost, .flipped, .misread: return try damaged(fault.name, workload, ending, words)
      }
      try await workload.check(words, scratch)
    } catch {
      throw TortureFailure(
        "\(workload.name), \(fault): \(error); it ended with \(ending) and said "
          + "\(words.failures) \(child.errors.suffix(2000))")
    }
  }

  private func start(
    _ workload: Workload, _ fault: FailuresCommand.Fault
  ) throws -> Child {
    let place = try workload.prepare(scratch)
    func traced(_ call: String, _ how: String) throws -> Child {
      try SystemCalls.start(workload, place, call, how, more: ["--persist"], scratch: scratch)
    }
    func shimmed(_ mode: String, persists: Bool = false) throws -> Child {
      try Child(
        Child.own, workload.arguments(place) + (persists ? ["--persist"] : []),
        output: scratch + "/said", environment: shim?.environment(mode) ?? [])
    }
    switch fault {
    case .error(let point, let error, let isForGood):
      return try traced(
        point.call, "error=\(error):when=\(point.number)\(isForGood ? "+" : "")")
    case .interrupted(let text):
      let words = text.split(separator: " ")
      return try traced(String(words[0]), "error=EINTR:when=\(words[1])")
    case .slow(let point):
      return try traced(point.call, "delay_enter=100000:when=\(point.number)")
    case .failing(let number, let code, let isForGood):
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
    if !isDone { return }
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
      if standing >= acked { return ledger.count("\(name): no harm") }
      guard standing == acked - 1 else {
        throw TortureFailure("\(acked) acknowledged, \(standing) there, and nothing said")
      }
      ledger.count("\(name): the last commit, which nothing vouches for")
    } catch is CairnError {
      ledger.count("\(name): found")
    } catch let error as TortureFailure {
      guard error.description.hasPrefix("damaged: ") else { throw error }
      ledger.count("\(name): found")
    }
  }
}
