import ArgumentParser
import Cairn
import CairnDisk
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Kills writers at random moments, and looks at what they left.
struct KillsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kills", abstract: "kill -9 of real processes at random moments.")

  @OptionGroup var options: RunOptions
  @Option(name: .long, help: "The command line tool, to be killed, too.") var cairn: String?

  func run() async throws {
    let seed = options.begin("kills")
    var ledger = Ledger("kills")
    ledger.expect(["a control that lost"])
    let turns = options.turns(default: 2000)
    let place = try Workplace(options.directory)
    let cairn = cairn
    try await control(place, SeededRandom(seed), &ledger)
    try await options.lanes(&ledger, turns) { lane in
      let random = SeededRandom(seed &+ UInt64(lane) &* 0x9E37_79B9)
      var ledger = Ledger("kills")
      var life = 0
      while turns.isOpen {
        life += 1
        let root = place.path("\(lane)-\(life)")
        try TextFile.makeDirectory(root)
        // Each fifth life is one of the command line tool.
        if let cairn, life % 5 == 0 {
          try ToolLife(tool: cairn, root: root, random: random).run(turns, &ledger)
        } else {
          try await KilledLife(root: root, random: random).run(turns, &ledger)
        }
        try TextFile.removeTree(root)
      }
      return ledger
    }
    guard ledger["kills"] > 0 else { throw TortureFailure("nothing was killed at its work") }
    // Enough for each of them, unless it was told to do less or its time was over before.
    if turns.count >= 500, options.seconds == nil || ledger["kills"] >= 500 {
      ledger.expect(KilledLife.phases.map { "killed while \($0)" })
      ledger.expect(["a commit that nobody heard of"])
      if cairn != nil { ledger.expect(ToolLife.verbs.map { "tool killed in \($0)" }) }
    }
    try ledger.close(rates: ["kills", "acked commits"])
  }

  /// A writer that acknowledges before it syncs must be found out, by the check that all others
  /// pass: else that check sees nothing.
  private func control(
    _ place: Workplace, _ random: SeededRandom, _ ledger: inout Ledger
  ) async throws {
    for life in 0..<300 where ledger["control kills that lost"] == 0 {
      let root = place.path("control-\(life)")
      try TextFile.makeDirectory(root)
      let killed = try KilledLife(root: root, random: random, isControl: true)
      do {
        try await killed.run(Turns(count: 1, until: nil), &ledger)
      } catch let error as TortureFailure {
        guard error.description.contains(": lost: ") else { throw error }
        ledger.count("control kills that lost")
        ledger.took("a control that lost")
      }
      try TextFile.removeTree(root)
    }
  }
}

/// One datastore, whose writers are killed again and again.
final class KilledLife {
  private let root: String
  private let random: SeededRandom
  private let place: StorePlace
  private let content: Content
  /// Another device of the account, which nobody kills.
  private var other: OtherDevice?
  private var arguments: [String]
  private var standing = [0, 0]
  private var device: String?
  /// A careless writer.
  private let isControl: Bool
  /// In which a writer must have been killed.
  static let phases: [PhaseFile.Phase] = [
    .opening, .changing, .committing, .compacting, .exchanging,
  ]

  init(root: String, random: SeededRandom, isControl: Bool = false) throws {
    self.isControl = isControl
    self.root = root
    self.random = random
    var place = StorePlace(root: root + "/device")
    content = Content(
      writer: "a", seed: random.next(),
      payload: isControl ? 20_000 : [0, 100, 1500, 20_000][random.below(4)])
    arguments = ["write", "--phases", root + "/phases"] + (isControl ? ["--careless"] : [])
    let isCompacting = !isControl && random.coin()
    let isLinked = !isControl && random.below(3) > 0
    if isLinked { place.folder = root + "/folder" }
    self.place = place
    arguments += PlaceOptions.arguments(place, content)
    if isCompacting {
      arguments += random.coin() ? ["--compacting"] : ["--compact-every", "\(2 + random.below(9))"]
    }
    if isLinked {
      arguments += ["--exchange-every", "\(1 + random.below(6))"]
      other = try OtherDevice(root: root, seed: random.next())
    }
  }

