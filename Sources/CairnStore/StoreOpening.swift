import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge

/// Opens a store: lock, CURRENT, snapshot, and the log behind it.
struct StoreOpening {
  struct Result {
    var directory: String
    var lock: any DiskLock
    var current: CurrentFile
    var state: StoreState
    var tail: LogTail
    var notes: [RecoveryNote]
  }

  let directory: String
  let options: StoreOptions
  let machine: Machine
  private var notes: [RecoveryNote] = []

  static func run(
    _ directory: String, datastore: UInt128, isLinked: Bool, options: StoreOptions,
    machine: Machine
  ) throws(StoreError) -> Result {
    do throws(DiskError) {
      for part in ["", "/" + FileName.log, "/" + FileName.snapshots] {
        if try machine.disk.info(directory + part)?.kind != .directory {
          try machine.disk.createDirectory(directory + part)
        }
      }
    } catch { throw StoreError(LogError(error)) }
    let lock: any DiskLock
    do { lock = try machine.disk.lock(directory + "/" + FileName.lock) } catch {
      if error.reason == .locked {
        throw StoreError(.alreadyOpen, "the datastore in \(directory) is open already; \(error)")
      }
      throw StoreError(LogError(error))
    }
    var opening = StoreOpening(directory: directory, options: options, machine: machine)
    do throws(StoreError) {
      return try opening.open(lock, datastore: datastore, isLinked: isLinked)
    } catch {
      lock.unlock()
      throw error
    }
  }

  private init(directory: String, options: StoreOptions, machine: Machine) {
    self.directory = directory
    self.options = options
    self.machine = machine
  }

  private mutating func open(
    _ lock: any DiskLock, datastore: UInt128, isLinked: Bool
  ) throws(StoreError) -> Result {
    do throws(LogError) {
      var (current, isNew) = try readCurrent(datastore: datastore, isLinked: isLinked)
      let isUnsettled = current.isUnsettled
      current.isUnsettled = false
      var state = StoreState(
        device: DeviceID(rawValue: current.device), isAlone: !current.isLinked)
      if current.snapshot != 0 { try load(current, into: &state) }
      let numbers = try cleanUp(current, isUnsettled: isUnsettled)
      var tail = try replay(numbers, current, into: &state)
      // The first one has no snapshot, and nothing builds on it yet. Any other says so itself.
      tail.doubtsCurrent =
        isUnsettled || !isNew && current.snapshot == 0 && tail.segments.isEmpty
      return Result(
        directory: directory, lock: lock, current: current, state: state, tail: tail,
        notes: notes)
    } catch { throw StoreError(error) }
  }

  private func readCurrent(
    datastore: UInt128, isLinked: Bool
  ) throws(LogError) -> (current: CurrentFile, isNew: Bool) {
    let path = directory + "/" + FileName.current
    if let bytes = try DurableFile.read(path, limit: 4096, disk: machine.disk) {
      let current = try CurrentFile(bytes, path: path)
      guard current.datastore == datastore else {
        throw LogError(.foreign, path, at: 16, "it belongs to another datastore")
      }
      guard current.isLinked == isLinked else {
        throw LogError(
          .foreign, path, at: 12,
          current.isLinked
            ? "the datastore belongs to an account; open it with that account"
            : "the datastore is a local one; migrate it to the account first")
      }
      return (current, false)
    }
    let log = try list(directory + "/" + FileName.log)
    let snapshots = try list(directory + "/" + FileName.snapshots)
    guard log.isEmpty, !snapshots.contains(where: { FileName.snapshotNumber($0.name) != nil })
    else {
      throw LogError(
        .missing, path, "it is missing although there is a log or a snapshot; restore the file, or "
          + "the datastore")
    }
    var device = machine.random.next()
    while device == 0 { device = machine.random.next() }
    let current = CurrentFile(
      flags: isLinked ? CurrentFile.flagLinked : 0, datastore: datastore, device: device,
      snapshot: 0, firstSegment: 1, firstKept: 1)
    try current.write(directory: directory, machine: machine)
    return (current, true)
  }

  private func list(_ path: String) throws(LogError) -> [DirectoryEntry] {
    do { return try machine.disk.list(path) } catch { throw LogError(error) }
  }

