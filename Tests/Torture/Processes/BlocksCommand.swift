import ArgumentParser
import Cairn
import TestSupport

/// What a disk may hold when the power goes between two flushes, and disks that fail under a real
/// file system.
struct BlocksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blocks",
    abstract: "Crash images from logs of block writes, and I/O errors under a real ext4.")

  @OptionGroup var options: RunOptions
  @Option(name: .long, help: "How many images of each log.") var images = 60

  func run() async throws {
    let seed = options.begin("blocks")
    let missing = Command.missing(BlockDisk.needed)
    guard Command.isRoot, missing.isEmpty else {
      let reason = Command.isRoot ? "no \(missing.joined(separator: ", "))" : "not root"
      return RunOptions.skip("logs of block writes", reason)
    }
    var ledger = Ledger("blocks")
    ledger.expect(BlockLog.Fate.allCases.map(\.rawValue))
    ledger.expect([
      "disk that failed", "disk that failed once", "sync that lied", "a store that trusts no sync",
      "a careless writer that lost",
    ])
    let place = try Workplace(options.directory)
    try await FailingDisk(random: SeededRandom(seed)).run(place, &ledger)
    try await control(place.path, SeededRandom(seed), &ledger)
    let turns = options.turns(default: 300)
    let each = images
    try await options.lanes(&ledger, turns) { lane in
      var ledger = Ledger("blocks")
      let random = SeededRandom(seed &+ UInt64(lane) &* 0x9E37_79B9)
      while turns.isOpen {
        var log = try BlockLog(place.path, random)
        try await log.replay(each, turns, &ledger)
      }
      return ledger
    }
    try ledger.close(rates: ["images"])
  }

  /// A writer that acknowledges before it syncs must be found out, by the check that all others
  /// pass: else the images lack nothing, or the check sees nothing.
  private func control(
    _ directory: String, _ random: SeededRandom, _ ledger: inout Ledger
  ) async throws {
    for _ in 0..<4 where ledger["control logs that lost"] == 0 {
      var log = try BlockLog(directory, random, isCareless: true)
      var found = Ledger("blocks")
      do {
        try await log.replay(60, Turns(count: 60, until: nil), &found)
      } catch let error as TortureFailure {
        guard error.description.contains(": lost: ") else { throw error }
        ledger.count("control logs that lost")
        ledger.took("a careless writer that lost")
      }
      ledger.count("control images", found["images"])
    }
  }
}

/// The log of block writes below one writer's life, and the images that a power cut might leave.
struct BlockLog {
  private let random: SeededRandom
  private let place: StorePlace
  private let content: Content
  private let base: [UInt8]
  private let log: [BlockServer.Entry]
  private let words: Words
  private let isLinked: Bool
  private let image: String
  private let directory: String

  /// What becomes of the writes that no flush covers.
  enum Fate: String, CaseIterable, Sendable {
    case all = "all of the writes"
    case none = "none of the writes"
    case subset = "a subset of the writes"
    case torn = "torn sectors"
  }

  /// Runs a writer for a while.
  init(_ directory: String, _ random: SeededRandom, isCareless: Bool = false) throws {
    self.random = random
    let disk = try BlockDisk(directory)
    isLinked = random.coin()
    var place = StorePlace(root: disk.mountPoint + "/store/device")
    // The folder is on the same disk: it, too, must be true whenever the power goes.
    if isLinked { place.folder = disk.mountPoint + "/store/folder" }
    content = Content(writer: "a", seed: random.next(), payload: [100, 1500, 9000][random.below(3)])
    base = disk.server.beginLog()
    var arguments = ["write"] + PlaceOptions.arguments(place, content)
    arguments += ["--times", "--commits", "150", "--compact-every", "\(5 + random.below(20))"]
    if isLinked { arguments += ["--exchange-every", "\(3 + random.below(6))"] }
    if isCareless { arguments.append("--careless") }
    let child = try Child(Child.own, arguments, output: disk.scratch + "/said")
    let ending = try child.wait()
    guard ending == .exited(0) else {
      throw TortureFailure("the writer ended with \(ending): \(child.errors)")
    }
    words = Words(child.text)
    log = disk.server.log
    try disk.unmount()
    try disk.remove()
    self.directory = "\(directory)/replay\(Unique.next())"
    image = self.directory + "/image"
    try TextFile.makeDirectory(self.directory + "/mount")
    place.root = self.directory + "/mount/store/device"
    if isLinked { place.folder = self.directory + "/mount/store/folder" }
    self.place = place
  }

