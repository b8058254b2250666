import ArgumentParser
import TestSupport

/// The same operations in many ways.
struct VariantsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "variants",
    abstract: "The same operations under many sets of options: all must come to the same.")

  @Option(help: "The first seed.") var seed: UInt64 = 1
  @Option(help: "How many runs, each a seed in one way (default: 200, or what the time allows).")
  var runs: Int?
  @Option(help: "Operations of a run.") var operations = 5000
  @Option(help: "How many seconds at most (default: 600); runs that are asked for have to fit.")
  var seconds: Double?

  func run() async throws {
    print("variants: seed \(seed)")
    let wanted = runs ?? (seconds == nil ? 200 : 1)
    guard operations > 0, wanted > 0, VariantOptions.neverVaried.isEmpty else {
      throw TortureFailure(
        "nothing to do, or options that no variant varies: \(VariantOptions.neverVaried)")
    }
    var ledger = Ledger("variants")
    ledger.expect(VariantOptions.all.map(\.name))
    let (start, limit) = (ContinuousClock.now, Duration.seconds(seconds ?? 600))
    var next = seed
    let isOpen = runs == nil && seconds != nil
    while isOpen || ledger["runs"] < wanted, ContinuousClock.now - start < limit {
      try await run(next, &ledger)
      next += 1
    }
    ledger.count("option sets", VariantOptions.all.count)
    try ledger.close(rates: ["operations"])
    guard ledger["runs"] >= wanted, ledger["operations"] == ledger["runs"] * operations else {
      throw TortureFailure(
        "\(ledger["runs"]) runs of \(ledger["operations"]) operations together were made, of "
          + "\(wanted) with \(operations) each: the time was over")
    }
  }

  /// One seed in all ways. The first of them is the plain one.
  private func run(_ seed: UInt64, _ ledger: inout Ledger) async throws {
    var first: (digest: UInt64, effects: VariantEffects)?
    for variant in VariantOptions.all {
      let run: VariantRun
      let digest: UInt64
      do {
        run = try VariantRun(variant, seed: seed)
        digest = try await run.digest(operations: operations)
      } catch { throw failure(seed, variant, "\(error)") }
      let plain = first ?? (digest, run.effects)
      if digest != plain.digest { throw failure(seed, variant, "another digest") }
      first = plain
      ledger.count("runs")
      ledger.count("operations", run.effects.operations)
      // Short runs come to less than it takes to see it.
      guard operations < 5000 || variant.hasShown(run.effects, plain.effects) else {
        throw failure(seed, variant, "it made no difference: \(run.effects)")
      }
      ledger.took(variant.name)
    }
    ledger.count("seeds")
  }

  private func failure(
    _ seed: UInt64, _ variant: VariantOptions, _ what: String
  ) -> TortureFailure {
    TortureFailure(
      "seed \(seed), \(variant.name): \(what)\n  again: cairn-torture variants --seed \(seed) "
        + "--runs 1 --operations \(operations)")
  }
}
