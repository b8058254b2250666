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
    ledger.expect(expected)
    let search = try await calls(ledger)
    var result = try await recoveries(search.ledger)
    result.count("sites", search.sites)
    result.count("sites in the folder", search.folderSites)
    try result.close(rates: ["sites", "sites in the folder", "sites in recoveries"])
  }

  private func calls(_ ledger: Ledger) async throws -> FaultSearch {
    // The first half of the time; the other is for recoveries.
    let until = Deadline(seconds: seconds.map { $0 / 2 })
    var search = FaultSearch(ledger, seed: seed, until: until)
    for variant in 0..<variants {
      do { try await run(variant, &search) } catch {
        print("errors: after \(search.sites) sites")
        throw error
      }
    }
    return search
  }

  private func run(_ variant: UInt64, _ search: inout FaultSearch) async throws {
    for scenario in Scenarios.store where only ?? scenario.name == scenario.name {
      try await search.search(scenario, faults: Errors.faults, variant: variant, stride: stride)
    }
    for scenario in Scenarios.shared where only ?? scenario.name == scenario.name {
      let stride = long ? 1 : stride * scenario.weight
      try await search.search(scenario, faults: Errors.faults, variant: variant, stride: stride)
    }
  }

  private var expected: [String] {
    let names = Errors.faults.map(\.name)
    return only == nil ? names + names.map { $0 + " in the folder" } : names
  }

  /// With a time there are more than fit into it.
  private var variants: UInt64 { long ? 40 : seconds == nil ? 1 : 1000 }

  private func recoveries(_ ledger: Ledger) async throws -> Ledger {
    let until = Deadline(seconds: seconds.map { $0 / 2 })
    var search = RecoveryFaults(ledger, seed: seed, faults: Errors.faults, until: until)
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
