import ArgumentParser
import CairnDisk

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An error at every call of the disk in every scenario.
struct Errors: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "errors",
    abstract: "Fails each call of the disk in turn, and goes on until all is done.")

  @Option(help: "What everything random comes from.")
  var seed: UInt64 = 1

  @Option(help: "One in so many calls of the longer scenarios.")
  var stride = 1

  @ArgumentParser.Flag(help: "All calls of all scenarios, in many variants.")
  var long = false

  @Option(help: "Only the scenario of this name.")
  var only: String?

  func run() async throws {
    print("errors: seed \(seed)")
    var ledger = Ledger("errors")
    let names = Errors.faults.map(\.name)
    // Steps in the folder fail in all those ways, too, and so does what a power cut has left.
    let ways = names + names.map { "folder: " + $0 } + names.map { "in a recovery: " + $0 }
    if only == nil { ledger.expect(ways + Site.expected + Site.expectedReads) }
    let search = try await sites(ledger)
    ledger = try await recoveries(search.ledger)
    ledger.count("sites", search.sites)
    try ledger.close(rates: ["sites"])
    try Site.checkListed(search.hit, Site.expected + Site.rare + Site.expectedReads)
  }

  // In small functions: the compiler can't split one that has all of this.
  private func sites(_ ledger: Ledger) async throws -> FaultSearch {
    var search = FaultSearch(ledger, seed: seed)
    for variant in 0..<UInt64(long ? 40 : 1) {
      for scenario in Scenarios.store where only ?? scenario.name == scenario.name {
        try await fail(scenario, variant, &search)
      }
      for scenario in Scenarios.shared where only ?? scenario.name == scenario.name {
        try await fail(scenario, variant, &search)
      }
    }
    return search
  }

  private func fail(
    _ scenario: StoreScenario, _ variant: UInt64, _ search: inout FaultSearch
  ) async throws {
    try await search.search(scenario, faults: Errors.faults, variant: variant, stride: stride)
  }

  private func fail(
    _ scenario: SharedScenario, _ variant: UInt64, _ search: inout FaultSearch
  ) async throws {
    let stride = long ? 1 : stride * scenario.weight
    try await search.search(scenario, faults: Errors.faults, variant: variant, stride: stride)
  }

  private func recoveries(_ ledger: Ledger) async throws -> Ledger {
    var search = RecoveryFaults(ledger, seed: seed, faults: Errors.faults)
    let every = (long ? 1 : 9) * stride
    for scenario in Scenarios.store where only ?? scenario.name == scenario.name {
      try await search.search(scenario, variant: 0, every: every)
    }
    for scenario in Scenarios.shared where only ?? scenario.name == scenario.name {
      try await search.search(scenario, variant: 0, every: every * scenario.weight)
    }
    var result = search.ledger
    result.count("sites in recoveries", search.sites)
    return result
  }

  static let faults: [FaultSearch.Fault] = [
    FaultSearch.Fault(name: "EIO", reason: DiskError.Reason(errno: EIO)),
    FaultSearch.Fault(name: "ENOSPC", reason: DiskError.Reason(errno: ENOSPC)),
    FaultSearch.Fault(name: "EDQUOT", reason: DiskError.Reason(errno: EDQUOT)),
    FaultSearch.Fault(name: "EMFILE", reason: DiskError.Reason(errno: EMFILE), isForCreating: true),
    FaultSearch.Fault(name: "EACCES", reason: DiskError.Reason(errno: EACCES)),
    FaultSearch.Fault(name: "EROFS", reason: DiskError.Reason(errno: EROFS)),
    FaultSearch.Fault(name: "EINTR", reason: DiskError.Reason(errno: EINTR)),
  ]
}
