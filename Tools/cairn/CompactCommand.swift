import ArgumentParser
import Cairn
import CairnToolText

struct CompactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Folds the log into a new snapshot.",
    discussion: """
      Own deltas stay in the log, too, until they are published and have been seen in the folder \
      since the datastore was opened. With --forget, the other devices are asked to agree on what \
      may be forgotten, as one commit, which is published after an \
      exchange and a merge: once each of them has exchanged and merged three times, compactions \
      leave out that records were deleted, and who wrote what when. It says who has not answered.
      """)

  @Flag(name: .long, help: "Only show the gain.")
  var dryRun = false

  @Flag(name: .long, help: "First ask the other devices what may be forgotten.")
  var forget = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    let datastore = try store.open(forget && !dryRun ? .writing : .reading)
    let result: CompactionReport
    var progress: Forgetting?
    do {
      if forget, !dryRun { progress = try await ask(datastore) }
      result = dryRun ? try datastore.compactionPreview() : try datastore.compact()
    } catch {
      // The first error says more than what closing might add.
      do { try datastore.close() } catch {}
      throw error
    }
    try datastore.close()
    let gain = result.bytesBefore > result.bytesAfter ? result.bytesBefore - result.bytesAfter : 0
    var json: JSON = [
      "dryRun": .bool(dryRun), "before": .count(result.bytesBefore),
      "after": .count(result.bytesAfter), "gain": .count(gain),
      "records": .count(result.records),
    ]
    if let progress { json = json.adding("forget", progress.json) }
    let text =
      (dryRun ? "would go from " : "went from ")
      + "\(result.bytesBefore) to \(result.bytesAfter) bytes "
      + "(\(counted(result.records, "record")))"
    try report.print(json, text: (progress.map(lines) ?? []) + [text])
  }

  private func lines(_ progress: Forgetting) -> [String] {
    if progress.awaited.isEmpty { return [progress.line] }
    // Who has just been asked has had no time to answer: to leave one out for ever is nothing to be
    // pasted here.
    let words = ShellLine.naming(store.datastore, ShellLine.option("--root", store.rootPath))
    return [
      progress.line,
      "each of them has to sync; what names one that may be gone for good: "
        + ShellLine.of(["cairn", "doctor"] + words),
    ]
  }

  /// How far the devices are.
  private struct Forgetting {
    /// Just now, and not by somebody before.
    var isAsked: Bool
    /// All have agreed on what was asked before that.
    var isPartlyAgreed: Bool
    var agreement: Datastore.Agreement
    var isPublished: Bool

    var line: String {
      switch agreement {
      case .none: return "there is nothing to forget"
      case .agreed: return "all have agreed: what is not needed any more is forgotten"
      case .waiting(let devices):
        let asked =
          (isPartlyAgreed ? "all have agreed on what was asked before; " : "")
          + (isAsked ? "the other devices are asked" : "the other devices were asked before")
        let sent = isPublished ? "" : " (not published yet: it takes another cairn sync)"
        if devices.isEmpty {
          return asked + sent + "; all have answered, and the one that asked has to sync once more"
        }
        return asked + sent + "; waiting for " + devices.joined(separator: ", ")
      }
    }

    /// Devices that have not answered.
    var awaited: [String] { if case .waiting(let devices) = agreement { devices } else { [] } }

    var json: JSON {
      [
        "asked": .bool(isAsked), "agreedBefore": .bool(isPartlyAgreed),
        "agreed": .bool(agreement == .agreed),
        "waitingFor": .array(awaited.map(JSON.string)), "published": .bool(isPublished),
      ]
    }
  }

  /// Asks the others, with what they have said up to now taken in.
  private func ask(_ datastore: Datastore) async throws -> Forgetting {
    if !datastore.manager.isLocal { try await SyncRounds.run(datastore) }
    let (before, isPartlyAgreed) = (datastore.committedDeltas, datastore.agreement == .agreed)
    try datastore.askToForget()
    try datastore.sync()
    _ = try await datastore.exchange()
    return Forgetting(
      isAsked: datastore.committedDeltas > before, isPartlyAgreed: isPartlyAgreed,
      agreement: datastore.agreement,
      isPublished: datastore.publishedDeltas >= datastore.committedDeltas)
  }
}
