internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Snapshots into the folder, for devices that are new.
extension Exchange {
  /// Bytes of deltas that the newest snapshot in the folder does not have, and those of that.
  private func uncoveredBytes(_ head: Head) -> (deltas: UInt64, snapshot: UInt64) {
    let heads = memory.withLock { $0.sortedHeads } + [head]
    let newest = heads.compactMap(\.snapshot).max {
      Exchange.weight($0.vector) < Exchange.weight($1.vector)
    }
    var bytes: UInt64 = 0
    for head in heads {
      let covered = newest?.vector[head.device] ?? 0
      for segment in head.segments where segment.last > covered {
        bytes += segment.bytes(after: covered)
      }
    }
    return (bytes, newest?.size ?? 0)
  }

  /// A new one is worth while when what came behind the last is as much: so all snapshots together
  /// are no more bytes than the deltas, whatever one has grown to. To vouch for what another device
  /// has written costs less.
  func isSnapshotDue(_ head: Head) -> Bool {
    guard let file = store.snapshotFile(), file.vector[store.device] <= head.last,
      head.snapshot?.vector != file.vector,
      head.snapshot.map({ file.vector.covers($0.vector) }) ?? true,
      memory.withLock({ $0.unwritableVector }) != file.vector
    else { return false }
    let isThere = memory.withLock { memory in
      memory.heads.values.contains { $0.snapshot?.vector == file.vector }
    }
    let uncovered = uncoveredBytes(head)
    let least = isThere ? (head.snapshot?.size ?? 0) / 2 : uncovered.snapshot
    return uncovered.deltas >= max(tuning.smallFileBytes, least)
  }

  /// It only saves others deltas: what is to be heard now must not wait until there is room for it,
  /// or until a server takes it. It is tried ever more seldom, as all of it is read for that.
  func publishSnapshotIfRoom(
    _ head: inout Head, _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard memory.withLock({ $0.snapshots.isDue() }) else { return }
    do throws(CairnError) {
      try await publishSnapshot(&head, listing, &report)
      memory.withLock { $0.snapshots = Retry(version: "") }
    } catch {
      guard Exchange.canDoWithout(error) || error.code == .sizeLimit else {
        // Where it breaks each time, not every round may end with that.
        let isBroken = Exchange.isOfConnection(error)
        if isBroken { memory.withLock { $0.snapshots.fail(most: Retry.lockedRoundsMax) } }
        throw error
      }
      memory.withLock { $0.snapshots.fail() }
      report.problems.append(
        ExchangeReport.Problem(name: error.file ?? "the snapshot", reason: error.message))
    }
  }

  /// There is no room for a file that is not needed, or nothing takes or gives it.
  static func canDoWithout(_ error: CairnError) -> Bool {
    error.code == .quota || mayBeOfOne(error) || mayBeOfLargeFile(error)
  }

  /// Publishes the snapshot that the store stands on: when the deltas behind the last one have
  /// grown it saves a new device from reading them all.
  ///
  /// - Parameters:
  ///   - isDamaged: a file of that name can't be what it should be, and is replaced.
  ///   - isNeeded: others can't get something of it from anywhere else.
  func publishSnapshot(
    _ head: inout Head, _ listing: [String: FolderEntry], isDamaged: Bool = false,
    isNeeded: Bool = false, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard let file = store.snapshotFile() else { return }
    // A compaction may have replaced it just now; the next round publishes the new one.
    guard let source = try DiskSource.open(file.path, machine.disk) else { return }
    defer { source.close() }
    guard source.size <= Exchange.snapshotBytesMax,
      source.size < memory.withLock({ $0.unwritable })
    else { return memory.withLock { $0.unwritableVector = file.vector } }
    let snapshot = Head.Snapshot(
      hash: SnapshotDescription.hash(vector: file.vector, fence: file.fence),
      size: source.size, content: try hash(of: source, file.path), vector: file.vector,
      fence: file.fence)
    let path = directory + "/" + snapshot.name
    if !isNeeded, leaves(snapshot, to: listing[snapshot.name], isDamaged: isDamaged, &head) {
      return
    }
    if let there = listing[snapshot.name], there.mayBe(size: snapshot.size), !isDamaged {
      // Another device wrote it. Another version of the packer may have packed it differently:
      // then that device vouches for it, and this one does not.
      if memory.withLock({ $0.sent[snapshot.name] }) != snapshot.content {
        guard there.isPresent, try await isSame(snapshot, there, &report) else { return }
        memory.withLock { $0.sent[snapshot.name] = snapshot.content }
      }
    } else {
      let earlier = noteUpload(snapshot.name)
      report.requests += 1
      transfers.planPublish(files: 1, bytes: snapshot.size)
      let told = ToldSource(source, transfers)
      var written: FolderEntry?
      do throws(CairnError) { written = try await folder.write(path, from: told) } catch {
        // Refused: this try has put nothing there whose name would have to be kept.
        if error.code == .sizeLimit, listing[snapshot.name] == nil {
          memory.withLock { $0.histories.replaced[snapshot.name] = earlier }
        }
        // A server's limit may be raised: one is asked again.
        guard error.code == .sizeLimit, !(folder.base is any BudgetedFolder) else { throw error }
        noteUnwritable(snapshot, error, &report)
      }
      guard let written, written.size == snapshot.size else { return }
      memory.withLock { $0.sent[snapshot.name] = snapshot.content }
      transfers.notePublished(files: 1, bytes: snapshot.size - told.reach)
      report.publishedFiles += 1
      report.publishedBytes += snapshot.size
    }
    if let old = head.snapshot, old.name != snapshot.name {
      head.superseded.append(Head.Superseded(name: old.name, time: machine.clock.now()))
    }
    head.snapshot = snapshot
    // It may have been taken for one that no head names: its grace begins when it is replaced.
    head.superseded.removeAll { $0.name == snapshot.name }
    report.publishedSnapshot = true
  }

