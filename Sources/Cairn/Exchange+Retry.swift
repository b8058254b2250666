internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import Synchronization

/// A file that was found bad may have been damaged on its way only: it is read again, ever more
/// seldom while it stays bad.
struct Retry: Equatable {
  /// What the verdict is on: another version has another one.
  let version: String
  private var failures = 0
  /// Rounds that still go by without reading it.
  private var skip = 0

  /// The most rounds from one try to the next.
  static let roundsMax = 64
  /// The same for what is only not to be had just now.
  static let lockedRoundsMax = 4

  init(version: String) { self.version = version }

  /// It was read and is bad: the next try is 1, 2, 4, ... rounds later, `most` in the end.
  mutating func fail(most: Int = Retry.roundsMax) {
    skip = min(1 << min(failures, 16), most) - 1
    failures += 1
  }

  /// The same for a file of a listing; a new version of it begins anew.
  static func fail(
    _ entry: FolderEntry, in retries: inout [String: Retry], most: Int = Retry.roundsMax
  ) {
    var retry = retries[entry.name] ?? Retry(version: entry.version)
    if retry.version != entry.version { retry = Retry(version: entry.version) }
    retry.fail(most: most)
    retries[entry.name] = retry
  }

  /// Somebody else's file may be as it is for ever.
  var isGivenUp: Bool { failures > 4 }

  /// Whether it is to be read in the next round.
  var isNext: Bool { skip == 0 }

  /// A round in which nobody asks goes by; whether it is to be read in the next one.
  mutating func pass() -> Bool {
    if skip == 0 { return false }
    skip -= 1
    return skip == 0
  }

  /// Asked once a round: whether it is to be read in this one.
  mutating func isDue() -> Bool {
    if skip == 0 { return true }
    skip -= 1
    return false
  }
}

extension Exchange.Memory {
  /// A file that is listed and not given: in which version, what the folder says, how often.
  struct Withheld {
    var version: String
    var problem: String
    var count = 1
  }

  /// What stands against a file of a listing, if something is known.
  func problem(with entry: FolderEntry) -> String? {
    if let known = foreign[entry.name], known.version == entry.version,
      let problem = known.problem
    {
      return problem
    }
    if let known = withheld[entry.name], known.version == entry.version { return known.problem }
    guard let known = newer[entry.name], known.version == entry.version else { return nil }
    return known.problem
  }

  /// Whether all that stands against it is that it takes a newer version to read it.
  func isNewer(_ entry: FolderEntry) -> Bool {
    newer[entry.name]?.version == entry.version && withheld[entry.name]?.version != entry.version
  }

  /// What is not listed any more is not waited for either.
  mutating func forgetUnreadHeads(notIn entries: [FolderEntry]) {
    if unreadHeads.isEmpty { return }
    let names = Set(entries.map(\.name))
    unreadHeads = unreadHeads.filter { names.contains($0.key) }
  }

  /// Whether this version of a head was found bad, or stays half there.
  func isDamaged(_ entry: FolderEntry) -> Bool {
    if let known = foreign[entry.name], known.version == entry.version, known.problem != nil {
      return true
    }
    guard let half = halves[entry.name], half.version == entry.version else { return false }
    return half.rounds >= Exchange.patience
  }

  /// Whether a head was read in this version, and is not to be read once more in this round.
  mutating func hasRead(_ entry: FolderEntry) -> Bool {
    guard versions[entry.name] == entry.version else { return false }
    guard var doubt = doubts[entry.name], doubt.version == entry.version, !doubt.isGivenUp
    else { return true }
    let isDue = doubt.isDue()
    doubts[entry.name] = doubt
    return !isDue
  }

  func isNews(_ head: Head) -> Bool {
    guard let known = heads[head.device] else { return true }
    return head.generation > known.generation
  }

  mutating func doubt(_ entry: FolderEntry, unless isNews: Bool) {
    if isNews {
      doubts[entry.name] = nil
    } else {
      Retry.fail(entry, in: &doubts, most: 8)
    }
  }

  /// A head is not wholly there (yet).
  mutating func noteHalf(_ entry: FolderEntry) {
    let known = halves[entry.name]
    let rounds = known?.version == entry.version ? known?.rounds ?? 0 : 0
    halves[entry.name] = (entry.version, rounds + 1)
  }
}

extension Exchange {
  /// What is wrong with a file that is not to be read in this round, however often that is asked.
  func verdict(on entry: FolderEntry) -> String? {
    memory.withLock { memory in
      guard let problem = memory.problem(with: entry) else { return nil }
      let isDue = memory.due[entry.name] ?? memory.retries[entry.name]?.isDue() ?? false
      memory.due[entry.name] = isDue
      return isDue ? nil : problem
    }
  }

  /// From now on it is another round.
  func beginAsking() {
    memory.withLock { ($0.refusals, $0.due) = (0, [:]) }
  }

  /// The folder does not give it. Nobody knows what is in it, so it is no bad one; what somebody
  /// has locked is soon to be had again.
  func withhold(_ entry: FolderEntry, _ error: CairnError) {
    let problem = error.message
    // A lock, or a line that breaks, is soon over.
    let isShort = error.code == .retryLater || Exchange.isOfConnection(error)
    let most = isShort ? Retry.lockedRoundsMax : Retry.roundsMax
    memory.withLock { memory in
      var withheld = Memory.Withheld(version: entry.version, problem: problem)
      if let known = memory.withheld[entry.name], known.version == entry.version {
        withheld.count += known.count
      }
      memory.withheld[entry.name] = withheld
      memory.due[entry.name] = false
      Retry.fail(entry, in: &memory.retries, most: most)
    }
  }

  /// How often a file was not given in a row.
  func withheldCount(_ entry: FolderEntry) -> Int {
    memory.withLock { memory in
      guard let known = memory.withheld[entry.name], known.version == entry.version else {
        return 0
      }
      return known.count
    }
  }

  /// It was given, whatever is in it.
  func noteGiven(_ name: String) {
    memory.withLock { memory in
      (memory.withheld[name], memory.refusals) = (nil, 0)
      memory.unreadHeads[name] = nil
    }
  }

  /// It fails for another reason, which may last: nobody is to wait for a next refusal any more.
  func noteNotWithheld(_ name: String) {
    memory.withLock { $0.withheld[name] = nil }
  }

  func refuse(_ entry: FolderEntry, _ reason: String) {
    memory.withLock { memory in
      memory.foreign[entry.name] = (entry.version, reason)
      memory.newer[entry.name] = nil
      memory.due[entry.name] = false
      Retry.fail(entry, in: &memory.retries)
    }
  }

  /// This version can't read it; the one that can begins anew. Only if it was damaged on its way it
  /// may be another one the next time.
  func noteNewer(_ entry: FolderEntry, _ reason: String) {
    memory.withLock { memory in
      memory.newer[entry.name] = (entry.version, reason)
      memory.foreign[entry.name] = nil
      memory.due[entry.name] = false
      Retry.fail(entry, in: &memory.retries)
    }
  }

  /// It is good.
  func forgive(_ name: String) {
    memory.withLock { memory in
      (memory.foreign[name], memory.newer[name]) = (nil, nil)
      (memory.retries[name], memory.due[name]) = (nil, nil)
    }
  }
}
