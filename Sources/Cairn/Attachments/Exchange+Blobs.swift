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
      guard let found = try await self.round(&audit, request).collection else {
        throw CairnError(
          .retryLater, "unused attachments of datastore \(self.datastoreID) were not looked for, "
            + "since this device can't publish just now: it takes another name, or the folder "
            + "shows an old state of it; sync and exchange, then try again", id: self.datastoreID)
      }
      return found
    }
  }

  /// A round ends with an error. If that says that there is no room, what nobody needs any more
  /// makes some, for the next one. `listing` is nil if the folder was not looked at, or if this one
  /// still publishes.
  func makeRoom(
    _ error: CairnError, _ request: BlobExchange.Request, _ listing: FolderListing?,
    _ report: inout ExchangeReport
  ) async {
    guard BlobExchange.saysFull(error) else { return }
    if let listing { await removeReplaced(listing, &report) }
    guard let blobs else { return }
    // Without a look at the folder nothing goes there.
    let published = memory.withLock { $0.own.last }
    let witnesses = listing.map(witnesses) ?? BlobWitnesses(published: published)
    do throws(CairnError) { try await blobs.makeRoom(request, witnesses, &report) } catch {
      // The first error is the one that says what to do.
      blobs.lookAgain()
    }
  }

  /// A round ends with an error, since the folder does not take something: that keeps nothing from
  /// coming. Unless the disk is full, which may be the one here: what room there is, or was made,
  /// is for what is to go out.
  func fetchBlobs(despite error: CairnError, _ report: inout ExchangeReport) async {
    guard let blobs, !Exchange.endsAtOnce(error), !Exchange.isOfConnection(error),
      error.code != .retryLater, error.code != .diskSpace
    else { return }
    do throws(CairnError) { try await blobs.fetchOnly(&report) } catch {
      // The first error is the one that says what to do.
      blobs.lookAgain()
    }
  }

  /// The end of a round. What goes wrong with contents is a problem in the report: deltas have been
  /// exchanged. Only who has asked for more gets it as an error.
  func settleBlobs(
    _ request: BlobExchange.Request, _ listing: FolderListing,
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
  private func witnesses(_ listing: FolderListing) -> BlobWitnesses {
    let (vector, cuts) = (store.vector, store.cuts)
    let authors = vector.entries.map(\.device)
    return memory.withLock { memory in
      var result = BlobWitnesses(isComplete: memory.forked.isEmpty, published: memory.own.last)
      let heads = memory.heads
      func leftOut(_ device: DeviceID) -> Bool {
        cuts.isLeftOut(device, seen: vector, word: heads[device]?.acknowledged)
      }
      for entry in listing.heads {
        guard let number = FileName.headDevice(entry.name) else { continue }
        let device = DeviceID(rawValue: number)
        if device == store.device { continue }
        // Also of one that was retired: it may say that it is back. But whoever is gone for good
        // never mends a head that is damaged.
        guard let head = memory.heads[device], memory.versions[entry.name] == entry.version else {
          if !memory.isDamaged(entry) || !leftOut(device) { result.isComplete = false }
          continue
        }
        if !leftOut(device) { result.heads.append(head) }
      }
      // A listing may lack a head for a while: whoever is known to be there has not told then.
      let told = Set(result.heads.map(\.device))
      for device in Array(memory.heads.keys) + authors
      where device != store.device && !told.contains(device) && !leftOut(device) {
        result.isComplete = false
      }
      return result
    }
  }

  /// Before packs are incorporated.
  func willIncorporate(_ packs: [[UInt8]]) throws(CairnError) {
    guard let blobs, packs.contains(where: BlobReference.occurs) else { return }
    try blobs.willIncorporate(packs)
  }

  /// Packs that were incorporated: do they name contents?
  func noteBlobs(_ packs: [[UInt8]], _ outcome: SyncOutcome) {
    guard let blobs, packs.contains(where: BlobReference.occurs) else { return }
    blobs.note(outcome.changed)
  }
}