  func run(_ turns: Turns, _ ledger: inout Ledger) async throws {
    for cycle in 0..<(5 + random.below(30)) {
      guard turns.take() != nil else { break }
      try await self.cycle(cycle, &ledger)
    }
    try Checker(place: place, contents: [content]).checkFiles()
    ledger.count("lives")
  }

  private func cycle(_ number: Int, _ ledger: inout Ledger) async throws {
    // One that was killed before it had begun is no kill.
    while try await !kill(number, &ledger) {}
  }

  /// Whether the kill met a writer at work.
  private func kill(_ number: Int, _ ledger: inout Ledger) async throws -> Bool {
    let file = root + "/phases"
    try PhaseFile.reset(file)
    let child = try Child(Child.own, arguments, output: root + "/said")
    switch isControl ? 2 : random.below(16) {
    case 0: usleep(UInt32(random.below(20_000)))
    case 1...3:
      try child.wait(until: "its opening") { PhaseFile.read(file).first != .starting }
      usleep(UInt32(random.below(4_000)))
    default:
      try child.wait(until: "a commit") { child.text.contains("acked") }
      usleep(UInt32(random.below(20_000)))
    }
    let ending = try child.kill()
    guard ending == .signalled(SIGKILL) else {
      throw TortureFailure("the writer ended by itself: \(ending): \(child.errors)")
    }
    let words = Words(child.text)
    let isHit = note(PhaseFile.read(file), words, &ledger)
    do { try await check(words, &ledger) } catch {
      throw TortureFailure(
        "cycle \(number) in \(root): \(error); the writer was \(arguments.joined(separator: " "))")
    }
    return isHit
  }

  /// Writes down what the kill hit, if anything.
  private func note(
    _ phases: [PhaseFile.Phase], _ words: Words, _ ledger: inout Ledger
  ) -> Bool {
    if isControl {
      ledger.count("control kills")
      return true
    }
    guard let phase = phases.first, phase != .starting else {
      ledger.count("kills before it began, which do not count")
      return false
    }
    ledger.count("kills")
    ledger.count("acked commits", words.acks.count)
    ledger.took("killed while \(phase)")
    // Of the other thread, which does nothing else.
    if phases.count > 1, phases[1] == .compacting { ledger.took("killed while compacting") }
    return true
  }

  private func check(_ words: Words, _ ledger: inout Ledger) async throws {
    let acked = max(words.acked, standing[0])
    let contents = [content] + (other.map { [$0.content] } ?? [])
    var finding = Finding()
    let found = try Checker(place: place, contents: contents).check(acked: acked, &finding)
    if found[0] > acked { ledger.took("a commit that nobody heard of") }
    ledger.count("mended at opening", finding.notes.count)
    // Who was cut off in the middle is no clone, and no backup that was restored.
    guard device == nil || device == finding.device else {
      throw TortureFailure("a crash gave the device another name")
    }
    device = finding.device
    if let other {
      guard found[1] >= standing[1] else {
        throw TortureFailure("lost what had come: \(standing[1]) commits, now \(found[1])")
      }
      try await other.look(content, atMost: found[0], &ledger)
    }
    standing = found
  }
}

/// A second device of an account, in this process.
final class OtherDevice {
  let content: Content
  private let datastore: Datastore
  private var seen = 0
  private var committed = 0

  init(root: String, seed: UInt64) throws {
    content = Content(writer: "b", seed: seed, payload: 300)
    var place = StorePlace(root: root + "/other")
    place.folder = root + "/folder"
    place.user = "b"
    datastore = try place.open()
  }

  func close() throws { try datastore.close() }

  deinit {
    // Nothing is left to be said to.
    try? datastore.close()
  }

  /// Commits, exchanges, and looks at what the first device published: never more than it has.
  func look(_ first: Content, atMost: Int, _ ledger: inout Ledger) async throws {
    committed += 1
    try content.apply(committed, to: datastore)
    try datastore.sync()
    try await datastore.exchange()
    try datastore.sync()
    let found = try first.check(datastore)
    guard found <= atMost else {
      throw TortureFailure("\(found) commits were published, their device has \(atMost)")
    }
    guard found >= seen else {
      throw TortureFailure("the other device had seen \(seen) commits, now \(found)")
    }
    ledger.count("commits seen by the other device", found - seen)
    seen = found
    guard try content.check(datastore) == committed else {
      throw TortureFailure("the other device lost its own")
    }
  }
}
