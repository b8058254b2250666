import CairnBytes
package import CairnDisk
import CairnLog
package import CairnMerge

/// What a damaged store still holds. Its files are read and left as they are; what is put together
/// from them goes to another directory.
package struct StoreSalvage {
  /// A store that shows what was found. It is for reading only.
  package let store: Store
  /// What could not be read.
  package private(set) var losses: [SalvageLoss] = []
  /// Places where a single wrong bit was found and put right.
  package private(set) var mendedBits = 0
  /// Rows of the snapshot and deltas of the log that were read.
  package private(set) var rows = 0
  package private(set) var deltas = 0
  /// Other devices' deltas as they are in the log.
  package private(set) var packs: [[UInt8]] = []
  /// What own deltas in an outbox, or in the log, touch.
  package private(set) var touched: [TouchedRecord] = []
  /// Records that the snapshot has lost, as the segments below it have them. Of those that were
  /// published the snapshot may have known more.
  package private(set) var givenBack: Set<TouchedRecord.Key> = []
  /// Nothing of the snapshot is lost: a field that has no value there has none.
  package private(set) var isSnapshotWhole = false
  /// Nothing of the log is lost, nor of own deltas that lie outside of it.
  package private(set) var isLogWhole = false
  /// Tables that got a name because their own is lost.
  package private(set) var unnamed: Set<String> = []
  /// The vector has what is in the snapshot, too; the one that counts is there, and says it.
  package private(set) var hasVector = true
  /// The device that wrote here; nil if nothing tells it.
  package let device: DeviceID?
  /// How often the store was put together anew; nil if nothing tells it.
  package let rejoinings: UInt64?

  fileprivate struct Work {
    let directory: String
    let datastore: UInt128
    let isLinked: Bool
    let scratch: String
    let machine: Machine
    /// As in the options of a store.
    let indexRecords: Int
    var losses: [SalvageLoss] = []
    var mend = BitMend()
    var mendedBits = 0
    var unnamed: Set<String> = []
    var hasVector = true
  }

  /// Reads everything. `scratch` is an empty directory. Throws if a file is of a newer version, or
  /// if the disk refuses.
  package init(
    _ directory: String, datastore: UInt128, isLinked: Bool, scratch: String, machine: Machine,
    indexRecords: Int = StoreOptions().indexRecords
  ) throws(StoreError) {
    var work = Work(
      directory: directory, datastore: datastore, isLinked: isLinked, scratch: scratch,
      machine: machine, indexRecords: indexRecords)
    do throws(LogError) {
      let current = try work.readCurrent()
      let ofCurrent = work.losses.count
      let segments = try work.readSegments(current)
      let device = current?.device ?? segments.lazy.compactMap(\.device).first
      self.device = device.map(DeviceID.init(rawValue:))
      rejoinings = current?.rejoinings
      var state = StoreState(
        device: DeviceID(rawValue: device ?? 1), isAlone: !isLinked)
      var loot = segments.map { segment in
        SegmentLoot(
          segment.salvage, path: segment.path, isFolded: segment.isFolded,
          tornFrom: segment.tornFrom)
      }
      // A look at the tables first: they tell which is which if the snapshot's description is lost.
      var tables: Set<String> = [RuleBook.table, StoreSummary.infoTable, AccessTable.name]
      for copy in loot {
        var copy = copy
        var nothing = StoreState(device: state.device, isAlone: state.isAlone)
        do throws(StoreError) { try copy.run(into: &nothing) } catch {
          throw StoreSalvage.log(error)
        }
        tables.formUnion(copy.tables)
      }
      let told = work.losses.count
      rows = try work.loadSnapshot(current, tables.sorted(), into: &state)
      let ofSnapshot = work.losses.count - told
      isSnapshotWhole = ofSnapshot == 0
      if !isSnapshotWhole { givenBack = work.giveBack(segments, current, to: &state) }
      for index in loot.indices {
        do throws(StoreError) { try loot[index].run(into: &state) } catch {
          throw StoreSalvage.log(error)
        }
        deltas += loot[index].deltas
        packs += loot[index].packs
        touched += loot[index].touched
        work.losses += loot[index].losses
      }
      // They are of before the log.
      var before: [TouchedRecord] = []
      for pack in try work.readOutbox(current) {
        do throws(StoreError) {
          before += try SegmentLoot.takeOutbox(pack, into: &state)
        } catch { throw StoreSalvage.log(error) }
      }
      isLogWhole = work.losses.count == ofCurrent + ofSnapshot
      touched = before + touched
      losses = work.losses
      mendedBits = work.mendedBits
      unnamed = work.unnamed
      hasVector = work.hasVector
      store = try work.shown(state, device: device ?? 1)
    } catch { throw StoreError(error) }
  }

  private static func log(_ error: StoreError) -> LogError {
    error.log ?? LogError(.corrupt, "", error.message)
  }
}

