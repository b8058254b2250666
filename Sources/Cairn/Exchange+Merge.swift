internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Merging own small files in the folder.
extension Exchange {
  /// It only saves others requests: what is to be heard now must not wait until there is room for
  /// it, or until a file is given that it reads back. That takes room, too: it is tried ever more
  /// seldom.
  func mergeIfRoom(
    _ head: inout Head, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard memory.withLock({ $0.merges.isDue() }) else { return }
    do throws(CairnError) {
      try await mergeSmallSegments(&head, &report)
      memory.withLock { $0.merges = Retry(version: "") }
    } catch {
      guard Exchange.canDoWithout(error) || error.code == .sizeLimit else {
        // Where it breaks each time, not every round may end with that.
        let isBroken = Exchange.isOfConnection(error)
        if isBroken { memory.withLock { $0.merges.fail(most: Retry.lockedRoundsMax) } }
        throw error
      }
      memory.withLock { $0.merges.fail() }
      report.problems.append(
        ExchangeReport.Problem(name: error.file ?? "small files", reason: error.message))
    }
  }

  /// Many small files cost every reader a request each, so their owner merges them. A merged file
  /// is read as a whole by whoever lacks any of it, so those that all others have are merged among
  /// themselves, and those that somebody lacks with as many bytes of them at most.
  private func mergeSmallSegments(
    _ head: inout Head, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    memory.withLock { $0.mergeBound.pass() }
    let had = hadByAll
    var left = filesToLeave(head)
    var start = 0
    while start < head.segments.count {
      var end = start
      while end < head.segments.count, isSmall(head.segments[end], left),
        // What is between them is in the snapshot only.
        end == start || head.segments[end].first == head.segments[end - 1].last + 1
      { end += 1 }
      let run = head.segments[start..<end]
      let news = run.firstIndex { $0.last > had } ?? end
      if let old = mergeable(run[..<news]) ?? mergeable(Exchange.beside(news, in: run)) {
        start = try await merge(old, &head, &left, &report)
      } else {
        start = max(end, start + 1)
      }
    }
  }

  private func isSmall(_ segment: Head.Segment, _ left: Set<String>) -> Bool {
    segment.size < tuning.smallFileBytes
      && (left.isEmpty || !left.contains(segment.name(store.device)))
  }

  /// All others have the own deltas up to here, as far as their heads say.
  private var hadByAll: UInt64 {
    let (device, retired, left) = (store.device, store.retired, store.cuts.earlierNames)
    let heads = memory.withLock { $0.heads.values.map { $0 } }
    return heads.lazy.filter { !retired.contains($0.device) && left[$0.device] == nil }
      .map { $0.acknowledged[device] }.min() ?? .max
  }

  /// The part of a run from which on somebody lacks something, and before it no more bytes than
  /// that has: the rest is read again by nobody.
  private static func beside(
    _ news: Int, in run: ArraySlice<Head.Segment>
  ) -> ArraySlice<Head.Segment> {
    var room = run[news...].reduce(0) { $0 + $1.size }
    var start = news
    while start > run.startIndex, run[start - 1].size <= room {
      start -= 1
      room -= run[start].size
    }
    return run[start...]
  }

  /// What of a run is worth to be merged. One that is larger than all behind it waits until they
  /// are as large: what is merged at least doubles, so each byte is written a few times and not
  /// with every merge.
  private func mergeable(_ run: ArraySlice<Head.Segment>) -> Range<Int>? {
    var run = run
    while run.count >= tuning.smallFileRun, outweighsRest(run) { run = run.dropFirst() }
    return run.count >= tuning.smallFileRun ? run.indices : nil
  }

  private func outweighsRest(_ run: ArraySlice<Head.Segment>) -> Bool {
    guard let first = run.first else { return false }
    return first.size > run.dropFirst().reduce(0) { $0 + $1.size }
  }