  private func load(_ current: CurrentFile, into state: inout StoreState) throws(LogError) {
    let path =
      directory + "/" + FileName.snapshots + "/" + FileName.snapshot(current.snapshot)
    let reader = try SnapshotReader(path, disk: machine.disk, isOwn: true)
    guard reader.header.datastore == current.datastore else {
      throw LogError(.foreign, path, at: 16, "the snapshot belongs to another datastore")
    }
    do throws(StoreError) {
      let base = try BaseSnapshot(
        number: current.snapshot, reader: reader, budget: options.cacheBytes)
      state.adopt(base, lastOwnTime: current.lastOwnTime)
      if base.tableNumber(RuleBook.table) != nil { try state.readRulesOfBase() }
      if base.tableNumber(CutTable.name) != nil { try state.readCuts() }
    } catch { throw error.log ?? LogError(.corrupt, path, error.message) }
  }

  /// Returns the numbers of the segments that count, and removes those that a crash left behind.
  /// Other leftovers are in nobody's way and wait for the next compaction, so that opening looks
  /// at one directory only.
  private func cleanUp(
    _ current: CurrentFile, isUnsettled: Bool
  ) throws(LogError) -> [UInt64] {
    var numbers: [UInt64] = []
    var gone: [String] = []
    let log = directory + "/" + FileName.log
    for entry in try list(log) {
      guard let number = FileName.segmentNumber(entry.name) else { continue }
      if number >= current.firstKept {
        numbers.append(number)
      } else {
        gone.append(log + "/" + entry.name)
      }
    }
    if !gone.isEmpty, try settle(current, isUnsettled: isUnsettled) {
      for path in gone { remove(path) }
    }
    // Mostly there is one, and nothing to sort.
    return numbers.count < 2 ? numbers : numbers.sorted()
  }

  /// Makes sure that CURRENT is what a power cut leaves. Whoever replaced it may have been killed
  /// before its name was durable, or the sync of that has failed: then no later one can be
  /// believed, and it is written anew, with its flag if it has it: the first commit takes that
  /// away. False: what it replaced may still be needed.
  private func settle(
    _ current: CurrentFile, isUnsettled: Bool
  ) throws(LogError) -> Bool {
    do throws(LogError) {
      let found = isUnsettled ? current.unsettled : current
      try found.write(directory: directory, machine: machine)
    } catch {
      // Where there is no room it takes what goes now to make some.
      guard case .disk(let disk) = error.reason, disk.reason == .noSpace else { throw error }
      if isUnsettled { return false }
      do { try machine.disk.syncDirectory(directory) } catch { throw LogError(error) }
    }
    return true
  }

  /// Best effort: what can't be removed now is not named anywhere, and is tried again.
  private func remove(_ path: String) {
    do { try machine.disk.remove(path) } catch {}
  }

  private mutating func replay(
    _ numbers: [UInt64], _ current: CurrentFile, into state: inout StoreState
  ) throws(LogError) -> LogTail {
    var tail = LogTail()
    tail.nextNumber = max(current.firstSegment, (numbers.last ?? 0) + 1)
    // Before anything is opened or cut. Nobody would miss the last one until there is another one
    // behind it.
    var kept = current.firstKept
    for number in numbers where number == kept { kept += 1 }
    if kept < current.firstSegment { throw missing(kept) }
    var expected = current.firstKept
    for number in numbers {
      let path = directory + "/" + FileName.log + "/" + FileName.segment(number)
      guard number == expected else { throw missing(expected) }
      expected = number + 1
      let file: any DiskFile
      do { file = try machine.disk.open(path, .readWrite) } catch { throw LogError(error) }
      do throws(LogError) {
        let isLast = number == numbers.last
        if number < current.firstSegment, try keep(number, path, file, current, &tail) {
          file.close()
          continue
        }
        try replay(number, path, file, current, isLast: isLast, into: &state, &tail)
      } catch {
        file.close()
        throw error
      }
      if tail.segment == nil, tail.doubt == nil { file.close() }
    }
    return tail
  }

