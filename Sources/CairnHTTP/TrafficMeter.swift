package import Cairn
package import CairnDisk
internal import Synchronization

/// Counts what goes over the network for one folder.
package final class TrafficMeter: Sendable {
  private let counts = Lock(FolderTraffic())
  private let stall = Lock(Stall())
  /// What counts the same, and more.
  private let whole: TrafficMeter?

  private struct Stall {
    var isStalled = false
    var tell: (@Sendable (Bool) -> Void)?
  }

  package init() { whole = nil }

  /// Counts a part of what another one counts.
  init(of whole: TrafficMeter) { self.whole = whole }

  /// Who is told when requests stall, and when they go on.
  package func onStall(_ tell: @escaping @Sendable (Bool) -> Void) {
    stall.withLock { $0.tell = tell }
  }

  func note(isStalled: Bool) {
    let tell = stall.withLock { stall in
      defer { stall.isStalled = isStalled }
      return isStalled || stall.isStalled ? stall.tell : nil
    }
    tell?(isStalled)
  }

  package var traffic: FolderTraffic { counts.withLock { $0 } }

  func noteRequest(isRetry: Bool) {
    counts.withLock { counts in
      counts.requests += 1
      if isRetry { counts.retries += 1 }
    }
  }

  func noteSent(_ bytes: UInt64) {
    counts.withLock { $0.sentBytes &+= bytes }
    whole?.noteSent(bytes)
  }

  func noteReceived(_ bytes: UInt64) {
    counts.withLock { $0.receivedBytes &+= bytes }
    whole?.noteReceived(bytes)
  }
}

