import ArgumentParser
import TestSupport

/// The same operations in many ways.
struct VariantsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "variants",
    abstract: "The same operations under many sets of options: all must come to the same.")

  @Option(help: "The first seed.") var seed: UInt64 = 1
  @Option(help: "How many runs, each a seed in one way.") var runs = 200
  @Option(help: "Operations of a run.") var operations = 5000
  @Option(help: "How many seconds at most.") var seconds: Double = 600

  func run() async throws {
    var ledger = Ledger("variants")
    ledger.expect(VariantOptions.all.map(\.name))
    let start = ContinuousClock.now
    var next = seed
    while ledger["runs"] < runs, ContinuousClock.now - start < .seconds(seconds) {
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
