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

  @Option(help: "Seconds after which nothing new is begun, instead of a number.")
  var seconds: Double?

  @ArgumentParser.Flag(help: "All calls of all scenarios, in many variants.")
  var long = false

  @Option(help: "Only the scenario of this name.")
  var only: String?

  func run() async throws {
    print("errors: seed \(seed)")
    var ledger = Ledger("errors")
    let names = Errors.faults.map(\.name)
    ledger.expect(names)
    if only == nil { ledger.expect(names.map { $0 + " in the folder" }) }
    var search = FaultSearch(Ledger("errors"), seed: seed)
    var recoveries = RecoveryFaults(Ledger("errors"), seed: seed, faults: Errors.faults)
    let until = Deadline(seconds: seconds)
    do {
      for variant in 0..<UInt64(long ? 40 : seconds == nil ? 1 : 10_000) where !until.isOver {
        try await run(&search, &recoveries, variant, until)
      }
    } catch {
      print("errors: after \(search.sites) sites, \(recoveries.sites) in recoveries")
      throw error
    }
    ledger.merge(search.ledger)
    ledger.merge(recoveries.ledger)
    ledger.count("sites", search.sites)
    ledger.count("sites in the folder", search.folderSites)
    ledger.count("sites in recoveries", recoveries.sites)
    try ledger.close(rates: ["sites", "sites in the folder", "sites in recoveries"])
  }

  /// All scenarios once, and what a power cut leaves of each.
  private func run(
    _ search: inout FaultSearch, _ recoveries: inout RecoveryFaults, _ variant: UInt64,
    _ until: Deadline
  ) async throws {
    let faults = Errors.faults
    let every = (long ? 1 : 9) * stride
    for scenario in Scenarios.store where only ?? scenario.name == scenario.name {
      if until.isOver { return }
      try await search.search(scenario, faults: faults, variant: variant, stride: stride)
      try await recoveries.search(scenario, variant: variant, every: every)
    }
    for scenario in Scenarios.shared where only ?? scenario.name == scenario.name {
      if until.isOver { return }
      let weight = scenario.weight
      try await search.search(
        scenario, faults: faults, variant: variant, stride: long ? 1 : stride * weight)
      try await recoveries.search(scenario, variant: variant, every: every * weight)
    }
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
