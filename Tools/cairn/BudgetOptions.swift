import ArgumentParser
import Cairn

/// How much a folder on a server may be asked for.
struct BudgetOptions: ParsableArguments {
  @Flag(
    name: .long,
    help: """
      Traffic costs something: no more than 120 requests and 8 MiB an hour, unless the next two \
      say otherwise. For folders on servers; counted anew in each process.
      """)
  var metered = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Requests to the server in any hour. What is over waits for a later exchange.",
      valueName: "n"))
  var requestsPerHour: Int?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Bytes to and from the server in any hour, both together.", valueName: "n"))
  var bytesPerHour: UInt64?

  /// What was chosen for a folder; nil: nothing.
  func budget(for folder: String?) throws -> ServerBudget? {
    guard metered || requestsPerHour != nil || bytesPerHour != nil else { return nil }
    guard requestsPerHour ?? 1 > 0, bytesPerHour ?? 1 > 0 else {
      throw ToolError.usage("--requests-per-hour and --bytes-per-hour are at least 1")
    }
    guard let folder, FolderOption.isAddress(folder) else {
      throw ToolError.usage(
        "--metered, --requests-per-hour and --bytes-per-hour are for folders on servers")
    }
    return ServerBudget(
      isMetered: metered,
      limits: TransferBudget(requestsPerHour: requestsPerHour, bytesPerHour: bytesPerHour))
  }
}

/// What a process may use of a server.
struct ServerBudget {
  var isMetered: Bool
  var limits: TransferBudget

  func apply(to settings: inout ServerSettings) {
    guard isMetered else {
      settings.budget = limits
      return
    }
    var metered = settings.meteredBudget ?? TransferBudget()
    metered.requestsPerHour = limits.requestsPerHour ?? metered.requestsPerHour
    metered.bytesPerHour = limits.bytesPerHour ?? metered.bytesPerHour
    settings.meteredBudget = metered
    settings.isMetered = { true }
  }
}
