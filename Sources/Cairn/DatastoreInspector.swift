internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// Looks at the files of a closed datastore and changes none: for tools, and for people who open
/// one at night because something looks wrong. Holds the datastore's lock until `close()`, but on a
/// disk that takes no writes: there it is enough that nobody has it. For one thread at a time: it
/// is not `Sendable`.
public final class DatastoreInspector {
  private let inspection: StoreInspection
  /// What is wrong with CATALOGUE: nothing here depends on that, but no datastore of the root can
  /// be opened.
  private let listDamage: LogError?

  /// - Throws: `notFound`, `alreadyOpen`, `corrupt` if not even CURRENT can be read, or if that is
  ///   missing although there is more.
  public init(root: String, id: String) throws(CairnError) {
    guard Identifier.isValidDatastore(id) else {
      throw CairnError(.illegalArgument, "\"\(id)\" can't be a datastore's id", id: id)
    }
    let root = PathName.root(root)
    let (directory, damage) = try DatastoreInspector.directory(root, id)
    listDamage = damage
    do throws(StoreError) {
      inspection = try StoreInspection(directory, machine: .real)
    } catch {
      if let log = error.log, log.reason == .missing {
        try LostCurrent.check(directory, id: id, disk: Machine.real.disk)
        throw CairnError(
          .notFound, "there is no datastore \(id) in \(root)", file: directory, id: id)
      }
      throw CairnError(error)
    }
  }

  /// Where its files are, and what is wrong with the list that says which generation counts.
  private static func directory(
    _ root: String, _ id: String
  ) throws(CairnError) -> (path: String, listDamage: LogError?) {
    if let followed = try FollowFile.read(root, .real), followed.id == id {
      return (root + "/" + FileName.followed, nil)
    }
    let list = root + "/" + FileName.installation
    do throws(LogError) {
      let limit = InstallationFile.bytesMax
      var generation: UInt32 = 0
      if let bytes = try DurableFile.read(list, limit: limit, disk: Machine.real.disk) {
        generation = try InstallationFile(bytes, path: list).entry(id).generation
      }
      return (root + "/" + FileName.directory(datastore: id, generation: generation), nil)
    } catch {
      let problem = CairnError(error)
      guard problem.code == .corrupt, let newest = try newest(root, id) else { throw problem }
      return (newest, error)
    }
  }

  /// The directory of the highest generation that is here.
  private static func newest(_ root: String, _ id: String) throws(CairnError) -> String? {
    let entries: [DirectoryEntry]
    do {
      entries = try Machine.real.disk.list(
        root, only: { FileName.generation(directory: $0)?.id == id })
    } catch { throw CairnError(error) }
    let generations = entries.compactMap { entry in
      FileName.generation(directory: entry.name).flatMap { $0.id == id ? $0.generation : nil }
    }
    return generations.max().map { generation in
      root + "/" + FileName.directory(datastore: id, generation: generation)
    }
  }

  /// Gives the lock back.
  public func close() { inspection.close() }

  deinit { inspection.close() }

  /// This device's name in the datastore.
  public var device: String { DeviceID(rawValue: inspection.current.device).description }
  /// Whether it belongs to an account.
  public var isLinked: Bool { inspection.current.isLinked }

  /// A file of the local log.
  public struct Segment: Hashable, Sendable {
    /// Path of the file.
    public var file: String
    /// Its length.
    public var bytes: UInt64
    /// Good frames in it.
    public var frames: Int
    /// Own deltas in it, the last one's number, 0 if there are none.
    public var lastOwnDelta: UInt64
    /// Whether its footer is there: nothing is written to it any more.
    public var isSealed: Bool
    /// Its content is in the snapshot; it is kept until its deltas are published.
    public var isFolded: Bool
    /// What is wrong with it, nil if nothing is.
    public var problem: String?
  }

  /// The files of the log, oldest first.
  public func segments() throws(CairnError) -> [Segment] {
    try wrapped { () throws(StoreError) in try inspection.segments() }.map { segment in
      let frames = segment.scan?.frames ?? []
      return Segment(
        file: segment.path, bytes: segment.bytes, frames: frames.count,
        lastOwnDelta: frames.last { $0.kind == FrameKind.delta.rawValue }?.sequence ?? 0,
        isSealed: segment.scan?.ending == .sealed, isFolded: segment.isFolded,
        problem: segment.problem?.description)
    }
  }