  mutating func replay(
    _ count: Int, _ turns: Turns, _ ledger: inout Ledger
  ) async throws {
    ledger.count("block writes logged", log.count { if case .write = $0 { true } else { false } })
    ledger.count("flushes logged", log.count { if case .flush = $0 { true } else { false } })
    try TextFile.write(image, base)
    let loop = try Loop(image, scratch: directory)
    defer { loop.detach() }
    // The disk at the last flush, moved on from one image to the next.
    var disk = base
    var flushed = 0
    for end in (0..<count).map({ _ in random.below(log.count + 1) }).sorted() {
      guard turns.take() != nil else { break }
      let last = log[..<end].lastIndex { if case .flush = $0 { true } else { false } } ?? 0
      if last > flushed {
        for entry in log[flushed..<last] { apply(entry, to: &disk) }
        flushed = last
      }
      var cut = disk
      scatter(flushed..<end, into: &cut, &ledger)
      try TextFile.write(image, cut)
      let acked = words.acks.last { $0.time < (end > 0 ? log[end - 1].time : 0) }?.n ?? 0
      do { try await check(loop, acked: acked, &ledger) } catch {
        throw TortureFailure(
          "image after \(end) of \(log.count) block writes and flushes, the last flush at "
            + "\(flushed): \(error)")
      }
      ledger.count("images")
    }
    try TextFile.removeTree(directory)
  }

  private func apply(_ entry: BlockServer.Entry, to disk: inout [UInt8]) {
    guard case .write(let offset, let bytes, _) = entry else { return }
    disk.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
  }

  /// Of what no flush covered some is there, whole or in sectors.
  private func scatter(
    _ range: Range<Int>, into disk: inout [UInt8], _ ledger: inout Ledger
  ) {
    var (whole, lost, torn) = (0, 0, 0)
    let fate = Fate.allCases[random.below(Fate.allCases.count)]
    for entry in log[range] {
      guard case .write(let offset, let bytes, _) = entry else { continue }
      switch fate {
      case .all, .none, .subset:
        guard fate == .all || fate == .subset && random.coin() else {
          lost += 1
          continue
        }
        whole += 1
        apply(entry, to: &disk)
      case .torn:
        var kept = 0
        let sectors = stride(from: 0, to: bytes.count, by: 512)
        for sector in sectors where random.coin() {
          kept += 1
          let end = min(sector + 512, bytes.count)
          disk.replaceSubrange((offset + sector)..<(offset + end), with: bytes[sector..<end])
        }
        let count = (bytes.count + 511) / 512
        if kept == count { whole += 1 } else if kept == 0 { lost += 1 } else { torn += 1 }
      }
    }
    // It counts as what it came to.
    if whole + lost + torn == 0 {
      ledger.count("images without a write after the flush")
    } else if torn > 0 {
      ledger.took(Fate.torn.rawValue)
    } else {
      ledger.took((lost == 0 ? Fate.all : whole == 0 ? .none : .subset).rawValue)
    }
  }

  private func check(_ loop: Loop, acked: Int, _ ledger: inout Ledger) async throws {
    let mountPoint = directory + "/mount"
    try loop.mount("ext4", at: mountPoint)
    var finding = Finding()
    let standing = try Checker(place: place, contents: [content]).check(
      acked: acked, atMost: max(acked + 1, words.acked), &finding)[0]
    ledger.count("mended at opening", finding.notes.count)
    if standing > acked { ledger.count("commits that nobody heard of") }
    if isLinked {
      var reader = place
      reader.root = mountPoint + "/store/reader"
      reader.user = "c"
      let datastore = try reader.open()
      try await datastore.exchange()
      try datastore.sync()
      let found = try content.check(datastore)
      try datastore.close()
      guard found <= standing else {
        throw TortureFailure("the folder has \(found) commits, their device \(standing)")
      }
    }
    try Loop.unmount(mountPoint)
  }
}
