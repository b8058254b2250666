import ArgumentParser
import Cairn
import CairnDisk
import Synchronization
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Two processes with two threads each race to open, lock, commit and close one datastore; two
/// processes exchange with one folder at once.
struct RacesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "races", abstract: "Processes and threads that race for a datastore or a folder.")

  @OptionGroup var options: RunOptions

  func run() async throws {
    let seed = options.begin("races")
    var ledger = Ledger("races")
    ledger.expect([
      "opened first", "refused", "refused by the other process", "exchanges at once",
    ])
    let place = try Workplace(options.directory)
    try await folder(place, SeededRandom(seed), &ledger)
    let turns = options.turns(default: 5000)
    var datastores = 0
    while turns.isOpen {
      datastores += 1
      // In a new directory now and then: the race is for making it, too.
      let root = place.path("race\(datastores)")
      try race(root, turns, &ledger)
      try TextFile.removeTree(root)
    }
    try ledger.close(rates: ["rounds"])
  }

  private func race(_ root: String, _ turns: Turns, _ ledger: inout Ledger) throws {
    try TextFile.makeDirectory(root)
    let pipe = root + "/go"
    guard unsafe mkfifo(pipe, 0o600) == 0 else { throw TortureFailure("no pipe: errno \(errno)") }
    let store = root + "/device"
    let child = try Child(
      Child.own, ["race", "--root", store, "--go", pipe], output: root + "/said")
    // For both, or this would wait for ever for a process that ended at once.
    let go = unsafe open(pipe, O_RDWR | O_CLOEXEC)
    guard go >= 0 else { throw TortureFailure("no pipe: errno \(errno)") }
    var racers = Racers(root: store, name: "p")
    let before = OpenFiles.own
    var rounds = 0
    while rounds < 200, turns.take() != nil {
      rounds += 1
      unsafe write(go, [UInt8(ascii: "g")], 1)
      let commits = racers.commits
      try racers.round()
      if racers.commits == commits { ledger.took("refused by the other process") }
      try child.wait(until: "round \(rounds)") { TextFile.size(root + "/said") >= rounds * 2 }
      if child.hasEnded { break }
      let now = OpenFiles.own
      guard now == before else {
        throw TortureFailure("open after round \(rounds): \(now), before: \(before)")
      }
      let temporary = TextFile.files(below: store).filter { $0.hasSuffix(".tmp") }
      guard temporary.isEmpty else { throw TortureFailure("left behind: \(temporary)") }
      // Nobody has the lock any more.
      try PosixDisk().lock(StorePlace(root: store).directory + "/LOCK").unlock()
      ledger.count("rounds")
    }
    close(go)
    guard try child.wait(seconds: 40) == .exited(0) else {
      throw TortureFailure("the other process failed: \(child.errors)")
    }
    let words = child.errors.split { $0 == " " || $0.isNewline }.compactMap { Int($0) }
    guard words.count == 2 else { throw TortureFailure("it said \(child.errors)") }
    try finish(store, commits: racers.commits + words[0], &ledger)
    ledger.took("opened first", racers.commits + words[0])
    ledger.took("refused", racers.refusals + words[1])
  }

  /// Each commit of each racer is there.
  private func finish(_ store: String, commits: Int, _ ledger: inout Ledger) throws {
    let datastore = try StorePlace(root: store).open()
    guard datastore.recoveryNotes.isEmpty else {
      throw TortureFailure("mended: \(datastore.recoveryNotes)")
    }
    var sum = 0
    for record in try datastore.table("races").query() { sum += Int(try record.int("n") ?? 0) }
    try datastore.close()
    guard sum == commits else {
      throw TortureFailure("\(commits) commits were made, \(sum) are there")
    }
    ledger.count("commits", commits)
  }

  /// Devices of one account that are all writing into the folder.
  private func folder(
    _ workplace: Workplace, _ random: SeededRandom, _ ledger: inout Ledger
  ) async throws {
    for round in 0..<12 {
      let root = workplace.path("folder\(round)")
      try TextFile.makeDirectory(root)
      var children: [(Child, StorePlace, Content)] = []
      for name in ["a", "b", "c"] {
        var place = StorePlace(root: root + "/" + name)
        place.folder = root + "/folder"
        place.user = name
        let content = Content(writer: name, seed: random.next(), payload: 500)
        let child = try Child(
          Child.own,
          ["write"] + PlaceOptions.arguments(place, content)
            + ["--commits", "30", "--exchange-every", "\(1 + random.below(3))", "--times"],
          output: root + "/\(name).said")
        children.append((child, place, content))
      }
      for (child, _, _) in children {
        guard try child.wait() == .exited(0) else {
          throw TortureFailure("a device in a folder failed: \(child.errors)")
        }
      }
      for _ in 0..<2 {
        for (_, place, _) in children {
          let datastore = try place.open()
          try await datastore.exchange()
          try datastore.sync()
          try datastore.close()
        }
      }
      for (_, place, _) in children {
        let datastore = try place.open()
        for (_, _, content) in children {
          guard try content.check(datastore) == 30 else {
            throw TortureFailure("\(place.user) lacks commits of \(content.writer)")
          }
        }
        try datastore.close()
      }
      ledger.count("rounds in a folder")
      ledger.took("exchanges at once", RacesCommand.overlaps(children.map { Words($0.0.text) }))
      try TextFile.removeTree(root)
    }
  }
}