  /// A delta of the local log.
  public struct Delta: Hashable, Sendable {
    /// The device that wrote it, 16 hex digits.
    public var device: String
    /// Its number among that device's deltas.
    public var sequence: UInt64
    /// When it was committed, by that device's clock.
    public var time: Timestamp
    /// Records that it changes.
    public var records: Int
    /// Fields that it writes.
    public var fields: Int
    /// Bytes that it takes in the log, unpacked.
    public var bytes: Int
    /// Tables that it changes.
    public var tables: [String]
    /// Number of the log file that has it.
    public var segment: UInt64
    /// Where its frame starts in that file.
    public var offset: Int
    /// Whether it came from another device.
    public var isFetched: Bool
  }

  /// The deltas of the log, in the order in which they became visible here: those behind the
  /// snapshot, and before them those that are folded into it, as long as their file is kept
  /// (`Segment.isFolded`).
  public func deltas() throws(CairnError) -> [Delta] {
    var result: [Delta] = []
    try wrapped { () throws(StoreError) in
      for segment in try inspection.segments() {
        try inspection.deltas(segment) { found in
          result.append(
            Delta(
              device: found.dot.device.description, sequence: found.dot.sequence,
              time: Timestamp(millisecondsSince1970: found.time), records: found.records,
              fields: found.cells, bytes: found.bytes, tables: found.tables,
              segment: found.segment, offset: found.offset, isFetched: found.isFetched))
        }
      }
    }
    return result
  }

  /// What a check of the files found.
  public struct VerifyReport: Hashable, Sendable {
    /// Something that is wrong.
    public struct Problem: Hashable, Sendable {
      /// Path of the file.
      public var file: String
      /// Where in the file, in bytes.
      public var offset: UInt64?
      /// What is wrong.
      public var message: String
      /// False for the trace of a mere crash, and for a fetched file that waits: nothing that was
      /// acknowledged is in it. The next open removes the one, and the other is fetched again.
      /// False as well for what `isUnread`.
      public var isDamage: Bool
      /// The file is a newer version's, or the disk did not give it: whether it is damaged nobody
      /// can tell here, and what mends damage is not for it.
      public var isUnread = false
    }

    /// Files that were read.
    public var files = 0
    /// Bytes that were read.
    public var bytes: UInt64 = 0
    /// Good frames of the log.
    public var frames = 0
    /// Deltas in them.
    public var deltas = 0
    /// Rows of the snapshot, deleted records that are remembered among them.
    public var rows = 0
    /// What is wrong; empty if all is well.
    public var problems: [Problem] = []
  }

  /// Reads the snapshot, the log, the trash, attachments, PUBLISHED, own deltas that wait outside
  /// of the log to be published, and what was fetched and waits to be merged, to the last byte:
  /// lengths, checksums, structure, that the index finds every record, and that each delta of the
  /// log comes behind what it builds on. Other files, such as CHAINS, are not looked into; of INFO
  /// it believes how many deltas there were, and of CATALOGUE it says what opening the datastore
  /// would. `progress` is called now and then with bytes done and bytes in all.
  public func verify(
    progress: (UInt64, UInt64) -> Void = { _, _ in }
  ) throws(CairnError) -> VerifyReport {
    var report = VerifyReport()
    if let listDamage { report.problems.append(VerifyReport.Problem(StoreError(listDamage))) }
    let info = LostEnd.info(inspection.directory, disk: Machine.real.disk)
    let segments = try wrapped { () throws(StoreError) in try inspection.segments() }
    let logBytes = segments.reduce(0) { $0 + $1.bytes }
    var snapshotBytes: UInt64 = 0
    do throws(StoreError) {
      let result = try inspection.checkSnapshot { done, all in
        progress(UInt64(done), UInt64(all))
      }
      snapshotBytes = result.bytes
      report.rows = result.rows
      if inspection.snapshotPath != nil { report.files += 1 }
    } catch { report.problems.append(VerifyReport.Problem(error)) }
    report.bytes = snapshotBytes
    if let missing = inspection.missingFirst(of: segments) {
      report.problems.append(VerifyReport.Problem(StoreError(missing)))
    }
    var order = inspection.order(of: segments)
    var here = LostEnd.base(inspection.snapshotPath, disk: Machine.real.disk)
    for segment in segments {
      report.files += 1
      report.bytes += segment.bytes
      report.frames += segment.scan?.frames.count ?? 0
      if let problem = segment.problem {
        report.problems.append(
          VerifyReport.Problem(StoreError(problem), isDamage: !segment.isTorn))
      }
      do throws(StoreError) {
        try inspection.deltas(segment, following: &order) { delta in
          report.deltas += 1
          here?.insert(delta.dot)
        }
      } catch { report.problems.append(VerifyReport.Problem(error)) }
      progress(report.bytes, snapshotBytes + logBytes)
    }
    verifyEnd(&report, info, here)
    try verifyOtherFiles(&report)
    try verifyBlobs(&report)
    try verifyTrash(&report)
    return report
  }

