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
  @Option(help: "Seconds after which no new seed is begun.") var seconds: Double?

  func run() async throws {
    var ledger = Ledger("variants")
    ledger.expect(VariantOptions.all.map(\.name))
    let until = Deadline(seconds: seconds)
    let wanted = runs ?? (seconds == nil ? 200 : .max)
    var next = seed
    while ledger["runs"] < wanted, !until.isOver {
      var first: UInt64?
      for variant in VariantOptions.all {
        let digest: UInt64
        do {
          digest = try await VariantRun(variant, seed: next).digest(operations: operations)
        } catch { throw failure(next, variant, "\(error)") }
        if digest != first ?? digest { throw failure(next, variant, "another digest") }
        first = first ?? digest
        ledger.count("runs")
        ledger.count("operations", operations)
        ledger.took(variant.name)
      }
      ledger.count("seeds")
      next += 1
    }
    try ledger.close(rates: ["operations"])
  }

  private func failure(
    _ seed: UInt64, _ variant: VariantOptions, _ what: String
  ) -> TortureFailure {
    TortureFailure(
      "seed \(seed), \(variant.name): \(what)\n  again: cairn-torture variants --seed \(seed) "
        + "--runs 1 --operations \(operations)")
  }
}
