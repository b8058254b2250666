import ArgumentParser
import Cairn
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Power cuts on real file systems: the file system is shut down under a writer, so that nothing
/// more reaches its image, and mounted again.
struct CutsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cuts", abstract: "Power cuts on real ext4 and XFS, by the shutdown ioctl.")

  @OptionGroup var options: RunOptions
  @Option(name: .long, help: "ext4, xfs or all.") var kind = "all"

  func run() async throws {
    let seed = options.begin("cuts")
    guard Command.isRoot, Command.missing(["losetup"]).isEmpty else {
      return RunOptions.skip("power cuts", "not root, or no losetup")
    }
    var ledger = Ledger("cuts")
    let place = try Workplace(options.directory)
    var kinds = kind == "all" ? ["ext4", "xfs"] : [kind]
    for kind in kinds where !Command.isThere("mkfs.\(kind)") {
      RunOptions.skip("power cuts on \(kind)", "no mkfs.\(kind)")
      kinds.removeAll { $0 == kind }
    }
    var images: [String: LoopImage] = [:]
    for kind in kinds {
      do { images[kind] = try LoopImage(kind, place.path) } catch {
        RunOptions.skip("power cuts on \(kind)", "\(error)")
        kinds.removeAll { $0 == kind }
      }
    }
    if kinds.isEmpty { return }
    let made = images
    let random = SeededRandom(seed)
    for kind in kinds {
      if let image = made[kind] { try await control(image, random, &ledger) }
    }
    ledger.expect(["cut while it committed", "cut with an exchange", "a control that lost"])
    let turns = options.turns(default: 700)
    // A few of a hundred: too few to be sure of one in a short run.
    if options.seconds.map({ $0 >= 40 }) ?? (turns.count >= 500) {
      ledger.expect(["cut between a commit and its sync"])
    }
    // One lane for each file system: they are as fast as they are.
    var both = options
    both.jobs = kinds.count
    let lanes = kinds
    try await both.lanes(&ledger, turns) { lane in
      var ledger = Ledger("cuts")
      guard let image = made[lanes[lane]] else { return ledger }
      let random = SeededRandom(seed &+ UInt64(lane) + 1)
      while turns.isOpen {
        try await CutLife(image: image, random: random).run(turns, &ledger)
      }
      return ledger
    }
    for image in made.values { try image.remove() }
    try ledger.close(rates: lanes.map { "cuts on \($0)" } + ["acked commits"])
  }

  /// A writer that does not sync must lose something: else the cuts cut nothing.
  private func control(
    _ image: LoopImage, _ random: SeededRandom, _ ledger: inout Ledger
  ) async throws {
    var lost = 0
    for _ in 0..<12 {
      let life = try CutLife(image: image, random: random, durability: .none)
      let before = ledger["control cuts that lost"]
      try await life.run(Turns(count: 1, until: nil), &ledger)
      lost += ledger["control cuts that lost"] - before
    }
    guard lost > 0 else {
      throw TortureFailure("12 cuts of a writer that never syncs lost nothing: they cut nothing")
    }
    ledger.took("a control that lost", lost)
  }
}

/// A datastore on an image, whose power goes again and again.
final class CutLife {
  private let image: LoopImage
  private let random: SeededRandom
  private let place: StorePlace
  private let content: Content
  private let name: String
  private var other: OtherDevice?
  private var arguments: [String]
  private var standing = [0, 0]
  private var device: String?

