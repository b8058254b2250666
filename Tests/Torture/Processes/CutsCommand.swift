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
    let shim = try Shim(scratch: place.path)
    if shim == nil { RunOptions.skip("cuts of a writer whose syncs lie", "no gcc") }
    let random = SeededRandom(seed)
    for kind in kinds {
      guard let image = made[kind] else { continue }
      for control in CutLife.Control.allCases where shim != nil || control != .liedTo {
        try await self.control(control, image, shim, random, &ledger)
      }
      ledger.expect(LoopImage.Cut.allCases.map { "cut \($0.name) on \(kind)" })
    }
    let turns = options.turns(default: 700)
    // Rare ones need more cuts than a very short run has.
    if options.seconds.map({ $0 >= 40 }) ?? (turns.count >= 500) {
      ledger.expect(["cut between a commit and its sync"])
      ledger.expect(KilledLife.phases.map { "cut while \($0)" })
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

  /// A writer that does something wrong must be found out, by the check that all others pass: else
  /// the cuts cut nothing, or the check sees nothing.
  private func control(
    _ control: CutLife.Control, _ image: LoopImage, _ shim: Shim?, _ random: SeededRandom,
    _ ledger: inout Ledger
  ) async throws {
    let name = "\(control.name) lost on \(image.kind)"
    ledger.expect([name])
    for _ in 0..<40 where ledger[name] < 2 {
      let life = try CutLife(image: image, random: random, control: control, shim: shim)
      if try await life.loses() {
        ledger.count(name)
        ledger.took(name)
      }
      ledger.count("control cuts on \(image.kind)")
    }
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
  private let control: Control?
  private let shim: Shim?

  /// What a writer does wrong so that it must lose.
  enum Control: CaseIterable, Sendable {
    case neverSyncs, careless, liedTo

    var name: String {
      switch self {
      case .neverSyncs: "a writer that never syncs"
      case .careless: "a writer that acknowledges before it syncs"
      case .liedTo: "a writer whose syncs lie"
      }
    }
  }

  init(
    image: LoopImage, random: SeededRandom, control: Control? = nil, shim: Shim? = nil
  ) throws {
    self.control = control
    self.shim = shim
    self.image = image
    self.random = random
    name = "life\(Unique.next())"
    var place = StorePlace(root: image.mountPoint + "/" + name)
    if control == .neverSyncs { place.durability = .none }
    content = Content(
      writer: "a", seed: random.next(), payload: [0, 100, 1500, 20_000][random.below(4)])
    arguments = ["write"]
    // A shim would lie about these writes, too.
    if control == nil { arguments += ["--phases", image.scratch + "/\(name).phases"] }
    if control == .careless { arguments.append("--careless") }
    // The folder is on another disk, which keeps its power: what it has, the device must have.
    let isLinked = control == nil && random.coin()
    if isLinked {
      place.folder = image.scratch + "/" + name + "/folder"
      // Here what was acknowledged may be lost, but never what was published.
      if random.below(3) == 0 { place.durability = .periodic(seconds: 0.1) }
    }
    self.place = place
    arguments += PlaceOptions.arguments(place, content)
    if control == nil, random.coin() {
      arguments += random.coin() ? ["--compacting"] : ["--compact-every", "\(2 + random.below(9))"]
    }
    if isLinked {
      arguments += ["--exchange-every", "\(1 + random.below(6))"]
      other = try OtherDevice(root: image.scratch + "/" + name, seed: random.next())
    }
  }

  func run(_ turns: Turns, _ ledger: inout Ledger) async throws {
    for cycle in 0..<(5 + random.below(20)) {
      guard turns.take() != nil else { break }
      do { try await self.cycle(&ledger) } catch {
        throw TortureFailure(
          "cut \(cycle) on \(image.kind): \(error); the writer was "
            + arguments.joined(separator: " "))
      }
    }
    try Checker(place: place, contents: [content]).checkFiles()
    try remove()
  }

  private func remove() throws {
    try TextFile.removeTree(place.root)
    try other?.close()
    try TextFile.removeTree(image.scratch + "/" + name)
  }

  /// One cut of a control: whether the check finds that what it acknowledged is gone.
  func loses() async throws -> Bool {
    let words = try cut(.atOnce, early: false)
    defer { try? remove() }
    guard words.acked > 0 else { throw TortureFailure("a control that acknowledged nothing") }
    var ledger = Ledger("cuts")
    do { try await check(words, isFull: true, &ledger) } catch is CairnError {
      // Half of its files are there: lost, and said.
      return true
    } catch let error as TortureFailure {
      let known = ["lost: ", "damaged: ", "the datastore is gone"]
      guard known.contains(where: { error.description.hasPrefix($0) }) else { throw error }
      return true
    }
    return false
  }

  private func cycle(_ ledger: inout Ledger) async throws {
    let kind = LoopImage.Cut.allCases[random.below(LoopImage.Cut.allCases.count)]
    let words = try cut(kind, early: random.below(5) == 0)
    ledger.count("cuts on \(image.kind)")
    ledger.count("acked commits", words.acks.count)
    ledger.took("cut \(kind.name) on \(image.kind)")
    let phases = PhaseFile.read(phaseFile)
    if let phase = phases.first { ledger.took("cut while \(phase)") }
    // Of the other thread, which does nothing else.
    if phases.count > 1, phases[1] == .compacting { ledger.took("cut while compacting") }
    try await check(words, isFull: place.durability == .full, &ledger)
  }

  private var phaseFile: String { image.scratch + "/\(name).phases" }

  /// Lets a writer work, cuts its power, and gives it back.
  private func cut(_ kind: LoopImage.Cut, early isEarly: Bool) throws -> Words {
    try PhaseFile.reset(phaseFile)
    let tally = image.scratch + "/\(name).tally"
    let environment =
      control == .liedTo ? try shim?.environment("nosync", tally: tally) ?? [] : []
    let child = try Child(
      Child.own, arguments, output: image.scratch + "/\(name).said", environment: environment)
    if isEarly {
      try child.wait(until: "its opening") { PhaseFile.read(phaseFile).first != .starting }
      usleep(UInt32(random.below(8_000)))
    } else {
      try child.wait(until: "a commit") { child.text.contains("acked") }
      usleep(UInt32(random.below(25_000)))
    }
    // First it is stopped: one that outlives the cut may still be told that a sync was done.
    guard child.stop() else {
      throw TortureFailure("the writer ended by itself: \(child.errors)")
    }
    try image.cut(kind)
    try child.kill()
    if !environment.isEmpty, try Shim.Tally(tally)[.unsynced] == 0 {
      throw TortureFailure("the shim let all syncs pass")
    }
    try image.mountAgain()
    return Words(child.text)
  }

  private func check(_ words: Words, isFull: Bool, _ ledger: inout Ledger) async throws {
    let acked = isFull ? max(words.acked, standing[0]) : standing[0]
    let contents = [content] + (other.map { [$0.content] } ?? [])
    var finding = Finding()
    let found = try Checker(place: place, contents: contents).check(
      acked: acked, atMost: max(words.acked, standing[0]) + 1, &finding)
    ledger.count("mended at opening", finding.notes.count)
    if other != nil, !isFull, found[0] < words.acked {
      ledger.took("cut between a commit and its sync")
    }
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