  /// Takes note of a segment that is in the snapshot and only kept until it is published: nothing
  /// of it is applied, and it is checked when it is published. Otherwise opening would read all
  /// that was written since the last exchange. Nothing of it is in doubt, either, be it the last:
  /// it was durable before CURRENT could name the snapshot. False: it has to be looked at.
  private func keep(
    _ number: UInt64, _ path: String, _ file: any DiskFile, _ current: CurrentFile,
    _ tail: inout LogTail
  ) throws(LogError) -> Bool {
    let size: UInt64
    do { size = try file.size() } catch { throw LogError(error) }
    guard let segment = try SealedSegment(file, size: size, path: path),
      segment.header.number == number, segment.header.datastore == current.datastore,
      segment.header.device == current.device
    else { return false }
    tail.segments.append(
      LogTail.SegmentInfo(
        number: number, lastOwn: segment.outline.lastOwn, bytes: segment.end))
    tail.chain = segment.outline.chain
    return true
  }

  private func missing(_ number: UInt64) -> LogError {
    let path = directory + "/" + FileName.log + "/" + FileName.segment(number)
    return LogError(.missing, path, "the segment is missing; restore it from a backup")
  }

  private mutating func replay(
    _ number: UInt64, _ path: String, _ file: any DiskFile, _ current: CurrentFile,
    isLast: Bool, into state: inout StoreState, _ tail: inout LogTail
  ) throws(LogError) {
    let size: UInt64
    let bytes: [UInt8]
    do {
      size = try file.size()
      guard size <= UInt64(UInt32.max) else {
        throw LogError(.limit, path, "\(size) bytes: no segment has that many")
      }
      bytes = try file.read(at: 0, count: Int(size))
    } catch let error as DiskError {
      throw LogError(error)
    } catch { throw error as? LogError ?? LogError(.corrupt, path, "\(error)") }
    // One that is in the snapshot had something in it, which was durable.
    let mayBeNew = isLast && number >= current.firstSegment
    if mayBeNew, StoreOpening.isUnborn(bytes) {
      try recreate(path, bytes, number: number, &tail)
      return
    }
    let scan = try SegmentScan(bytes, path: path)
    let foreign = LogError(.foreign, path, at: 16, "the segment belongs elsewhere")
    guard scan.header.number == number, scan.header.datastore == current.datastore else {
      throw foreign
    }
    // Its name may be one that no sync will ever make durable: the sync of that has failed, and so
    // has the removal. Behind a frame it can't be. The first commit makes it anew. It may be of the
    // name that the device had before.
    if mayBeNew, scan.frames.isEmpty, scan.ending == .clean {
      tail.nextNumber = number
      return
    }
    guard scan.header.device == current.device else { throw foreign }
    var reader = SegmentReplay(scan: scan, path: path)
    var info = LogTail.SegmentInfo(number: number)
    if number >= current.firstSegment {
      try reader.run(into: &state)
      tail.replayBytes += scan.end
    }
    info.lastOwn = scan.frames.last { $0.kind == FrameKind.delta.rawValue }?.sequence ?? 0
    info.bytes = scan.end
    tail.segments.append(info)
    try finish(scan, reader, path, file, isLast: isLast, &tail)
  }

  /// A file that a crash caught between its creation and its header's sync: nothing was in it,
  /// since frames are written behind a header that is durable. Its header may be there in part.
  static func isUnborn(_ bytes: [UInt8]) -> Bool {
    let size = SegmentHeader.size
    if bytes.count < size { return true }
    return !SegmentHeader.isWhole(bytes) && bytes[size...].allSatisfy { $0 == 0 }
  }

  private mutating func recreate(
    _ path: String, _ bytes: [UInt8], number: UInt64, _ tail: inout LogTail
  ) throws(LogError) {
    // A crash leaves the whole room of the new file or none of it. One that is shorter than its
    // header has been cut, or was never finished: nothing tells which, so it is said.
    if bytes.count < SegmentHeader.size {
      notes.append(
        RecoveryNote(
          path: path, offset: 0,
          message: "the newest segment had \(bytes.count) bytes, less than its header, and was "
            + "begun anew: a crash caught it before anything was written to it. If something else "
            + "has cut it, what was committed last is gone here; the account's folder may have it"))
    }
    remove(path)
    tail.nextNumber = number
  }

