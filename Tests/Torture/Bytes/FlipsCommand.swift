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

  @Option(help: "Only files whose path contains this.")
  var only: String?

  /// Twice what the largest file and its parts take; far above what any of them may allocate.
  private static let memoryMax = 512

  func run() async throws {
    var ledger = Ledger("flips")
    print("flips: seed \(seed)")
    Culprit.install()
    let world = try await SampleWorld.make(seed: seed)
    let paths = world.disk.paths().filter { only.map($0.contains) ?? true }
    var files: [SpoiltFile] = []
    for path in paths {
      guard let kind = SampleWorld.kind(path), let bytes = world.disk.bytes(path) else { continue }
      files.append(try SpoiltFile(path, kind, bytes))
    }
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
    try await WorldOpening(world: world, files: files, opens: opens, seed: seed).run(&ledger)
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
        Culprit.note(.flip(place << 3 | bit))
        bytes[place] ^= 1 << UInt8(bit)
        let outcome = try read(file, bytes, .flip(place << 3 | bit))
        bytes[place] ^= 1 << UInt8(bit)
        outcomes[outcome, default: 0] += 1
        if outcome != .same { continue }
        guard file.isUncovered(place) else {
          throw TortureFailure("\(file.path): byte \(place) bit \(bit): nothing covers it")
        }
        harmless.append(place << 3 | bit)
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
      throw TortureFailure(
        "\(file.path): \(mutation): \(error); again with: flips --seed \(seed) --only \(file.path)")
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
    try ledger.close(rates: ["flips"])
    guard memory <= FlipsCommand.memoryMax else {
      throw TortureFailure("\(memory) MiB were in use at once")
    }
    guard only != nil || ledger["bytes"] >= 256 << 10 && ledger["flips"] >= 2_000_000 else {
      throw TortureFailure("the sample has become too small")
    }
  }
}