  /// Merges a run of own files; returns where to go on. One that can't be had, or is not what it
  /// should be, stays as it is, and those around it are merged without it: it is `left`. So is one
  /// that has as much by itself as a merged one gets. What the server finds too large is gone on
  /// with at the same place, in smaller ones.
  private func merge(
    _ run: Range<Int>, _ head: inout Head, _ left: inout Set<String>,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> Int {
    let range = fitting(run, head)
    let isCut = range.count < run.count
    if isCut, range.count < 2 {
      // Not even with the next one, whatever comes behind that.
      left.insert(head.segments[run.lowerBound].name(store.device))
      return run.lowerBound
    }
    var writer = PackWriter(device: store.device, first: head.segments[range.lowerBound].first)
    var chains: (before: UInt128, after: UInt128)?
    var end = range.lowerBound
    var next = range.upperBound
    var isGiven = true
    while end < range.upperBound, writer.byteCount < tuning.packBytes {
      let name = head.segments[end].name(store.device)
      let found = try await ownFile(name, &report)
      isGiven = found != nil
      guard let bytes = found,
        let segment = append(bytes, name, after: chains?.after, to: &writer, &report)
      else {
        left.insert(name)
        next = range.lowerBound
        break
      }
      chains = (chains?.before ?? segment.chainBefore, segment.chainAfter)
      end += 1
    }
    if writer.items > FormatBounds.itemsInPack {
      // Nobody would take them in one file.
      left.insert(head.segments[end - 1].name(store.device))
      return range.lowerBound
    }
    // Nothing more would go in with those later either, however few they are.
    let isFull = writer.byteCount >= tuning.packBytes
    let isWhole = isFull || isCut && end == range.upperBound
    let count = end - range.lowerBound
    if count >= tuning.smallFileRun || isWhole && count > 1, let chains {
      let replaced = range.lowerBound..<end
      let merged = PublishedSegment(
        datastore: store.datastore, device: store.device.rawValue,
        first: head.segments[range.lowerBound].first, last: head.segments[end - 1].last,
        chainBefore: chains.before, chainAfter: chains.after, pack: writer.bytes())
      let new: Head.Segment
      do throws(CairnError) { new = try await put(merged, &report) } catch {
        guard error.code == .sizeLimit, count > 1 else { throw error }
        let refused = head.segments[replaced].reduce(0) { $0 + $1.size }
        memory.withLock { $0.mergeBound.halve(refused, isLast: count == 2) }
        return range.lowerBound
      }
      head.segments.replaceSubrange(replaced, with: [new])
      report.mergedFiles += replaced.count
      if isFull { noteFull(new, &left) }
      next = range.lowerBound + 1
    } else if isFull {
      noteFull(head.segments[range.lowerBound], &left)
      next = range.lowerBound
    }
    // A folder that does not give one is not asked for all of them.
    return isGiven ? next : head.segments.count
  }

  /// What of a run, from its beginning on, may become one file.
  private func fitting(_ run: Range<Int>, _ head: Head) -> Range<Int> {
    var room = memory.withLock { $0.mergeBound.bytes }
    var end = run.lowerBound
    while end < run.upperBound, head.segments[end].size <= room {
      room -= head.segments[end].size
      end += 1
    }
    return run.lowerBound..<end
  }

  /// Half of what a server found too large, in bytes of the files that were to be merged. Its limit
  /// may be raised: after so many rounds that came to merging more is tried again, and sooner where
  /// no two were taken, as nothing is merged until then.
  struct MergeBound {
    private(set) var bytes = UInt64.max
    private var rounds = 0

    mutating func halve(_ refused: UInt64, isLast: Bool) {
      (bytes, rounds) = (refused / 2, isLast ? Retry.roundsMax / 2 : Retry.roundsMax)
    }

    mutating func pass() {
      if rounds > 0 { rounds -= 1 } else { bytes = .max }
    }
  }

  /// The bytes of an own file; nil if it can't be had now, which is noted.
  private func ownFile(
    _ name: String, _ report: inout ExchangeReport
  ) async throws(CairnError) -> [UInt8]? {
    report.requests += 1
    do throws(CairnError) {
      let limit = PublishedSegment.fileBytesMax
      let bytes = try await folder.read(directory + "/" + name, limit: limit)
      if bytes == nil { leave(name) }
      return bytes
    } catch {
      let isBroken = Exchange.isOfConnection(error)
      guard isBroken || Exchange.canDoWithout(error) || error.code == .sizeLimit,
        error.code != .quota
      else { throw error }
      leave(name, most: isBroken ? Retry.lockedRoundsMax : Retry.roundsMax)
      if isBroken { throw error }
      report.problems.append(ExchangeReport.Problem(name: name, reason: error.message))
      return nil
    }
  }

  /// However small it is packed: nothing is to be put to it, or it would be read each time.
  private func noteFull(_ segment: Head.Segment, _ left: inout Set<String>) {
    let name = segment.name(store.device)
    memory.withLock { _ = $0.full.insert(name) }
    left.insert(name)
  }

  /// It is read again ever more seldom.
  private func leave(_ name: String, most: Int = Retry.roundsMax) {
    memory.withLock { $0.unmerged[name, default: Retry(version: "")].fail(most: most) }
  }

  /// Own files that are not to be read in this round.
  private func filesToLeave(_ head: Head) -> Set<String> {
    memory.withLock { memory -> Set<String> in
      if memory.unmerged.isEmpty, memory.full.isEmpty { return [] }
      let names = Set(head.segments.map { $0.name(head.device) })
      memory.full.formIntersection(names)
      var result = memory.full
      for name in memory.unmerged.keys.sorted() {
        guard names.contains(name), var retry = memory.unmerged[name] else {
          memory.unmerged[name] = nil
          continue
        }
        if !retry.isDue() { result.insert(name) }
        memory.unmerged[name] = retry
      }
      return result
    }
  }

  /// `chain`: that after the file before it, nil for the first of a run.
  private func append(
    _ bytes: [UInt8], _ name: String, after chain: UInt128?, to writer: inout PackWriter,
    _ report: inout ExchangeReport
  ) -> PublishedSegment? {
    do throws(LogError) {
      let segment = try PublishedSegment(bytes, name: name, datastore: store.datastore)
      // Two of them may have been taken for one another: both are good, and nobody could read what
      // they would make together.
      guard segment.encodedName(bytes) == name else {
        throw LogError(.foreign, name, at: 32, "its content belongs under another name")
      }
      guard chain ?? segment.chainBefore == segment.chainBefore else {
        throw LogError(.foreign, name, at: 64, "it does not go on where the file before it ends")
      }
      // All or nothing: half a segment must not get into the merged one.
      try Exchange.verify(segment, name)
      do throws(DecodeError) {
        var reader = try PackReader(segment.pack)
        var delta = Delta()
        var map: [UInt32] = []
        while try reader.next(into: &delta) {
          writer.append(delta, heap: reader.heap, names: reader.records, map: &map)
        }
      } catch { throw LogError(error, name, at: 0, "the deltas inside") }
      return segment
    } catch {
      leave(name)
      report.problems.append(
        ExchangeReport.Problem(name: name, reason: "an own file is damaged: \(error)"))
      return nil
    }
  }
}
