import Cairn
import CairnDisk

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Commits what a `Content` says, again and again, and says which commits are durable.
struct Writer {
  enum Order: Sendable {
    /// First the commit, then the word of it.
    case careful
    /// The other way round: a bug that every programme must see.
    case careless
  }

  let place: StorePlace
  let content: Content
  var compactEvery = 0
  var exchangeEvery = 0
  /// How often it makes another datastore beside its own, and deletes it.
  var discardEvery = 0
  /// Goes on after errors, as an app would.
  var persists = false
  var order = Order.careful
  /// Compacts on a thread of its own, again and again.
  var isCompacting = false
  /// Says nothing.
  var isQuiet = false
  /// With the time of each acknowledgement and exchange, in nanoseconds.
  var showsTimes = false
  /// Where it says what it is at.
  var phases: PhaseFile?

  /// Ends the process when it can't go on: what was tried again and again failed.
  struct GaveUp: Error {
    var last: CairnError
  }

  private func say(_ text: String) {
    if isQuiet { return }
    let bytes = Array((text + "\n").utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
  }

  private func acknowledge(_ n: Int) {
    guard showsTimes else { return say("acked \(n)") }
    say("acked \(n) \(Monotonic.now)")
  }

  /// Commits until there are `commits` of them in the datastore.
  func run(commits: Int) async throws {
    var datastore = try open()
    var n = try content.standing(datastore)
    say("open \(n)")
    if isCompacting { startCompacting(datastore) }
    while n < commits {
      do {
        try commit(n + 1, datastore)
        n += 1
        try await upkeep(n, datastore)
        phases?.enter(.between)
      } catch let error as CairnError {
        guard persists else { throw error }
        say("reopen \(error.code.rawValue)")
        do throws(CairnError) { try datastore.close() } catch {
          say("failed close \(error.code.rawValue)")
        }
        datastore = try open()
        n = try content.standing(datastore)
        say("open \(n)")
      }
    }
    phases?.enter(.closing)
    do throws(CairnError) { try datastore.close() } catch {
      guard persists else { throw error }
      say("failed close \(error.code.rawValue)")
    }
    say("done \(n)")
  }

  private func startCompacting(_ datastore: Datastore) {
    _ = BackgroundThread { [phases] in
      while datastore.isOpen {
        phases?.enter(.compacting, thread: 1)
        do throws(CairnError) { try datastore.compact() } catch { return }
        phases?.enter(.between, thread: 1)
      }
    }
  }

  private func open() throws -> Datastore {
    phases?.enter(.opening)
    var tries = 0
    while true {
      do throws(CairnError) { return try place.open() } catch {
        guard persists else { throw error }
        say("failed open \(error.code.rawValue)")
        tries += 1
        if tries == 3 { throw GaveUp(last: error) }
      }
    }
  }

  private func commit(_ n: Int, _ datastore: Datastore) throws {
    var tries = 0
    var isApplied = false
    while true {
      do throws(CairnError) {
        // What a sync could not commit is still there for the next.
        phases?.enter(.changing)
        if !isApplied { try apply(n, datastore) }
        isApplied = true
        phases?.enter(.committing)
        if order == .careless { acknowledge(n) }
        try datastore.sync()
        if order == .careful { acknowledge(n) }
        return
      } catch {
        guard persists else { throw error }
        say("failed sync \(error.code.rawValue)")
        tries += 1
        if tries == 3 { throw GaveUp(last: error) }
        // Only opening anew helps, as the error says.
        if error.code == .syncFailed { throw error }
      }
    }
  }

  private func apply(_ n: Int, _ datastore: Datastore) throws(CairnError) {
    do throws(CairnError) { try content.apply(n, to: datastore) } catch {
      try datastore.rollback()
      throw error
    }
  }

  /// A crash in the middle leaves the other datastore whole, or nothing of it.
  private func discard(_ n: Int) throws(CairnError) {
    let manager = try place.manager()
    let datastore = try manager.openOrCreateDatastore(Writer.discarded)
    do throws(CairnError) {
      try datastore.table("t").getOrInsert("x").record.set("n", .int(Int64(n)))
      try datastore.sync()
    } catch {
      // The first error says more.
      try? datastore.close()
      throw error
    }
    try datastore.close()
    try manager.deleteDatastore(Writer.discarded)
  }

  /// The id of what is deleted again.
  static let discarded = "discarded"

  private func upkeep(_ n: Int, _ datastore: Datastore) async throws {
    do throws(CairnError) {
      if compactEvery > 0, n % compactEvery == 0 {
        phases?.enter(.compacting)
        try datastore.compact()
      }
      if discardEvery > 0, n % discardEvery == 0 { try discard(n) }
      if exchangeEvery > 0, n % exchangeEvery == 0 {
        phases?.enter(.exchanging)
        let start = Monotonic.now
        try await datastore.exchange()
        if showsTimes { say("exchanged \(start) \(Monotonic.now)") }
        try datastore.sync()
      }
    } catch {
      guard persists else { throw error }
      say("failed upkeep \(error.code.rawValue)")
      if error.code == .syncFailed { throw error }
    }
  }
}

/// What a writer said before its end.
struct Words {
  /// The last commit that was acknowledged.
  private(set) var acked = 0
  /// All that were, with their times if it told them.
  private(set) var acks: [(n: Int, time: UInt64)] = []
  /// What was there when it opened its datastore, nil if it did not get that far.
  private(set) var opened: Int?
  private(set) var isDone = false
  /// From when to when it exchanged, if it told the times.
  private(set) var exchanges: [ClosedRange<UInt64>] = []
  /// Codes of errors that it met.
  private(set) var failures: [String] = []

  /// A last line that a kill cut short is not said.
  init(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    for line in lines {
      let words = line.split(separator: " ")
      guard let verb = words.first else { continue }
      switch verb {
      case "acked":
        guard words.count > 1, let n = Int(words[1]) else { continue }
        acked = max(acked, n)
        acks.append((n, words.count > 2 ? UInt64(words[2]) ?? 0 : 0))
      case "open": opened = words.count > 1 ? Int(words[1]) : nil
      case "exchanged":
        let times = words.dropFirst().compactMap { UInt64($0) }
        if times.count == 2, times[0] <= times[1] { exchanges.append(times[0]...times[1]) }
      case "done": isDone = true
      case "failed": failures.append(words.dropFirst().joined(separator: " "))
      default: break
      }
    }
  }
}

/// Nanoseconds of a clock that all processes share.
enum Monotonic {
  static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