  /// The snapshot and the log have all that INFO knows of. Of what is damaged, or is a newer
  /// version's, nobody knows how much it has; what is followed is all in its folder.
  private func verifyEnd(
    _ report: inout VerifyReport, _ info: InfoFile?, _ here: VersionVector?
  ) {
    let directory = inspection.directory
    guard let here, report.problems.allSatisfy({ !$0.isDamage && !$0.isUnread }),
      !directory.hasSuffix("/" + FileName.followed),
      let message = LostEnd.message(directory, inspection.current, info, here: here)
    else { return }
    let file = directory + "/" + FileName.info
    report.problems.append(
      VerifyReport.Problem(file: file, offset: nil, message: message, isDamage: true))
  }

  /// What other devices have deleted: nothing but that depends on it.
  private func verifyTrash(_ report: inout VerifyReport) throws(CairnError) {
    let (directory, identity) = (inspection.directory, inspection.current.datastore)
    do throws(DiskError) {
      for file in try TrashCheck.files(directory, of: identity, disk: Machine.real.disk) {
        report.files += 1
        report.bytes += file.bytes
        guard let problem = file.problem else { continue }
        report.problems.append(VerifyReport.Problem(StoreError(problem)))
      }
    } catch { throw CairnError(error) }
  }

  /// The contents of attachments must be what their names say.
  private func verifyBlobs(_ report: inout VerifyReport) throws(CairnError) {
    let directory = inspection.directory + "/" + FileName.blobs
    do throws(DiskError) {
      for file in try BlobCheck.files(directory, disk: Machine.real.disk) {
        report.files += 1
        report.bytes += file.bytes
        guard let problem = file.problem else { continue }
        report.problems.append(
          VerifyReport.Problem(file: file.path, offset: nil, message: problem, isDamage: true))
      }
    } catch { throw CairnError(error) }
  }

  private func verifyOtherFiles(_ report: inout VerifyReport) throws(CairnError) {
    let files = try wrapped { () throws(StoreError) in try inspection.otherFiles() }
    let current = inspection.current
    var published: UInt64 = 0
    for file in files {
      report.files += 1
      report.bytes += UInt64(file.bytes.count)
      var isDamage = true
      do throws(LogError) {
        switch file.kind {
        case .publication:
          let publication = try PublicationFile(file.bytes, path: file.path)
          let head = try Head(
            publication.head, name: file.path, datastore: current.datastore)
          if head.device.rawValue == current.device { published = head.last }
        case .own(let last):
          // What the folder has is not needed here any more.
          isDamage = last > published
          _ = try PublishedSegment(file.bytes, name: file.path, datastore: current.datastore)
        case .fetched:
          // What waits in the inbox was never synced: a power cut may take any of it.
          isDamage = false
          let segment = try PublishedSegment(
            file.bytes, name: file.path, datastore: current.datastore)
          try Exchange.verify(segment, file.path)
        }
      } catch {
        report.problems.append(VerifyReport.Problem(StoreError(error), isDamage: isDamage))
      }
    }
  }
}

extension DatastoreInspector.VerifyReport.Problem {
  /// - Parameter isDamage: Whether it is if the file was read.
  init(_ error: StoreError, isDamage: Bool = true) {
    let isUnread = isDamage && error.log?.saysUnread == true
    self.init(
      file: error.log?.path ?? "", offset: error.log?.offset,
      message: error.log?.detail ?? error.message, isDamage: isDamage && !isUnread,
      isUnread: isUnread)
  }
}