/// What was used in the last hour, a minute a place, and which servers want to be left alone. One
/// for all folders of one kind and settings.
package final class BudgetLedger: Sendable {
  private struct Minute {
    var number: Int64 = -1
    var requests = 0
    var bytes: UInt64 = 0
    /// Requests that have gone although no hour has room for them.
    var exceeding = 0
  }

  private let minutes = Lock([Minute](repeating: Minute(), count: 60))

  /// A write that can't be made smaller, and was refused: how long it is, and when that was last.
  private struct Waiting {
    var bytes: UInt64
    var minute: Int64
  }

  private let waiting = Lock<Waiting?>(nil)
  private let clock: any WallClock
  /// From when until when, in milliseconds, by origin.
  private let pauses = Lock<[String: Range<Int64>]>([:])
  /// Longer than that no server is believed.
  private static let longestSeconds: Double = 86_400

  package init(clock: any WallClock) { self.clock = clock }

  /// A server has said for how long it does not want to be asked.
  package func leave(_ origin: String, alone seconds: Double) {
    let now = clock.now()
    let length = Int64(min(max(0, seconds), BudgetLedger.longestSeconds) * 1000)
    pauses.withLock { $0[origin] = now..<(now &+ max(1, length)) }
  }

  /// How long it still wants to be left alone, in seconds; nil: no more.
  package func secondsAlone(_ origin: String) -> Int64? {
    let now = clock.now()
    return pauses.withLock { pauses in
      // A clock that was put back since says nothing.
      guard let pause = pauses[origin], pause.contains(now) else {
        pauses[origin] = nil
        return nil
      }
      return (pause.upperBound - now + 999) / 1000
    }
  }

  /// Bytes that were taken from a budget before they were sent or received.
  package final class Reservation: Sendable {
    fileprivate let minute: Int64
    fileprivate let bytes: Lock<UInt64>
    /// No hour has room for it.
    fileprivate let exceeds: Bool

    fileprivate init(_ minute: Int64, _ bytes: UInt64, exceeds: Bool) {
      self.minute = minute
      self.bytes = Lock(bytes)
      self.exceeds = exceeds
    }
  }

  /// Takes a request, and as many bytes as it is going to cost as far as that is known, from a
  /// budget, so that no other takes the same.
  ///
  /// - Parameters:
  ///   - need: How the budget stands against it.
  ///   - isBegun: It ends what was begun: whatever it costs.
  ///   - label: What errors call it.
  package func reserve(
    _ bytes: UInt64, of budget: TransferBudget?, need: BudgetNeed = .waits, isBegun: Bool,
    _ label: String
  ) throws(HTTPFailure) -> Reservation {
    let number = clock.now() / 60_000
    let keep = need == .waits ? keptForWaiting(in: budget, number) : 0
    let (objection, exceeds) = minutes.withLock { minutes -> (String?, Bool) in
      let used = BudgetLedger.used(minutes, number)
      var exceeds = false
      if let budget, !isBegun, need != .naming || used.exceeding == 0 {
        if let most = budget.requestsPerHour, used.requests >= most {
          return ("the budget of \(most) requests an hour is used up", false)
        }
        if let objection = BudgetLedger.objection(budget, bytes, used.bytes, keeping: keep) {
          guard need == .indivisible else { return (objection, false) }
          note(waiting: bytes, number)
          guard BudgetLedger.isTooLarge(bytes, for: budget) else { return (objection, false) }
          exceeds = used.bytes <= (budget.bytesPerHour ?? 0) / 2
          if !exceeds { return (objection + "; it goes when half of the hour is unused", false) }
        }
      }
      let place = BudgetLedger.place(number)
      if minutes[place].number != number { minutes[place] = Minute(number: number) }
      if exceeds { minutes[place].exceeding += 1 }
      minutes[place].requests += 1
      minutes[place].bytes &+= bytes
      return (nil, exceeds)
    }
    if let objection { throw HTTPFailure(.budget, label, objection) }
    if need == .indivisible { noteGoing(bytes) }
    return Reservation(number, bytes, exceeds: exceeds)
  }

  private func note(waiting bytes: UInt64, _ now: Int64) {
    waiting.withLock { waiting in
      // A smaller one finds room beside it.
      if let known = waiting, known.bytes > bytes, BudgetLedger.isFresh(known, now) { return }
      waiting = Waiting(bytes: bytes, minute: now)
    }
  }

  /// A write that can't be made smaller has found its room.
  private func noteGoing(_ bytes: UInt64) {
    waiting.withLock { waiting in
      if let known = waiting, known.bytes <= bytes { waiting = nil }
    }
  }

  /// Nobody who still waits has not asked for so long.
  private static func isFresh(_ waiting: Waiting, _ now: Int64) -> Bool {
    waiting.minute > now - 60 && waiting.minute < now + 60
  }

  /// What long files leave of a budget to a write that waits: a download that takes many hours
  /// would never let it find as much unused.
  private func keptForWaiting(in budget: TransferBudget?, _ now: Int64) -> UInt64 {
    guard let budget, let most = budget.bytesPerHour, let known = waiting.withLock({ $0 }),
      BudgetLedger.isFresh(known, now)
    else { return 0 }
    if BudgetLedger.isTooLarge(known.bytes, for: budget) { return most - most / 2 }
    return min(most, known.bytes &+ BudgetLedger.kept(of: most))
  }

  /// Takes what an answer that has begun says that it is longer than was known. Short ones are not
  /// asked for: heads and changes.
  package func grow(
    _ reservation: Reservation, to bytes: UInt64, of budget: TransferBudget?, _ label: String
  ) throws(HTTPFailure) {
    let now = clock.now() / 60_000
    let keep = keptForWaiting(in: budget, now)
    let objection = minutes.withLock { minutes in
      reservation.bytes.withLock { reserved -> String? in
        guard bytes > max(reserved, BudgetLedger.longBytes) else { return nil }
        let more = bytes - reserved
        let used = BudgetLedger.used(minutes, now).bytes
        if let budget,
          let objection = BudgetLedger.objection(budget, more, used, keeping: keep)
        {
          return objection
        }
        let place = BudgetLedger.place(reservation.minute)
        guard minutes[place].number == reservation.minute else { return nil }
        minutes[place].bytes &+= more
        reserved = bytes
        return nil
      }
    }
    if let objection { throw HTTPFailure(.budget, label, objection) }
  }

  /// What it did cost. What was not sent at all has exceeded nothing.
  package func settle(_ reservation: Reservation, bytes: UInt64) {
    minutes.withLock { minutes in
      let place = BudgetLedger.place(reservation.minute)
      guard minutes[place].number == reservation.minute else { return }
      let reserved = reservation.bytes.withLock { $0 }
      let others = minutes[place].bytes - min(minutes[place].bytes, reserved)
      minutes[place].bytes = others &+ bytes
      if bytes == 0, reservation.exceeds { minutes[place].exceeding -= 1 }
    }
  }

  /// Bytes that a budget has left in this hour for parts of long files; nil if it does not limit
  /// them. The last sixteenth, or 64 KiB of it, is for listings and changes, and as much as it
  /// takes for a write that waits and can't be made smaller: a file that takes hours does not keep
  /// them waiting.
  package func roomForParts(in budget: TransferBudget?) -> UInt64? {
    guard let most = budget?.bytesPerHour else { return nil }
    let number = clock.now() / 60_000
    let used = minutes.withLock { BudgetLedger.used($0, number).bytes }
    let top = most - keptForWaiting(in: budget, number)
    return top - min(top, used &+ BudgetLedger.kept(of: most))
  }

  /// Longer bodies leave the last of a budget to listings and changes.
  private static let longBytes: UInt64 = 64 << 10

  private static func kept(of most: UInt64) -> UInt64 { min(most / 16, longBytes) }

  private static func used(_ minutes: [Minute], _ now: Int64) -> Minute {
    // A clock that was put back a little leaves minutes of the future: they count. Further ahead
    // they are of a clock that was wrong, and would count until it is that time.
    minutes.reduce(into: Minute()) { sum, minute in
      guard minute.number >= 0, minute.number > now - 60, minute.number < now + 60 else { return }
      sum.requests += minute.requests
      sum.bytes &+= minute.bytes
      sum.exceeding += minute.exceeding
    }
  }

  /// Whether no hour has room for so much, used or not. A budget of nothing is never exceeded.
  private static func isTooLarge(_ bytes: UInt64, for budget: TransferBudget) -> Bool {
    budget.bytesPerHour != 0 && objection(budget, bytes, 0) != nil
  }

  private static func place(_ minute: Int64) -> Int { Int(((minute % 60) + 60) % 60) }

  /// What stands against so many bytes more; nil if nothing does.
  ///
  /// - Parameter waiting: What long files leave to a write that waits.
  private static func objection(
    _ budget: TransferBudget, _ upcoming: UInt64, _ used: UInt64, keeping waiting: UInt64 = 0
  ) -> String? {
    guard let most = budget.bytesPerHour else { return nil }
    if used >= most { return "the budget of \(most) bytes an hour is used up" }
    let isLong = upcoming > longBytes
    let kept = isLong ? kept(of: most) : 0
    let top = isLong ? most - min(most, waiting) : most
    guard upcoming <= top - min(top, used &+ kept) else {
      return "the budget of \(most) bytes an hour has no room for \(upcoming) more"
        + (top < most ? ", while a change waits that needs much of it" : "")
    }
    return nil
  }
}
