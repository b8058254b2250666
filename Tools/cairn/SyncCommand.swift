import ArgumentParser
import Cairn
import CairnToolText

struct SyncCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Exchanges once with the shared folder, and merges what came.",
    discussion: """
      The first sync of a root needs --folder; a datastore that isn't there yet is made. Files in \
      the folder that are damaged or not wholly there are listed; they stop nobody else's. If \
      the others have gone on without this device, or hold what one of them wrote, it exchanges \
      and merges once more, and a device that was retired, copied or restored goes on under a new \
      id. It looks once more, too, if something is missing: what is missed three times is taken \
      from a snapshot. If other devices delete very much at once, what they sent is not taken and \
      the command ends with 1. So it does if the folder fails on the way; what had come by then is \
      merged all the same.
      """)

  @Flag(name: .long, help: "Take what other devices sent, however much of it they delete.")
  var allowMassDelete = false

  @OptionGroup var budget: BudgetOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    guard let folder = try store.settings().folder else {
      throw try store.noFolder()
    }
    let datastore = try store.open(.creating, try budget.budget(for: folder))
    let outcome: SyncRounds.Outcome
    let canProve: Bool
    do {
      canProve = try store.canProve(datastore)
      defer { noteTraffic(datastore) }
      outcome = try await SyncRounds.attempt(datastore, allowingMassDelete: allowMassDelete)
    } catch {
      // The first error says more than what closing might add.
      do { try datastore.close() } catch {}
      throw error
    }
    try datastore.close()
    let summary = outcome.summary
    if outcome.failure == nil || summary.hasNews {
      try report.print(summary.json, text: summary.lines + allowance(summary))
    }
    if let failure = outcome.failure { throw failure }
    // The folder has proved to be the right one.
    if canProve { try store.remember(provedBy: datastore) }
    if summary.merge.massDelete != nil { throw ExitCode(ExitStatus.failure.rawValue) }
  }

  /// How what was held is taken.
  private func allowance(_ summary: SyncSummary) -> [String] {
    guard summary.merge.massDelete != nil else { return [] }
    let words = ShellLine.option("--datastore", store.datastore) + ["--allow-mass-delete"]
    return [
      "to take what is held: "
        + ShellLine.of(["cairn", "sync"] + words + ShellLine.option("--root", store.rootPath))
    ]
  }

  /// Remembers what it has cost, also if it failed.
  private func noteTraffic(_ datastore: Datastore) {
    guard let traffic = datastore.traffic else { return }
    do {
      try TrafficRecord.add(traffic, root: store.rootPath, datastore: datastore.id)
    } catch {
      Console.error("cairn: what the sync has cost is not remembered: \(error)")
    }
  }
}
