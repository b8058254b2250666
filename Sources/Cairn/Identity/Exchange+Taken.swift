internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What only this copy of a device has may be there already: another one, that was made of the same
/// state, or that this one was made of, has taken a name for it.
extension Exchange {
  /// Deltas that may be there under another name.
  private struct Sought {
    var common: CommonBranch
    var packs: [[UInt8]]
    /// What there is of each device.
    var present: VersionVector
    /// When the first of them was made.
    var time: Int64
  }

  /// The names under which the first of the deltas are there that a plan would write once more, in
  /// the order in which they were taken; nil if that can't be told just now. Only files tell: what
  /// a device has in its snapshot alone is not found.
  func takenNames(
    _ plan: Rejoining, _ staging: Staging, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [TakenName]? {
    var packs: [[UInt8]]
    do throws(StoreError) { packs = try store.ownPacks(plan) } catch {
      // A compaction has dropped what is published since it was looked for: the sync asks again.
      if error.log?.reason == .missing { return [] }
      throw CairnError(error)
    }
    var (common, names) = (plan.common, [TakenName]())
    // A name that was known where the copies parted is of somebody else.
    var rest = staging.exchange.memory.withLock { $0.sortedHeads }.filter {
      $0.device != store.device && $0.device != plan.device
        && plan.common.context[$0.device] == 0
    }
    let have = plan.staged.vector
    while !rest.isEmpty, let time = beginning(of: packs, behind: common.last) {
      let sought = Sought(common: common, packs: packs, present: have, time: time)
      var found = TakenName(device: plan.device, count: 0)
      var mustWait = false
      for head in rest {
        guard let count = try await taken(head, sought, staging, listing, &report) else {
          // The others have their rounds at the same time.
          mustWait = true
          continue
        }
        if count > found.count { found = TakenName(device: head.device, count: count) }
      }
      if mustWait { return nil }
      do throws(DecodeError) {
        found.count = try DeltaChain.proven(found.count, behind: common, in: packs)
        if found.count == 0 { break }
        (common, packs) = try common.followed(to: found, packs, present: have)
      } catch { throw CairnError(LogError(error, directory, at: 0, "own deltas")) }
      names.append(found)
      rest.removeAll { $0.device == found.device }
    }
    return names
  }

  /// What can't be read of its own the sync says.
  private func beginning(of packs: [[UInt8]], behind last: UInt64) -> Int64? {
    do throws(DecodeError) {
      return try DeltaChain.beginning(of: packs, behind: last)
    } catch { return nil }
  }

  /// How many of the deltas are there under a device's name; nil if that can't be told just now.
  private func taken(
    _ head: Head, _ sought: Sought, _ staging: Staging, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> UInt64? {
    let have = sought.present[head.device]
    var ours: [UInt128]?
    var count = 0
    for segment in head.segments {
      // What comes behind all of them is the other copy's own.
      if segment.first != UInt64(count) + 1 || ours?.count == count { break }
      let name = segment.name(head.device)
      let known = staging.state.withLock { $0.beginnings[name] }
      if count == 0, let known, known != sought.time { break }
      let pack: [UInt8]
      switch try await look(at: segment, of: head, have, staging, listing, &report) {
      case .pack(let bytes): pack = bytes
      case .later: return nil
      case .never: return min(UInt64(count), have)
      }
      do throws(DecodeError) {
        if ours == nil {
          guard let time = try DeltaChain.beginning(of: [pack]) else { break }
          staging.state.withLock { $0.beginnings[name] = time }
          // All of them get other names only if the first one was made at the same moment.
          if time != sought.time { break }
          let moved = try sought.common.moved(
            sought.packs, to: head.device, present: sought.present)
          ours = try DeltaChain.contents(of: moved)
        }
        let theirs = try DeltaChain.contents(of: [pack])
        let same = zip((ours ?? []).dropFirst(count), theirs).prefix { $0 == $1 }.count
        count += same
        if same < theirs.count { break }
      } catch {
        // What can't be read of its own the sync says.
        break
      }
    }
    return min(UInt64(count), have)
  }

  private enum Look {
    case pack([UInt8])
    /// A later round may tell.
    case later
    case never
  }

  /// The deltas of a file, if the staged store has some of them.
  private func look(
    at segment: Head.Segment, of head: Head, _ have: UInt64, _ staging: Staging,
    _ listing: [String: FolderEntry], _ report: inout ExchangeReport
  ) async throws(CairnError) -> Look {
    let name = segment.name(head.device)
    var isWithheld = false
    if segment.first <= have, let entry = listing[name], entry.isPresent,
      entry.size == segment.size
    {
      report.requests += 1
      if let bytes = try await readFile(entry, PublishedSegment.fileBytesMax, &report) {
        try checkOpen()
        return pack(of: bytes, name).map(Look.pack) ?? .never
      }
      // A server that does not give it just now may do so in a while.
      isWithheld = 1..<Exchange.patience ~= withheldCount(entry)
    }
    guard staging.waits(for: name, of: head.device) || isWithheld else { return .never }
    report.waiting.append(
      ExchangeReport.Waiting(
        name: name, bytes: segment.size,
        reason: "it may be of another copy of this device, and have what only this one seems to "
          + "have; until it is there, but for a few rounds only, this one takes no other name"))
    return .later
  }

  /// nil if it is not what its name says: the staged store has another one.
  private func pack(of bytes: [UInt8], _ name: String) -> [UInt8]? {
    do throws(LogError) {
      let file = try PublishedSegment(bytes, name: name, datastore: store.datastore)
      return file.encodedName(bytes) == name ? file.pack : nil
    } catch { return nil }
  }
}

extension Staging {
  /// Whether this round waits for a file that is not to be had. What was fetched, and can't be
  /// applied, need not be: another copy's first deltas build on nothing but what is here.
  fileprivate func waits(for name: String, of device: DeviceID) -> Bool {
    let isFetched = exchange.inbox.withLock { inbox in
      inbox.items.contains { $0.name == name }
    }
    if isFetched { return false }
    return state.withLock { state in
      let count = state.waits[device] ?? 0
      if count >= Exchange.patience { return false }
      state.waits[device] = count + 1
      return true
    }
  }
}