extension RacesCommand {
  /// How many exchanges of a device began while another device was in one.
  private static func overlaps(_ devices: [Words]) -> Int {
    var count = 0
    for (number, device) in devices.enumerated() {
      let others = devices.enumerated().filter { $0.offset != number }.flatMap(\.element.exchanges)
      count += device.exchanges.count { exchange in
        others.contains { $0.contains(exchange.lowerBound) }
      }
    }
    return count
  }
}

/// Two threads that race for a datastore, as long as they are told to.
struct Racers {
  let root: String
  let name: String
  private(set) var commits = 0
  private(set) var refusals = 0

  init(root: String, name: String) {
    self.root = root
    self.name = name
  }

  private struct Outcome {
    var commits = 0
    var refusals = 0
    var failure: (any Error)?
  }

  /// Both threads try to open, commit if they can, and close.
  mutating func round() throws {
    let outcome = SharedOutcome()
    let threads = (0..<2).map { number in
      BackgroundThread { [root, name] in outcome.note { try Racers.run(root, "\(name)\(number)") } }
    }
    for thread in threads { thread?.join() }
    let (done, refused, failure) = outcome.result
    if let failure { throw failure }
    commits += done
    refusals += refused
  }

  /// False if somebody else had it.
  private static func run(_ root: String, _ id: String) throws -> Bool {
    let datastore: Datastore
    do throws(CairnError) { datastore = try StorePlace(root: root).open() } catch {
      guard error.code == .alreadyOpen else { throw error }
      return false
    }
    let record = try datastore.table("races").getOrInsert(RecordID(id)).record
    try record.set("n", .int((try record.int("n") ?? 0) + 1))
    try datastore.sync()
    try datastore.close()
    return true
  }
}

/// What threads of a round did.
final class SharedOutcome: Sendable {
  private let state = Lock<(done: Int, refused: Int, failure: (any Error)?)>((0, 0, nil))

  var result: (Int, Int, (any Error)?) { state.withLock { ($0.done, $0.refused, $0.failure) } }

  func note(_ body: () throws -> Bool) {
    do {
      let isDone = try body()
      state.withLock { if isDone { $0.done += 1 } else { $0.refused += 1 } }
    } catch { state.withLock { $0.failure = error } }
  }
}

/// Descriptors of this process.
enum OpenFiles {
  /// What is open, but for what Dispatch opens for itself when it first needs it.
  static var own: [String] {
    let ofDispatch = ["anon_inode:[eventfd]", "anon_inode:[eventpoll]", "anon_inode:[timerfd]"]
    return paths(below: "").filter { !ofDispatch.contains($0) }.sorted()
  }

  /// Files below a directory that are open, in this process or in another.
  static func paths(below directory: String, of process: String = "self") -> [String] {
    ((try? PosixDisk().list("/proc/\(process)/fd")) ?? []).compactMap { entry in
      var buffer = [CChar](repeating: 0, count: 4096)
      let count = unsafe readlink("/proc/\(process)/fd/" + entry.name, &buffer, buffer.count)
      // Closed since it was listed: the listing's own descriptor, or one of the system's threads.
      guard count > 0 else { return nil }
      let bytes = buffer.prefix(count).map { UInt8(bitPattern: $0) }
      let path = String(decoding: bytes, as: UTF8.self)
      return path.hasPrefix(directory) ? path : nil
    }
  }
}

/// The other process of a race: a round for each byte that it is given.
struct RaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "race", abstract: "The other process of a race.", shouldDisplay: false)

  @Option(name: .long) var root: String
  @Option(name: .long, help: "A pipe with a byte for each round.") var go: String

  func run() async throws {
    alarm(120)
    let pipe = unsafe open(go, O_RDONLY | O_CLOEXEC)
    var racers = Racers(root: root, name: "c")
    var byte = [UInt8](repeating: 0, count: 1)
    var files: [String]?
    while unsafe read(pipe, &byte, 1) == 1 {
      try racers.round()
      let now = OpenFiles.own
      guard files == nil || files == now else {
        throw TortureFailure("open are \(now), before were \(files ?? [])")
      }
      files = now
      unsafe write(1, Array("d\n".utf8), 2)
    }
    let text = Array("\(racers.commits) \(racers.refusals)\n".utf8)
    unsafe write(2, text, text.count)
  }
}