  private mutating func finish(
    _ scan: SegmentScan, _ reader: SegmentReplay, _ path: String, _ file: any DiskFile,
    isLast: Bool, _ tail: inout LogTail
  ) throws(LogError) {
    if isLast {
      let known = scan.frames.map { Int($0.durableThrough) }.max() ?? 0
      let offset = min(known, scan.end)
      let end = scan.ending == .sealed ? scan.bytes.count : scan.end
      tail.doubt = LogTail.Doubt(
        file: file, offset: offset, bytes: Array(scan.bytes[offset..<end]))
    }
    switch scan.ending {
    case .sealed:
      tail.chain = scan.footer?.chain ?? 0
      return
    case .corrupt(let end):
      throw LogError(
        .corrupt, path, at: UInt64(scan.end),
        "\(end - scan.end) bytes are damaged although they were durable once (a later frame says "
          + "so); the file is left as it is: restore it from a backup, or remove this copy and "
          + "fetch the datastore anew from its folder; `cairn verify` shows what is whole")
    case .torn(let count):
      guard isLast else {
        throw LogError(
          .corrupt, path, at: UInt64(scan.end), "a closed segment lost its end (\(count) bytes)")
      }
      try cut(scan, count, path, file)
    case .clean:
      guard isLast else {
        throw LogError(.truncated, path, at: UInt64(scan.end), "a closed segment lost its footer")
      }
    }
    tail.segment = ActiveSegment(
      header: scan.header, file: file, end: scan.end,
      allocated: scan.ending == .clean ? scan.bytes.count : scan.end, items: scan.items,
      previousChain: tail.chain)
    tail.encoder = DeltaEncoder(resuming: reader.decoder)
    // A dictionary that was not read (a segment only kept for publishing) can't be gone on with.
    tail.mustRotate = !reader.hasRun
  }

  /// Puts a torn tail aside and cuts the segment, so that nothing of it is ever read again.
  private mutating func cut(
    _ scan: SegmentScan, _ count: Int, _ path: String, _ file: any DiskFile
  ) throws(LogError) {
    let kept = try keepTail(scan, count, file)
    do throws(DiskError) {
      try file.truncate(to: UInt64(scan.end))
      try file.sync()
    } catch { throw LogError(error) }
    notes.append(
      RecoveryNote(
        path: path, offset: UInt64(scan.end),
        message: "cut off a torn tail of \(count) bytes that no sync had covered; it is kept in "
          + kept))
  }

  /// Keeps a torn tail, also on a full disk: what the log has reserved behind it may be the only
  /// room for the copy, and nothing is in there.
  private func keepTail(
    _ scan: SegmentScan, _ count: Int, _ file: any DiskFile
  ) throws(LogError) -> String {
    let tailEnd = min(scan.bytes.count, scan.end + count)
    let tail = Array(scan.bytes[scan.end..<tailEnd])
    let stem = "\(FileName.hex(scan.header.number))-\(scan.end)"
    do throws(LogError) { return try keep(tail, stem) } catch {
      guard case .disk(let disk) = error.reason, disk.reason == .noSpace,
        scan.bytes.count - tailEnd >= StoreOpening.roomWorthGiving
      else { throw error }
    }
    do { try file.truncate(to: UInt64(tailEnd)) } catch { throw LogError(error) }
    return try keep(tail, stem)
  }

  /// Less than a block of a file system gives no room to another file.
  private static let roomWorthGiving = 4096

  /// Puts bytes into quarantine under a name of their own, durably, and returns the path: where
  /// they were, they are cut off next.
  private func keep(_ bytes: [UInt8], _ stem: String) throws(LogError) -> String {
    let quarantine = directory + "/" + FileName.quarantine
    do { try machine.disk.createDirectory(quarantine) } catch { throw LogError(error) }
    machine.disk.sweepTemporaries(quarantine)
    var number = 1
    var name: String { "\(stem)\(number == 1 ? "" : "-\(number)").torn" }
    // What was cut off is written over, and a place can be torn again.
    while true {
      do {
        if try machine.disk.info(quarantine + "/" + name) == nil { break }
      } catch { throw LogError(error) }
      var old: [UInt8]?
      do throws(LogError) {
        old = try DurableFile.read(quarantine + "/" + name, limit: .max, disk: machine.disk)
      } catch {
        // What can't be read is another one.
      }
      // An earlier opening got this far; whether that is durable nobody knows.
      if old == bytes { break }
      number += 1
    }
    try DurableFile.replace(directory: quarantine, name: name, bytes: bytes, machine: machine)
    return quarantine + "/" + name
  }
}
