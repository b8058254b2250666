import Cairn
import CairnToolText

/// Exchanges and syncs of one opening: what a sync finds out of others that have gone on without
/// this device is acted on by the next exchange.
enum SyncRounds {
  /// A device that was left out has to put together what the others have, and then publish.
  private static let most = 4

  static func run(
    _ datastore: Datastore, allowingMassDelete: Bool = false
  ) async throws -> SyncSummary {
    var exchange = try await Self.exchange(datastore)
    var merge = try datastore.sync(allowingMassDelete: allowingMassDelete)
    var wantsMore = datastore.isCutOff || !datastore.heldFiles.isEmpty
    var count = 1
    while wantsMore, count < most {
      let next = try await Self.exchange(datastore)
      let result = try datastore.sync(allowingMassDelete: allowingMassDelete)
      wantsMore = datastore.isCutOff || result.newDevice != nil
      exchange = sum(exchange, next)
      merge = sum(merge, result)
      count += 1
    }
    exchange.held = datastore.heldFiles
    return SyncSummary(
      exchange: exchange, merge: merge, awaited: datastore.status.awaitedDevices)
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

  /// What was done is added up; what is still to do is as the last round has it.
  private static func sum(_ a: ExchangeReport, _ b: ExchangeReport) -> ExchangeReport {
    var sum = b
    sum.publishedDeltas += a.publishedDeltas
    sum.publishedFiles += a.publishedFiles
    sum.publishedBytes += a.publishedBytes
    sum.publishedSnapshot = a.publishedSnapshot || b.publishedSnapshot
    sum.fetchedDeltas &+= a.fetchedDeltas
    sum.fetchedFiles += a.fetchedFiles
    sum.fetchedBytes += a.fetchedBytes
    sum.fetchedSnapshot = a.fetchedSnapshot || b.fetchedSnapshot
    sum.requests += a.requests
    sum.mergedFiles += a.mergedFiles
    sum.republishedFiles += a.republishedFiles
    sum.publishedAttachments += a.publishedAttachments
    sum.publishedAttachmentBytes += a.publishedAttachmentBytes
    sum.fetchedAttachments += a.fetchedAttachments
    sum.fetchedAttachmentBytes += a.fetchedAttachmentBytes
    guard let traffic = a.traffic else { return sum }
    sum.traffic = sum.traffic ?? FolderTraffic()
    sum.traffic?.requests += traffic.requests
    sum.traffic?.retries += traffic.retries
    sum.traffic?.sentBytes += traffic.sentBytes
    sum.traffic?.receivedBytes += traffic.receivedBytes
    return sum
  }

  private struct Key: Hashable {
    var table: String
    var id: RecordID
  }

  /// Each record once: as the last sync has it.
  private static func sum(_ a: SyncResult, _ b: SyncResult) -> SyncResult {
    var sum = b
    sum.committed = a.committed || b.committed
    sum.incorporated += a.incorporated
    sum.newDevice = b.newDevice ?? a.newDevice
    let later = b.changes
    let again = Set(later.map { Key(table: $0.table, id: $0.id) })
    sum.changes = a.changes.filter { !again.contains(Key(table: $0.table, id: $0.id)) } + later
    sum.conflicts =
      a.conflicts.filter { !again.contains(Key(table: $0.table, id: $0.id)) } + b.conflicts
    return sum
  }
}
