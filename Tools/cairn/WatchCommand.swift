import ArgumentParser
import Cairn

/// `cairn watch`: what other devices do, as it comes.
struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Follows the shared folder and prints each record that other devices change.",
    discussion: """
      It exchanges in the background and merges what comes, until it is interrupted (Ctrl-C). \
      Meanwhile the datastore is open here: other commands and apps can't use it. A folder that \
      can't be reached is waited for.

      With --json each line is a document with an "event": watching, changed, deleted, title, \
      table (any record of it may have changed), conflict, held (others delete so much that it \
      waits until cairn sync --allow-mass-delete takes it), newDevice (this device goes on under \
      another id), problem, recovered.
      """)

  @Option(name: .long, help: "Only this table; may be repeated.")
  var table: [String] = []

  @OptionGroup var budget: BudgetOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    guard let folder = try store.settings().folder else {
      try store.refuseUnknownFolder()
      throw ToolError.usage(
        "nobody else changes these datastores: they have no shared folder yet; link one with "
          + "--folder")
    }
    let datastore = try store.open(.creating, try budget.budget(for: folder))
    do {
      try await follow(datastore)
    } catch {
      // The first error says more than what closing might add.
      do { try datastore.close() } catch {}
      throw error
    }
    try datastore.close()
  }

  private func follow(_ datastore: Datastore) async throws {
    let output = WatchOutput(report: report, tables: Set(table), datastore: datastore)
    let (store, proof) = (store, Once())
    let canProve = try store.canProve(datastore)
    let interruption = Interruption()
    let wishes = interruption.wishes
    let (changes, statuses) = (datastore.changes, datastore.statusChanges)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for await change in changes { try output.print(change) } }
      group.addTask {
        var problem: CairnError?
        var held: MassDelete?
        for await status in statuses {
          if status.anyError != problem {
            problem = status.anyError
            try output.print(problem: problem)
          }
          if status.massDelete != held {
            held = status.massDelete
            if let held { try output.print(held) }
          }
          guard status.incoming else { continue }
          let result = try datastore.sync()
          if let id = result.newDevice { try output.print(newDevice: id) }
          try output.print(result.conflicts)
        }
      }
      group.addTask { for await _ in wishes { return } }
      try datastore.startExchanging { result in
        // The folder has proved to be the right one.
        guard case .success = result, canProve, proof.begin() else { return }
        do { try store.remember(provedBy: datastore) } catch {
          Console.error("cairn: the folder is not remembered: \(error)")
        }
      }
      try output.printStart()
      // Whatever ends first, an interruption or a failure, ends all.
      defer { group.cancelAll() }
      try await group.next()
    }
    // Until here the signals are ours.
    withExtendedLifetime(interruption) {}
  }
}
