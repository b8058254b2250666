import CairnBytes
package import CairnDisk
package import CairnLog

/// Looks at the files of a closed store without changing any: what there is, and whether all of it
/// is whole.
package struct StoreInspection {
  package let directory: String
  package let current: CurrentFile
  private let machine: Machine
  /// nil where nothing is locked, or can be.
  private let lock: (any DiskLock)?

  package init(_ directory: String, machine: Machine) throws(StoreError) {
    self.directory = directory
    self.machine = machine
    do throws(LogError) {
      let path = directory + "/" + FileName.current
      guard let bytes = try DurableFile.read(path, limit: 4096, disk: machine.disk) else {
        throw LogError(.missing, path, "there is no datastore here")
      }
      current = try CurrentFile(bytes, path: path)
      do { lock = try StoreInspection.lock(directory, machine.disk) } catch {
        throw LogError(error)
      }
    } catch {
      if case .disk(let disk) = error.reason, disk.reason == .locked {
        throw StoreError(
          .alreadyOpen, "the datastore in \(directory) is open elsewhere (\(disk)); close it first")
      }
      throw StoreError(error)
    }
  }

  /// Where the disk takes no writes it can't be locked, nor opened by others. But who has it open
  /// elsewhere may write: another mount of the same disk need not be read-only.
  private static func lock(
    _ directory: String, _ disk: any Disk
  ) throws(DiskError) -> (any DiskLock)? {
    let path = directory + "/" + FileName.lock
    do { return try disk.lock(path) } catch {
      if error.reason != .readOnly { throw error }
    }
    guard let holder = try disk.lockHolder(path) else { return nil }
    throw DiskError(reason: .locked, operation: "lock", path: path, detail: holder)
  }

  /// Looks at files that somebody may be using: what is at the end of the log may be half written.
  package init(unlocked directory: String, current: CurrentFile, machine: Machine) {
    self.directory = directory
    self.current = current
    self.machine = machine
    lock = nil
  }

  package func close() { lock?.unlock() }

  var disk: any Disk { machine.disk }

  package var snapshotPath: String? {
    current.snapshot == 0
      ? nil : directory + "/" + FileName.snapshots + "/" + FileName.snapshot(current.snapshot)
  }

  /// A segment of the log.
  package struct Segment: Sendable {
    package var path: String
    package var number: UInt64
    package var bytes: UInt64
    /// nil if the file can't be taken apart; `problem` says why.
    package var scan: SegmentScan?
    package var problem: LogError?
    /// Only kept until its deltas are published; its content is in the snapshot.
    package var isFolded: Bool
    /// Its problem is what a crash leaves at the end of the log: the next open mends it.
    package var isTorn = false
  }

  package func segments() throws(StoreError) -> [Segment] {
    var result: [Segment] = []
    let log = directory + "/" + FileName.log
    do throws(DiskError) {
      let entries = try machine.disk.list(log, only: { FileName.segmentNumber($0) != nil })
      for entry in entries {
        guard let number = FileName.segmentNumber(entry.name), number >= current.firstKept else {
          continue
        }
        result.append(
          Segment(
            path: log + "/" + entry.name, number: number, bytes: entry.info.size,
            isFolded: number < current.firstSegment))
      }
    } catch { throw StoreError(LogError(error)) }
    result.sort { $0.number < $1.number }
    for index in result.indices { load(&result[index], isLast: index == result.count - 1) }
    for index in result.indices.dropFirst() {
      check(&result[index], after: result[index - 1])
    }
    return result
  }

  /// The first segment that is missing before all others, or behind the last one of those that are
  /// only kept; nil if none is. One that is missing between two is a problem of the second.
  package func missingFirst(of segments: [Segment]) -> LogError? {
    guard let first = segments.first, let last = segments.last else {
      return current.firstKept < current.firstSegment ? missing(current.firstKept) : nil
    }
    if first.number != current.firstKept { return missing(current.firstKept) }
    return last.number + 1 < current.firstSegment ? missing(last.number + 1) : nil
  }

  private func missing(_ number: UInt64) -> LogError {
    let path = directory + "/" + FileName.log + "/" + FileName.segment(number)
    return LogError(.missing, path, "the segment is missing")
  }

  /// A segment follows the one before it, in number and by its chain hash.
  private func check(_ segment: inout Segment, after previous: Segment) {
    guard segment.problem == nil else { return }
    if segment.number != previous.number + 1 {
      segment.problem = LogError(
        .missing, segment.path, "segment \(FileName.hex(previous.number + 1)) is missing before it")
    } else if let footer = segment.scan?.footer, let before = previous.scan?.footer,
      footer.previous != before.chain
    {
      segment.problem = LogError(
        .foreign, segment.path, "its chain hash is not that of the segment before it")
    }
  }

  private func load(_ segment: inout Segment, isLast: Bool) {
    do throws(LogError) {
      guard
        let bytes = try DurableFile.read(
          segment.path, limit: Int(UInt32.max), disk: machine.disk)
      else { throw LogError(.missing, segment.path, "the file is gone") }
      // What is in the snapshot was whole and durable before that was there.
      let mayBeTorn = isLast && !segment.isFolded
      if mayBeTorn, StoreOpening.isUnborn(bytes) {
        segment.isTorn = true
        throw LogError(
          .truncated, segment.path, at: 0,
          "it has no header yet: a crash came before its first frame, and the next open makes it "
            + "anew")
      }
      let scan = try SegmentScan(bytes, path: segment.path)
      segment.scan = scan
      guard scan.header.number == segment.number, scan.header.datastore == current.datastore else {
        throw LogError(.foreign, segment.path, at: 16, "the segment belongs elsewhere")
      }
      // The last one may be of the name before, as long as nothing is in it.
      let isUnused = mayBeTorn && scan.frames.isEmpty && scan.ending == .clean
      guard scan.header.device == current.device || isUnused else {
        throw LogError(.foreign, segment.path, at: 32, "the segment is of another device")
      }
      switch scan.ending {
      case .sealed: break
      // An open cuts off a torn end and leaves the frames before it, also in one that is folded.
      case .clean where mayBeTorn || isLast && !scan.frames.isEmpty: break
      case .clean:
        throw LogError(.truncated, segment.path, at: UInt64(scan.end), "the footer is missing")
      case .torn(let count) where mayBeTorn:
        segment.isTorn = true
        throw LogError(
          .truncated, segment.path, at: UInt64(scan.end),
          "\(count) bytes at the end are no frame and nothing vouches for them: a torn write, "
            + "which the next open cuts off")
      case .torn(let count):
        throw LogError(
          .corrupt, segment.path, at: UInt64(scan.end),
          "\(count) bytes at the end are no frame: a closed segment lost its end")
      case .corrupt(let end):
        throw LogError(
          .corrupt, segment.path, at: UInt64(scan.end),
          "\(end - scan.end) bytes that were durable are damaged")
      }
    } catch { segment.problem = error }
  }

  /// A file besides the snapshot and the log.
  package struct OtherFile: Sendable {
    package enum Kind: Sendable {
      /// The record of what was published.
      case publication
      /// Fetched, and waits.
      case fetched
      /// Own deltas up to a number that the log does not have, of this device's present name.
      case own(last: UInt64)
    }

    package var path: String
    package var kind: Kind
    package var bytes: [UInt8]
  }

  /// The record of what was published, own deltas that wait for that, and files that were fetched
  /// and wait.
  package func otherFiles() throws(StoreError) -> [OtherFile] {
    var result: [OtherFile] = []
    do throws(LogError) {
      let published = directory + "/" + FileName.publication
      if let bytes = try DurableFile.read(published, limit: 1 << 26, disk: machine.disk) {
        result.append(OtherFile(path: published, kind: .publication, bytes: bytes))
      }
      let outbox = directory + "/" + FileName.outbox(current.rejoinings)
      for file in try publishedFiles(outbox) where file.range.device == current.device {
        let kind = OtherFile.Kind.own(last: file.range.last)
        result.append(OtherFile(path: file.path, kind: kind, bytes: file.bytes))
      }
      for file in try publishedFiles(directory + "/" + FileName.inbox) {
        result.append(OtherFile(path: file.path, kind: .fetched, bytes: file.bytes))
      }
    } catch { throw StoreError(error) }
    return result
  }

  private func publishedFiles(
    _ directory: String
  ) throws(LogError) -> [(path: String, range: FileName.Published, bytes: [UInt8])] {
    var result: [(path: String, range: FileName.Published, bytes: [UInt8])] = []
    for name in try publishedNames(directory) {
      guard let range = FileName.published(name) else { continue }
      let path = directory + "/" + name
      let limit = PublishedSegment.fileBytesMax
      if let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) {
        result.append((path, range, bytes))
      }
    }
    return result
  }

  private func publishedNames(_ directory: String) throws(LogError) -> [String] {
    do {
      return try machine.disk.list(directory, only: { FileName.published($0) != nil }).map(\.name)
    } catch {
      if error.reason == .notFound { return [] }
      throw LogError(error)
    }
  }

  /// Every byte of the snapshot.
  package func checkSnapshot(
    progress: (Int, Int) -> Void
  ) throws(StoreError) -> SnapshotCheck.Result {
    guard let path = snapshotPath else { return SnapshotCheck.Result() }
    return try SnapshotCheck.run(
      path, datastore: current.datastore, disk: machine.disk, progress: progress)
  }
}