extension StoreSalvage.Work {
  struct Segment {
    var path: String
    var salvage: SegmentSalvage
    var device: UInt64?
    var isFolded: Bool
    /// Where a torn tail begins, as opening sees it.
    var tornFrom: Int?
  }

  private struct SegmentFile {
    var number: UInt64
    var path: String
    var bytes: [UInt8]
    /// If it is whole.
    var header: SegmentHeader?
    /// CURRENT's snapshot has what is in it.
    var isFolded: Bool
  }

  private mutating func lose(_ path: String, _ offset: UInt64?, _ message: String) {
    losses.append(SalvageLoss(path: path, offset: offset, message: message))
  }

  /// Errors that are no damage end the repair: nothing is guessed of a newer version's files.
  private func damage(_ error: LogError) throws(LogError) -> LogError {
    switch error.reason {
    case .needsNewerVersion: throw error
    case .disk(let disk) where disk.reason != .notFound: throw error
    default: return error
    }
  }

  mutating func readCurrent() throws(LogError) -> CurrentFile? {
    let path = directory + "/" + FileName.current
    do throws(LogError) {
      guard var bytes = try DurableFile.read(path, limit: 4096, disk: machine.disk) else {
        throw LogError(.missing, path, "it is missing")
      }
      func isRight(_ bytes: [UInt8]) -> Bool { bytes.u64(at: 88) == XXH3.hash64(bytes, 0..<88) }
      if bytes.count == CurrentFile.size, !isRight(bytes),
        mend.mend(&bytes, 0..<bytes.count, length: bytes.count, isRight)
      {
        mendedBits += 1
      }
      let current = try CurrentFile(bytes, path: path)
      guard current.datastore == datastore else {
        throw LogError(.foreign, path, at: 16, "it belongs to another datastore")
      }
      return current
    } catch {
      let error = try damage(error)
      lose(
        path, error.offset, "\(error.detail); which snapshot and which segments count is worked "
          + "out from what there is")
      return nil
    }
  }

  private func list(_ part: String) throws(LogError) -> [DirectoryEntry] {
    do { return try machine.disk.list(directory + "/" + part) } catch {
      if error.reason == .notFound { return [] }
      throw LogError(error)
    }
  }