  /// Whether what has the snapshot's name and size in the folder is the same, as far as that can be
  /// told.
  private func isSame(
    _ snapshot: Head.Snapshot, _ there: FolderEntry, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool {
    let isOther = memory.withLock { $0.unlike.contains(snapshot.content) }
    let isGiven = withheldCount(there) == 0 || verdict(on: there) == nil
    guard !isOther, isGiven, memory.withLock({ $0.comparisons.isDue() }) else { return false }
    let found = try await reading(of: there, &report)
    let isWithheld = withheldCount(there) > 0
    return memory.withLock { memory in
      if found != .unread { memory.comparisons = Retry(version: "") }
      if found == .hash(snapshot.content) { return true }
      if isWithheld { return false }
      // What was read is not read again: the next snapshot is another one. What was not given is
      // asked for again.
      if found == .unread {
        memory.comparisons.fail()
      } else {
        memory.unlike.insert(snapshot.content)
      }
      return false
    }
  }

  /// Whether what has the snapshot's name in the folder is what another device vouches for, and has
  /// another size: another version of the packer has packed the same. It stays; two that both write
  /// theirs over the other's would never end. Nor does this device vouch for its own any longer,
  /// unless its head can't be without one.
  private func leaves(
    _ snapshot: Head.Snapshot, to there: FolderEntry?, isDamaged: Bool, _ head: inout Head
  ) -> Bool {
    guard let there, !there.mayBe(size: snapshot.size) else { return false }
    let isOthers = memory.withLock { memory in
      memory.heads.values.contains { other in
        guard let vouched = other.snapshot else { return false }
        return vouched.name == snapshot.name && vouched.size == there.size
      }
    }
    guard isOthers, !isDamaged || head.gaps.isEmpty else { return false }
    guard isDamaged, let old = head.snapshot else { return true }
    if old.name != snapshot.name {
      head.superseded.append(Head.Superseded(name: old.name, time: machine.clock.now()))
    }
    head.snapshot = nil
    return true
  }

  /// The hash of the snapshot's file: that of the last try, if it still is the same one. As long as
  /// there is no room for it all of it would be read for each.
  private func hash(of source: DiskSource, _ path: String) throws(CairnError) -> UInt128 {
    let info: FileInfo?
    do throws(DiskError) { info = try machine.disk.info(path) } catch { throw CairnError(error) }
    if let known = memory.withLock({ $0.hashed }), known.path == path, known.info == info {
      return known.content
    }
    let content = try source.hash()
    if let info, info.size == source.size {
      memory.withLock { $0.hashed = HashedFile(path: path, info: info, content: content) }
    }
    return content
  }

  /// What is known of a file at home as long as nothing of this has changed.
  struct HashedFile {
    let path: String
    let info: FileInfo
    let content: UInt128
  }

  /// A folder that can't write in pieces takes nothing as large; new devices can do without.
  private func noteUnwritable(
    _ snapshot: Head.Snapshot, _ error: CairnError, _ report: inout ExchangeReport
  ) {
    memory.withLock { memory in
      memory.unwritable = min(memory.unwritable, snapshot.size)
      memory.unwritableVector = snapshot.vector
    }
    report.problems.append(
      ExchangeReport.Problem(
        name: snapshot.name, reason: error.message + "; new devices fetch all deltas instead"))
  }

  // MARK: snapshots that no head names

  /// Before it goes up: the process may end before the head does, or the head not arrive, and after
  /// the next compaction nothing else would tell its name. Returns since when an earlier try has it
  /// noted.
  private func noteUpload(_ name: String) -> Int64? {
    let now = machine.clock.now()
    let earlier = memory.withLock { $0.histories.replaced.updateValue(now, forKey: name) }
    saveHistories()
    return earlier
  }

  /// Own snapshots that have gone up, and that no head has come to name.
  func unnamedSnapshots(_ listing: [String: FolderEntry], _ head: Head) -> [String] {
    memory.withLock { memory in
      let noted = memory.histories.uploads
      if noted.isEmpty { return [] }
      var named = Set((memory.heads.values + [head]).compactMap { $0.snapshot?.name })
      named.formUnion(head.superseded.map(\.name))
      return noted.filter { listing[$0] != nil && !named.contains($0) }
    }
  }

  /// They go like those that were replaced.
  func supersedeUnnamed(_ listing: [String: FolderEntry], _ head: inout Head) {
    let now = machine.clock.now()
    for name in unnamedSnapshots(listing, head) {
      head.superseded.append(Head.Superseded(name: name, time: now))
    }
  }

  /// The head that is there tells the names now; and what does not show up in time has not arrived.
  func forgetUploads(_ listing: [String: FolderEntry], _ own: Head) {
    let now = machine.clock.now()
    memory.withLock { memory in
      memory.histories.forgetUploads(namedBy: own)
      for name in memory.histories.uploads {
        // By a clock that was put back since it counts from now on.
        let time = min(memory.histories.replaced[name] ?? now, now)
        let isOver = listing[name] == nil && time < now - graceMilliseconds
        memory.histories.replaced[name] = isOver ? nil : time
      }
    }
  }
}
