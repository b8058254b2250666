internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What a damaged copy has of what was published, and the one that takes its place could not get
/// from the folder.
struct RepairPast {
  let id: String
  /// The damaged copy's.
  let directory: String
  /// What the copy has.
  let copy: VersionVector
  /// The copy's device.
  let device: DeviceID?
  let publication: PublicationFile?
  let exchange: Exchange

  private var store: Store { exchange.store }

  /// Ranges of deltas, a device each.
  var lacking: [(device: DeviceID, first: UInt64, last: UInt64)] {
    let (here, cuts) = (store.vector, store.cuts)
    // The rest will never be there again.
    let counting = cuts.admitted(of: copy) ?? copy
    return counting.entries.compactMap { dot in
      let have = here[dot.device]
      // What the copy has of others it has from the folder.
      let last = dot.device == device ? min(dot.sequence, publishedLast) : dot.sequence
      if last <= have || cuts.hasLeft(dot.device, with: have) { return nil }
      return (device: dot.device, first: have + 1, last: last)
    }
  }

  /// The head of the copy's device that is in the folder.
  private var head: Head? {
    guard let device else { return nil }
    return exchange.memory.withLock { $0.heads[device] }
  }

  /// The last delta of the copy's device that is known to be published.
  private var publishedLast: UInt64 {
    guard let device else { return 0 }
    let there = head
    // What others have was published, whatever has become of the head.
    let others = exchange.memory.withLock { memory in
      memory.heads.values.map { $0.acknowledged[device] }.max() ?? 0
    }
    let last = max(there?.last ?? 0, others)
    guard let publication, publication.confirmedNonce != 0 else { return last }
    // The last one that was written may not have arrived; what has, the folder tells, unless it
    // lacks that, too.
    let isSure = publication.confirmedNonce == publication.pendingNonce
    guard isSure || there == nil else { return last }
    // One of an earlier name says nothing of this one.
    return max(last, publishedHead(of: device)?.last ?? 0)
  }

  /// The last of the copy's own deltas that is the same in the folder, if what the folder has under
  /// the same numbers behind it is something else: another copy wrote it, or this one did before it
  /// was restored or its log lost its end. Nil if nothing says that there is any. What neither the
  /// histories nor files tell counts as the same: compared again, old values would come back.
  func common(_ home: Histories) async throws(CairnError) -> Dot? {
    guard let device else { return nil }
    var here = home
    here.cut(device, after: copy[device])
    let there = exchange.memory.withLock { $0.histories }
    let own = publishedHead(of: device)
    // PUBLISHED is durable before a head goes up: one that goes beyond it is another life's.
    let isBeyond = own.map { store.vector[device] > $0.last } ?? false
    guard isBeyond || here.forked(from: there).contains(device) else { return nil }
    var marks = (here.marks[device] ?? []).map { (sequence: $0.sequence, chain: $0.chain) }
    // A log that has lost its end may have begun another one there.
    if let own, own.last > 0, own.last <= copy[device] {
      marks.append((sequence: own.last, chain: own.chain))
      marks.sort { $0.sequence < $1.sequence }
    }
    var branch: PublishedBranch?
    if marks.contains(where: { there.chain(device, at: $0.sequence) == nil }) {
      branch = try await published(of: device)
    }
    var agreed: UInt64 = 0
    for mark in marks {
      let chain = there.chain(device, at: mark.sequence) ?? branch?.chain(at: mark.sequence)
      if chain ?? mark.chain != mark.chain { break }
      agreed = mark.sequence
    }
    guard agreed < min(copy[device], store.vector[device]) else { return nil }
    return Dot(device: device, sequence: agreed)
  }

  /// What lies in the folder under the copy's name, as far as it can be read. Of what came in a
  /// snapshot no chain is known.
  private func published(of device: DeviceID) async throws(CairnError) -> PublishedBranch? {
    guard let head else { return nil }
    let listing = exchange.memory.withLock { $0.listing?.byName ?? [:] }
    var report = ExchangeReport()
    let wanted = head.segments.filter { $0.first <= copy[device] }
    return PublishedBranch(
      files: try await exchange.files(wanted, of: device, listing, &report))
  }

  /// The head in PUBLISHED, if it is of this name.
  private func publishedHead(of device: DeviceID) -> Head? {
    guard let publication else { return nil }
    do throws(LogError) {
      let own = try Head(publication.head, name: directory, datastore: store.datastore)
      return own.device == device ? own : nil
    } catch { return nil }
  }

  /// Own deltas that the folder lacks and its head speaks of, from the copy's log: only if they are
  /// known to be the very ones that were published, and all of them are there.
  func ownPacks(_ disk: any Disk) throws(CairnError) -> [[UInt8]] {
    guard let device, let head else { return [] }
    let have = store.vector[device]
    guard head.last > have,
      let before = exchange.memory.withLock({ $0.histories.chain(device, at: have) })
    else { return [] }
    let (directory, datastore, last) = (directory, store.datastore, head.last)
    let packs = try wrapped { () throws(StoreError) in
      try OwnSalvage.packs(
        directory, datastore: datastore, device: device, after: have, through: last, disk: disk)
    }
    do throws(DecodeError) {
      var (chain, count) = (before, UInt64(0))
      for pack in packs {
        let values = try DeltaChain.values(of: pack, after: chain)
        count += UInt64(values.count)
        chain = values.last ?? chain
      }
      return have + count == last && chain == head.chain ? packs : []
    } catch {
      // Nobody could take them.
      return []
    }
  }

  /// Half a repair would be no repair.
  func requireWhole(_ waiting: [ExchangeReport.Waiting]) throws(CairnError) {
    guard let first = lacking.first else { return }
    let files = waiting.prefix(3).map { "; \($0.name): \($0.reason)" }.joined()
    throw CairnError(
      .retryLater,
      "deltas \(first.first) to \(first.last) of device \(first.device) were published, and the "
        + "shared folder does not give them just now\(files). The damaged copy has what they "
        + "wrote, and would count it twice once they are there again. Nothing was changed. Wait "
        + "for these files, or let another device put them back there (repairFolder(), or cairn "
        + "repair), and repeat the repair; if nobody has them any more, repair without the folder: "
        + "sums then count twice what it still has",
      file: waiting.first?.name, id: id)
  }
}
