import ArgumentParser
import CairnFuzzEntries
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Every bit of every kind of file, and coarser damage, against the readers of those files; then a
/// part of it against whole datastores.
struct FlipsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flips",
    abstract: "Flips every bit of every kind of file, cuts, swaps and garbles them.")

  @Option(help: "Everything random comes from it.")
  var seed: UInt64 = 1

  @Option(help: "Whole datastores that are opened with one file spoilt.")
  var opens = 6_000

  @Option(help: "MiB of one more datastore, of which one bit of each byte is flipped.")
  var store = 0

  @Option(help: "Only files whose path contains this.")
  var only: String?

  /// Twice what the largest file and its parts take; far above what any of them may allocate.
  private static let memoryMax = 512

  func run() async throws {
    var ledger = Ledger("flips")
    print("flips: seed \(seed)")
    Culprit.install()
    let world = try await SampleWorld.make(seed: seed)
    var all: [SpoiltFile] = []
    for path in world.disk.paths() {
      guard let kind = SampleWorld.kind(path), let bytes = world.disk.bytes(path) else { continue }
      all.append(try SpoiltFile(path, kind, bytes))
    }
    let files = all.filter { only.map($0.path.contains) ?? true }
    if only == nil {
      ledger.expect(FileKind.allCases.map { "in a \($0.rawValue) file" })
      ledger.expect(Mutation.names + ["file of another place", "file of another world"])
    }
    ledger.count("files", files.count)
    ledger.count("bytes", files.reduce(0) { $0 + $1.whole.count })
    for file in files {
      Culprit.begin(file.path)
      try flip(file, &ledger)
      try spoil(file, &ledger)
    }
    if store > 0 { try flipStore(&ledger) }
    let chosen = Set(files.map(\.path))
    try await WorldOpening(world: world, files: all, chosen: chosen, opens: opens, seed: seed)
      .run(&ledger)
    Culprit.end()
    try close(ledger)
  }

  /// Every bit, one after the other, in place.
  private func flip(_ file: SpoiltFile, _ ledger: inout Ledger) throws {
    var bytes = file.whole
    var outcomes: [SpoiltFile.Outcome: Int] = [:]
    var harmless: [Int] = []
    for place in bytes.indices {
      if place & 0xFFF == 0 { Culprit.progress() }
      for bit in 0..<8 {
        let outcome = try flip(place, bit, in: &bytes, file)
        outcomes[outcome, default: 0] += 1
        if outcome == .same { harmless.append(place << 3 | bit) }
      }
    }
    ledger.count("flips", bytes.count * 8)
    ledger.took("flip", bytes.count * 8)
    ledger.took("in a \(file.kind.rawValue) file", bytes.count * 8)
    for outcome in SpoiltFile.Outcome.allCases {
      ledger.count("flips \(outcome.rawValue)", outcomes[outcome] ?? 0)
    }
    if !harmless.isEmpty {
      let places = Set(harmless.map { $0 >> 3 }).sorted()
      print("flips: \(file.path): \(harmless.count) bits change nothing, in bytes \(spans(places))")
    }
  }

  /// One bit, which is as it was afterwards.
  private func flip(
    _ place: Int, _ bit: Int, in bytes: inout [UInt8], _ file: SpoiltFile
  ) throws -> SpoiltFile.Outcome {
    let mutation = Mutation.flip(place << 3 | bit)
    Culprit.note(mutation)
    bytes[place] ^= 1 << UInt8(bit)
    let outcome = try read(file, bytes, mutation)
    bytes[place] ^= 1 << UInt8(bit)
    guard outcome != .same || file.isUncovered(place) else {
      throw TortureFailure("\(file.path): byte \(place) bit \(bit): nothing covers it")
    }
    return outcome
  }

  /// One bit of each byte of a store that is much larger than the sample.
  private func flipStore(_ ledger: inout Ledger) throws {
    var outcomes: [SpoiltFile.Outcome: Int] = [:]
    let large = try LargeStore(bytes: store << 20, seed: seed)
    let random = SeededRandom(seed)
    for (path, kind, whole) in large.files() where only.map(path.contains) ?? true {
      Culprit.begin(path)
      let file = try SpoiltFile(path, kind, whole)
      var bytes = whole
      for place in bytes.indices {
        if place & 0xFFF == 0 { Culprit.progress() }
        outcomes[try flip(place, random.below(8), in: &bytes, file), default: 0] += 1
      }
      ledger.count("store files")
      ledger.count("store flips", bytes.count)
    }
    for outcome in SpoiltFile.Outcome.allCases {
      ledger.count("store flips \(outcome.rawValue)", outcomes[outcome] ?? 0)
    }
    guard only != nil || ledger["store flips"] >= store << 20 else {
      throw TortureFailure("the store is smaller than \(store) MiB")
    }
  }

  private func spoil(_ file: SpoiltFile, _ ledger: inout Ledger) throws {
    let mutations = Mutation.others(file.whole, frames: file.frameRanges)
    for (index, mutation) in mutations.enumerated() {
      if index & 0x3FFF == 0 { Culprit.progress() }
      let bytes = mutation.applied(file.whole)
      if bytes == file.whole { continue }
      Culprit.note(mutation)
      let outcome = try read(file, bytes, mutation)
      ledger.count("other damage")
      ledger.count("other damage \(outcome.rawValue)")
      ledger.took(mutation.name)
    }
  }

  private func read(
    _ file: SpoiltFile, _ bytes: [UInt8], _ mutation: Mutation
  ) throws(TortureFailure) -> SpoiltFile.Outcome {
    do { return try file.outcome(bytes) } catch {
      let again = "flips --seed \(seed)" + (store > 0 ? " --store \(store)" : "")
      throw TortureFailure(
        "\(file.path): \(mutation): \(error); again with: \(again) --only \(file.path)")
    }
  }

  private func spans(_ places: [Int]) -> String {
    var spans: [ClosedRange<Int>] = []
    for place in places {
      if let last = spans.last, last.upperBound + 1 == place {
        spans[spans.count - 1] = last.lowerBound...place
      } else {
        spans.append(place...place)
      }
    }
    return spans.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
      .joined(separator: " ")
  }

  private func close(_ ledger: Ledger) throws(TortureFailure) {
    var ledger = ledger
    var usage = rusage()
    #if canImport(Darwin)
      unsafe getrusage(RUSAGE_SELF, &usage)
    #else
      unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #endif
    let memory = usage.ru_maxrss / 1024
    ledger.count("memory MiB", memory)
    try ledger.close(rates: ["flips", "store flips"])
    guard memory <= FlipsCommand.memoryMax else {
      throw TortureFailure("\(memory) MiB were in use at once")
    }
    guard only != nil || ledger["bytes"] >= 256 << 10 && ledger["flips"] >= 2_000_000 else {
      throw TortureFailure("the sample has become too small")
    }
  }
}
