import Cairn
import CairnToolText

/// Exchanges and syncs of one opening: what a sync finds out of others that have gone on without
/// this device is acted on by the next exchange, and so is what a sync could not take in. What is
/// missed is believed lost after some looks only, and a process of one look would never get there.
/// Nor has a device that has taken a new id published anything under it yet.
enum SyncRounds {
  /// A device that was left out has to put together what the others have, and then publish.
  private static let most = 4

  struct Outcome {
    var summary: SyncSummary
    /// What ended the exchange before its time, if anything did.
    var failure: (any Error)?
  }

  /// For who goes on only if all of it went well.
  static func run(_ datastore: Datastore) async throws {
    if let failure = try await attempt(datastore).failure { throw failure }
  }

  /// What had come before an exchange failed is merged all the same: a folder that takes nothing
  /// would keep from this device for ever what it gives.
  static func attempt(
    _ datastore: Datastore, allowingMassDelete: Bool = false
  ) async throws -> Outcome {
    let first = try await round(datastore, allowingMassDelete)
    var (exchange, merge, failure) = (first.exchange, first.merge, first.failure)
    var wantsMore =
      datastore.isCutOff || !datastore.heldFiles.isEmpty || datastore.isBlocked
      || datastore.isAboutToJoin || first.merge.newDevice != nil
    var count = 1
    while wantsMore, failure == nil, count < most {
      let next = try await round(datastore, allowingMassDelete)
      if let a = exchange, let b = next.exchange { exchange = sum(a, b) }
      // What is missing is told by a round that has nothing else to do.
      let isUntold = datastore.isBlocked && exchange?.waiting.isEmpty == true
      wantsMore =
        datastore.isCutOff || next.merge.newDevice != nil || datastore.isAboutToJoin || isUntold
      merge = sum(merge, next.merge)
      failure = next.failure
      count += 1
    }
    exchange?.held = datastore.heldFiles
    let summary = SyncSummary(
      exchange: exchange, merge: merge, awaited: datastore.status.awaitedDevices)
    return Outcome(summary: summary, failure: failure)
  }

  private struct Round {
    /// nil if it failed: what it had done until then nobody tells.
    var exchange: ExchangeReport?
    var failure: (any Error)?
    var merge: SyncResult
  }

  private static func round(
    _ datastore: Datastore, _ allowsMassDelete: Bool
  ) async throws -> Round {
    var (report, failure): (ExchangeReport?, (any Error)?) = (nil, nil)
    do { report = try await exchange(datastore) } catch { failure = error }
    let merge: SyncResult
    do { merge = try datastore.sync(allowingMassDelete: allowsMassDelete) } catch {
      // The first error says more.
      throw failure ?? error
    }
    return Round(exchange: report, failure: failure, merge: merge)
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