  /// Without durability it is a control, which may lose what it likes.
  init(
    image: LoopImage, random: SeededRandom, durability: Options.Durability = .full
  ) throws {
    self.image = image
    self.random = random
    name = "life\(Unique.next())"
    var place = StorePlace(root: image.mountPoint + "/" + name)
    place.durability = durability
    content = Content(
      writer: "a", seed: random.next(), payload: [0, 100, 1500, 20_000][random.below(4)])
    arguments = ["write"]
    // The folder is on another disk, which keeps its power: what it has, the device must have.
    let isLinked = durability == .full && random.coin()
    if isLinked {
      place.folder = image.scratch + "/" + name + "/folder"
      // Here what was acknowledged may be lost, but never what was published.
      if random.below(3) == 0 { place.durability = .periodic(seconds: 0.1) }
    }
    self.place = place
    arguments += PlaceOptions.arguments(place, content)
    if durability == .full, random.coin() {
      arguments += random.coin() ? ["--compacting"] : ["--compact-every", "\(2 + random.below(9))"]
    }
    if isLinked {
      arguments += ["--exchange-every", "\(1 + random.below(6))"]
      other = try OtherDevice(root: image.scratch + "/" + name, seed: random.next())
    }
  }

  private var isControl: Bool { place.durability == .none }

  func run(_ turns: Turns, _ ledger: inout Ledger) async throws {
    for cycle in 0..<(5 + random.below(20)) {
      guard turns.take() != nil else { break }
      do { try await self.cycle(&ledger) } catch {
        throw TortureFailure(
          "cut \(cycle) on \(image.kind): \(error); the writer was "
            + arguments.joined(separator: " "))
      }
    }
    if !isControl { try Checker(place: place, contents: [content]).checkFiles() }
    try TextFile.removeTree(place.root)
    try other?.close()
    try TextFile.removeTree(image.scratch + "/" + name)
  }

  private func cycle(_ ledger: inout Ledger) async throws {
    let child = try Child(
      Child.own, arguments, output: image.scratch + "/\(name).said")
    let isEarly = !isControl && random.below(5) == 0
    if !isEarly { while !child.hasEnded, !child.text.contains("acked") { sleepBriefly() } }
    usleep(UInt32(random.below(25_000)))
    // First it is stopped: one that outlives the cut may still be told that a sync was done.
    guard child.stop() else {
      throw TortureFailure("the writer ended by itself: \(child.errors)")
    }
    try image.cut()
    child.kill()
    let words = Words(child.text)
    try image.mountAgain()
    if isControl {
      ledger.count("control cuts on \(image.kind)")
      if try lost(words) { ledger.count("control cuts that lost") }
      return
    }
    ledger.count("cuts on \(image.kind)")
    ledger.count("acked commits", words.acks.count)
    ledger.took(words.opened == nil ? "cut before it opened" : "cut while it committed")
    if other != nil, words.opened != nil {
      ledger.took("cut with an exchange")
      if place.durability != .full { ledger.took("cut between a commit and its sync") }
    }
    try await check(words, &ledger)
  }

  /// What is there is still some moment of the past, whole.
  private func lost(_ words: Words) throws -> Bool {
    do {
      var finding = Finding()
      try Checker(place: place, contents: [content]).verify(&finding)
      let datastore = try place.open()
      defer { try? datastore.close() }
      return try content.check(datastore) < words.acked
    } catch is CairnError {
      // Half of its files are there: lost, and said.
      return true
    } catch let error as TortureFailure {
      guard error.description.hasPrefix("damaged: ") else { throw error }
      return true
    }
  }

  private func check(_ words: Words, _ ledger: inout Ledger) async throws {
    let isFull = place.durability == .full
    let acked = isFull ? max(words.acked, standing[0]) : standing[0]
    let contents = [content] + (other.map { [$0.content] } ?? [])
    var finding = Finding()
    let found = try Checker(place: place, contents: contents).check(
      acked: acked, atMost: max(words.acked, standing[0]) + 1, &finding)
    ledger.count("mended at opening", finding.notes.count)
    if found[0] > acked { ledger.count("commits that nobody heard of") }
    // Who was cut off in the middle is no clone, and no backup that was restored.
    guard device == nil || device == finding.device else {
      throw TortureFailure("a crash gave the device another name")
    }
    device = finding.device
    if let other {
      // What came is in the log, too, and as durable as that.
      guard found[1] >= standing[1] else {
        throw TortureFailure("lost what had come: \(standing[1]) commits, now \(found[1])")
      }
      try await other.look(content, atMost: found[0], &ledger)
    }
    standing = found
  }
}
