internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What rounds do about the contents of attachments.
extension Exchange {
  /// A round that also looks for unused contents.
  func collectBlobs(_ grace: Int64?) async throws(CairnError) -> AttachmentCollection {
    try await run { () async throws(CairnError) in
      var audit: FolderRepair?
      var request = BlobExchange.Request()
      request.collect = .some(grace)
      return try await self.round(&audit, request).collection
    }
  }

  /// The end of a round. What goes wrong with contents is a problem in the report: deltas have been
  /// exchanged. Only who has asked for more gets it as an error.
  func settleBlobs(
    _ request: BlobExchange.Request, _ listing: [String: FolderEntry],
    _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) -> AttachmentCollection {
    guard let blobs else { return AttachmentCollection() }
    do throws(CairnError) {
      return try await blobs.settle(request, witnesses(listing), &audit, &report)
    } catch {
      blobs.lookAgain()
      if request.collect != nil || audit != nil || ExchangeCondition.saysNothing(error) {
        throw error
      }
      report.problems.append(
        ExchangeReport.Problem(name: error.file ?? blobs.directory, reason: error.message))
      return AttachmentCollection()
    }
  }

  /// What the heads in the folder say, if all of them were read.
  private func witnesses(_ listing: [String: FolderEntry]) -> BlobWitnesses {
    let authors = store.vector.entries.map(\.device)
    return memory.withLock { memory in
      var result = BlobWitnesses(isComplete: memory.forked.isEmpty, published: memory.own.last)
      let retired = Set(memory.heads.values.flatMap(\.retired) + memory.own.retired)
      for (name, entry) in listing {
        guard let number = FileName.headDevice(name) else { continue }
        let device = DeviceID(rawValue: number)
        if device == store.device || retired.contains(device) { continue }
        guard let head = memory.heads[device], memory.versions[name] == entry.version else {
          result.isComplete = false
          continue
        }
        result.heads.append(head)
      }
      // A listing may lack a head for a while: whoever is known to be there has not told then.
      let told = Set(result.heads.map(\.device))
      for device in Array(memory.heads.keys) + authors
      where device != store.device && !retired.contains(device) && !told.contains(device) {
        result.isComplete = false
      }
      return result
    }
  }

  /// Packs that were incorporated: do they name contents?
  func noteBlobs(_ packs: [[UInt8]], _ outcome: SyncOutcome) {
    guard let blobs, packs.contains(where: BlobReference.occurs) else { return }
    blobs.note(outcome.changed)
  }
}