  mutating func readSegments(_ current: CurrentFile?) throws(LogError) -> [Segment] {
    var files: [SegmentFile] = []
    var devices: [UInt64] = current.map { [$0.device] } ?? []
    for entry in try list(FileName.log) {
      guard let number = FileName.segmentNumber(entry.name),
        number >= current?.firstKept ?? 1
      else { continue }
      let path = directory + "/" + FileName.log + "/" + entry.name
      let limit = Int(UInt32.max)
      guard let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) else {
        continue
      }
      var file = SegmentFile(
        number: number, path: path, bytes: bytes, header: nil,
        isFolded: number < current?.firstSegment ?? 1)
      do throws(LogError) {
        let header = try SegmentHeader(bytes, path: path)
        file.header = header
        if header.datastore == datastore, !devices.contains(header.device) {
          devices.append(header.device)
        }
      } catch { _ = try damage(error) }
      files.append(file)
    }
    files.sort { $0.number < $1.number }
    noteMissing(files.map(\.number), current)
    var result: [Segment] = []
    for file in files {
      // All others had a seal before there was a next segment, or a snapshot with what is in them.
      let isOpen = file.number == files.last?.number && !file.isFolded
      guard let segment = read(file, devices, isOpen: isOpen) else { continue }
      noteOtherDevice(file, segment, current)
      result.append(segment)
    }
    return result
  }

  private mutating func read(
    _ file: SegmentFile, _ devices: [UInt64], isOpen: Bool
  ) -> Segment? {
    let path = file.path
    guard
      let salvage = SegmentSalvage(
        file.bytes, datastore: datastore, devices: devices, number: file.number, mend: mend)
    else {
      noteUnreadable(file, isOpen: isOpen)
      return nil
    }
    mend = salvage.budget
    mendedBits += salvage.mended.count
    if salvage.isHeaderDamaged { lose(path, 0, "its header is damaged; its frames were found") }
    if !isOpen, !salvage.isSealed {
      lose(
        path, UInt64(salvage.end),
        "this closed segment has lost its end, from offset \(salvage.end) on; "
          + (file.isFolded ? Self.folded : "the deltas there are lost"))
    }
    let device = salvage.parts.lazy.compactMap { part -> UInt64? in
      if case .frame(let frame) = part, frame.kind == FrameKind.delta.rawValue {
        frame.device
      } else {
        nil
      }
    }.first
    return Segment(
      path: path, salvage: salvage, device: device, isFolded: file.isFolded,
      tornFrom: isOpen ? tornTail(salvage, file) : nil)
  }

  /// Opening refuses one of another copy. It is of this datastore all the same.
  private mutating func noteOtherDevice(
    _ file: SegmentFile, _ segment: Segment, _ current: CurrentFile?
  ) {
    guard let current, let header = file.header, header.datastore == datastore,
      header.device != current.device, !segment.salvage.parts.isEmpty
    else { return }
    lose(
      file.path, 32,
      "the segment is of another device; what is in it is used, and of the one that should be here "
        + (file.isFolded ? Self.folded : "the deltas are lost"))
  }

  private mutating func noteUnreadable(_ file: SegmentFile, isOpen: Bool) {
    if let header = file.header, header.datastore != datastore {
      lose(
        file.path, 16,
        "the segment belongs to another datastore and is left out; of the one that should be here, "
          + (file.isFolded ? Self.folded : "the deltas are lost"))
      return
    }
    // A crash came before anything was written to it.
    if isOpen, StoreOpening.isUnborn(file.bytes) { return }
    lose(
      file.path, 0,
      "nothing in this segment can be read; "
        + (file.isFolded ? Self.folded : "its deltas are lost"))
  }

  private static let folded = "what was there " + SegmentLoot.folded

  private func tornTail(_ salvage: SegmentSalvage, _ file: SegmentFile) -> Int? {
    // One with a damaged header, or at another place, is not cut off but refused.
    guard let scan = try? SegmentScan(salvage.bytes, path: file.path),
      scan.header.number == file.number, scan.header.datastore == datastore,
      case .torn = scan.ending
    else { return nil }
    return scan.end
  }

  private mutating func noteMissing(_ numbers: [UInt64], _ current: CurrentFile?) {
    let present = Set(numbers)
    // The last one that is only kept may be missing, with none behind it.
    let end = max(numbers.last ?? 0, current?.firstSegment ?? 0)
    let first = current?.firstKept ?? numbers.first ?? end
    // A bent number in CURRENT must not make a list without end.
    for number in first..<max(first, end) where !present.contains(number) {
      let path = directory + "/" + FileName.log + "/" + FileName.segment(number)
      let isFolded = number < current?.firstSegment ?? 1
      lose(
        path, nil,
        "the segment is missing; " + (isFolded ? Self.folded : "its deltas are lost"))
      if losses.count > 10_000 { return }
    }
  }

  /// Adopts what is left of the snapshot; returns its rows.
  mutating func loadSnapshot(
    _ current: CurrentFile?, _ tables: [String], into state: inout StoreState
  ) throws(LogError) -> Int {
    if let current, current.snapshot == 0 { return 0 }
    let numbers = try list(FileName.snapshots).compactMap { FileName.snapshotNumber($0.name) }
    // Without CURRENT it is a guess which one counts.
    if current == nil, !numbers.isEmpty { hasVector = false }
    guard let wanted = current?.snapshot ?? numbers.max() else { return 0 }
    let directory = directory + "/" + FileName.snapshots
    if !numbers.contains(wanted) {
      hasVector = false
      lose(
        directory + "/" + FileName.snapshot(wanted), nil,
        "the snapshot is missing; what is in it and not in the log behind it is lost here")
    }
    // Others were left by a crash; older or newer, they are better than nothing.
    let others = numbers.filter { $0 != wanted }.sorted(by: >)
    for number in numbers.contains(wanted) ? [wanted] + others : others {
      let path = directory + "/" + FileName.snapshot(number)
      let salvage = try SnapshotSalvage(
        path, disk: machine.disk, datastore: datastore, mend: mend)
      if !salvage.isForeign { return try rebuild(salvage, tables, into: &state) }
      hasVector = false
      lose(
        path, 16,
        "the snapshot belongs to another datastore and is left out; what was in the one that "
          + "should be here and is not in the log behind it is lost here")
    }
    return 0
  }

  private mutating func rebuild(
    _ salvage: SnapshotSalvage, _ tables: [String], into state: inout StoreState
  ) throws(LogError) -> Int {
    mend = salvage.budget
    mendedBits += salvage.mended.count
    var rebuild = SnapshotRebuild(salvage, datastore: datastore, candidates: tables)
    let new = scratch + "/" + FileName.temporary(machine.random.next())
    do throws(StoreError) {
      try rebuild.write(
        new, disk: machine.disk,
        spill: SpillPlace(machine: machine, directory: scratch, records: indexRecords))
      let reader: SnapshotReader
      do { reader = try SnapshotReader(new, disk: machine.disk, isOwn: true) } catch {
        throw StoreError(error)
      }
      let base = try BaseSnapshot(number: 1, reader: reader, budget: 64 << 20)
      state.adopt(base)
      if base.tableNumber(RuleBook.table) != nil { try state.readRulesOfBase() }
      if base.tableNumber(CutTable.name) != nil { try state.readCuts() }
    } catch { throw error.log ?? LogError(.corrupt, salvage.path, error.message) }
    losses += rebuild.losses
    unnamed = rebuild.unnamed
    // An older one does not say what is in the one that counts.
    hasVector = hasVector && rebuild.hasVector
    return rebuild.rows
  }

  /// Gives back what the snapshot has lost and the segments below it have; returns which records.
  func giveBack(
    _ segments: [Segment], _ current: CurrentFile?, to state: inout StoreState
  ) -> Set<TouchedRecord.Key> {
    // Rows of a table whose name is lost may be these very records.
    guard let current, unnamed.isEmpty, current.firstSegment > current.firstKept else { return [] }
    let folded = segments.filter(\.isFolded)
    guard UInt64(folded.count) == current.firstSegment - current.firstKept,
      var kept = KeptRecords(folded.map(\.salvage))
    else { return [] }
    let before = state
    do {
      try kept.run(into: &state)
      return kept.found
    } catch {
      // What of them can't be read is a loss of the segment; the snapshot's is told already.
      state = before
      return []
    }
  }

  /// Packs of own deltas that the log does not have. What lies under another number than CURRENT's
  /// is in the log, or was published, under another name, and would be applied twice.
  mutating func readOutbox(_ current: CurrentFile?) throws(LogError) -> [[UInt8]] {
    var files: [(first: UInt64, path: String)] = []
    for entry in try list("") {
      guard let number = FileName.outboxNumber(entry.name),
        number == current?.rejoinings ?? number
      else { continue }
      for file in try list(entry.name) {
        guard let range = FileName.published(file.name) else { continue }
        files.append((range.first, directory + "/" + entry.name + "/" + file.name))
      }
    }
    var packs: [[UInt8]] = []
    for (_, path) in files.sorted(by: { ($0.first, $0.path) < ($1.first, $1.path) }) {
      do throws(LogError) {
        let limit = PublishedSegment.fileBytesMax
        guard let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) else {
          continue
        }
        let segment = try PublishedSegment(bytes, name: path, datastore: datastore)
        packs.append(segment.pack)
      } catch {
        let error = try damage(error)
        lose(path, error.offset, "own deltas that were to be published: \(error.detail)")
      }
    }
    return packs
  }

  /// The state as a store, in the scratch directory.
  func shown(_ state: StoreState, device: UInt64) throws(LogError) -> Store {
    let lock: any DiskLock
    do { lock = try machine.disk.lock(scratch + "/" + FileName.lock) } catch {
      throw LogError(error)
    }
    let current = CurrentFile(
      flags: isLinked ? CurrentFile.flagLinked : 0, datastore: datastore, device: device,
      snapshot: 0, firstSegment: 1, firstKept: 1)
    var options = StoreOptions()
    options.compactsAutomatically = false
    return Store(
      StoreOpening.Result(
        directory: scratch, lock: lock, current: current, state: state, tail: LogTail(),
        notes: []),
      options: options, machine: machine)
  }
}
