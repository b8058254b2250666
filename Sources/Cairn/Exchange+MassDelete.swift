internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Whether what was fetched deletes so much that somebody has to be asked.
extension Exchange {
  /// What an earlier process has held is held before a snapshot is joined that has half of it.
  func judgeBeforeJoin(allowing: Bool) throws(CairnError) {
    let isOpen = inbox.withLock { inbox in
      inbox.snapshot != nil && inbox.held.isEmpty && inbox.judged.isEmpty && !inbox.items.isEmpty
    }
    if isOpen, !allowing { try judgeDeletes(allowing: false) }
  }

  /// Decides which devices' files stay in the inbox. The state must have no news: it is compared
  /// with what the next thing to happen would make of it. Returns the names of all that is judged:
  /// what a round adds meanwhile waits for the next sync.
  @discardableResult
  func judgeDeletes(allowing: Bool) throws(CairnError) -> Set<String> {
    dropSeen()
    let items = inbox.withLock { $0.beginJudging() }
    try judgeDeletes(of: items, allowing: allowing)
    return Set(items.map(\.name)).subtracting(inbox.withLock { $0.unread })
  }

  private func judgeDeletes(of items: [Inbox.Item], allowing: Bool) throws(CairnError) {
    guard let limit = massDeleteLimit, !allowing else { return hold([], nil) }
    let (isNew, joined) = inbox.withLock { inbox in
      let isNew = inbox.held.isEmpty || Set(items.map(\.name)) != inbox.judged
      return (isNew, inbox.joinedDeletes)
    }
    // Nothing new: what was held stays held, whatever else has changed here.
    guard isNew else { return }
    // What a snapshot has just deleted counts, too: in two halves it is no less.
    let here = store.totals.records + joined
    let most = max(0, limit.records(of: here) - joined)
    guard try deleteCount(items) > most else { return hold([], nil) }
    var free = items
    var devices: [MassDelete.Device] = []
    var all: Int?
    while true {
      let gone = try gone(free)
      let sum = gone.values.reduce(0, +)
      all = all ?? sum
      // The one that deletes most waits, and what is left is judged without it. Of two that delete
      // as much any one, but always the same.
      let worst = gone.max { ($0.value, $0.key) < ($1.value, $1.key) }
      guard sum > most, let worst else { break }
      let user = memory.withLock { $0.heads[worst.key]?.user ?? "" }
      devices.append(
        MassDelete.Device(id: worst.key.description, user: user, records: worst.value))
      free.removeAll { $0.device == worst.key }
    }
    let names = Set(items.map(\.name)).subtracting(free.map(\.name))
      .subtracting(inbox.withLock { $0.unread })
    hold(
      names,
      names.isEmpty
        ? nil
        : MassDelete(devices: devices, records: (all ?? 0) + joined, recordsHere: here))
  }

  private func hold(_ names: Set<String>, _ massDelete: MassDelete?) {
    let snapshots = inbox.withLock { inbox in
      // A snapshot that had half of it may go now.
      let isReleased = !names.isSuperset(of: inbox.held)
      if isReleased, inbox.heldSnapshot == nil { inbox.forgetHeldContents() }
      inbox.held = names
      if names.isEmpty { inbox.joinedDeletes = 0 }
      return inbox.heldSnapshot?.massDelete
    }
    // Told with the inbox, at the end of the sync.
    condition.set { $0.massDelete = massDelete ?? snapshots }
  }

  /// How many deletes are in the files: no more can go. Known without reading them, if this process
  /// has fetched them.
  private func deleteCount(_ items: [Inbox.Item]) throws(CairnError) -> Int {
    var sum = 0
    for item in items {
      if let known = item.deletes {
        sum += known
        continue
      }
      do throws(LogError) {
        let segment = try inbox.withLock { inbox throws(LogError) in
          try inbox.read(item, datastore: store.datastore)
        }
        let deletes = try Exchange.verify(segment, item.name).deletes
        inbox.withLock { $0.note(deletes: deletes, of: item) }
        sum += deletes
      } catch {
        if case .disk(let disk) = error.reason, Inbox.isPassing(disk) { throw CairnError(disk) }
        // Damaged since it was verified: nothing of it is going to be applied.
      }
    }
    return sum
  }

  /// How many records each device would delete, if the files were taken.
  private func gone(_ items: [Inbox.Item]) throws(CairnError) -> [DeviceID: Int] {
    var preview = try wrapped { () throws(StoreError) in try store.deletePreview() }
    let order = items.sorted { ($0.device, $0.first) < ($1.device, $1.first) }
    var hasProgress = true
    while hasProgress {
      hasProgress = false
      var packs: [[UInt8]] = []
      var bytes = 0
      for (index, item) in order.enumerated() {
        if let pack = try pack(item) {
          packs.append(pack)
          bytes += pack.count
        }
        guard bytes >= Exchange.batchBytes || index == order.count - 1, !packs.isEmpty else {
          continue
        }
        do throws(StoreError) {
          if try preview.apply(packs) { hasProgress = true }
        } catch { throw CairnError(error) }
        packs = []
        bytes = 0
      }
    }
    do { return try preview.gone() } catch { throw CairnError(error) }
  }

  private func pack(_ item: Inbox.Item) throws(CairnError) -> [UInt8]? {
    do throws(LogError) {
      return try inbox.withLock { inbox throws(LogError) in
        try inbox.read(item, datastore: store.datastore)
      }.pack
    } catch {
      if case .disk(let disk) = error.reason, Inbox.isPassing(disk) { throw CairnError(disk) }
      return nil
    }
  }
}
