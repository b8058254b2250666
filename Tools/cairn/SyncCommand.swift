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
      other devices delete very much at once, what they sent is not taken and the command \
      ends with 1.
      """)

  @Flag(name: .long, help: "Take what other devices sent, however much of it they delete.")
  var allowMassDelete = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    guard try store.settings().folder != nil else {
      throw ToolError.usage("these datastores have no shared folder yet; link one with --folder")
    }
    let datastore = try store.open(.creating)
    let exchange: ExchangeReport
    let merge: SyncResult
    do {
      defer { noteTraffic(datastore) }
      exchange = try await Self.exchange(datastore)
      merge = try datastore.sync(allowingMassDelete: allowMassDelete)
    } catch {
      // The first error says more than what closing might add.
      do { try datastore.close() } catch {}
      throw error
    }
    try datastore.close()
    let summary = SyncSummary(exchange: exchange, merge: merge)
    try report.print(summary.json, text: summary.lines)
    if merge.massDelete != nil { throw ExitCode(ExitStatus.failure.rawValue) }
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

  /// Exchanges once, and shows how far it is.
  private static func exchange(_ datastore: Datastore) async throws -> ExchangeReport {
    let changes = datastore.progressChanges
    let display = Task {
      var progress = Progress("syncing")
      for await change in changes { progress.update(change) }
      progress.end()
    }
    let result: ExchangeReport
    do { result = try await datastore.exchange() } catch {
      display.cancel()
      await display.value
      throw error
    }
    display.cancel()
    await display.value
    return result
  }
}
