internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// Looks at the files of a closed datastore and changes none: for tools, and for people who open
/// one at night because something looks wrong. Holds the datastore's lock until `close()`.
public final class DatastoreInspector {
  private let inspection: StoreInspection

  /// - Throws: `notFound`, `alreadyOpen`, `corrupt` if not even CURRENT can be read.
  public init(root: String, id: String) throws(CairnError) {
    guard Identifier.isValidDatastore(id) else {
      throw CairnError(.illegalArgument, "\"\(id)\" can't be a datastore's id", id: id)
    }
    let directory = root + "/" + FileName.directory(datastore: id)
    do throws(StoreError) {
      inspection = try StoreInspection(directory, machine: .real)
    } catch {
      if let log = error.log, log.reason == .missing {
        throw CairnError(
          .notFound, "there is no datastore \(id) in \(root)", file: directory, id: id)
      }
      throw CairnError(error)
    }
  }

  public func close() { inspection.close() }

  deinit { inspection.close() }

  /// This device's name in the datastore.
  public var device: String { DeviceID(rawValue: inspection.current.device).description }
  public var isLinked: Bool { inspection.current.isLinked }

  /// A file of the local log.
  public struct Segment: Hashable, Sendable {
    public var file: String
    public var bytes: UInt64
    public var frames: Int
    /// Own deltas in it, the last one's number, 0 if there are none.
    public var lastOwnDelta: UInt64
    public var isSealed: Bool
    /// Its content is in the snapshot; it is kept until its deltas are published.
    public var isFolded: Bool
    /// What is wrong with it, nil if nothing is.
    public var problem: String?
  }

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
    public var device: String
    public var sequence: UInt64
    public var time: Timestamp
    public var records: Int
    public var fields: Int
    /// Bytes that it takes in the log, unpacked.
    public var bytes: Int
    public var tables: [String]
    public var segment: UInt64
    public var offset: Int
    public var isFetched: Bool
  }

  /// The deltas behind the snapshot, in the order in which they became visible here.
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

  /// What a check of every byte found.
  public struct VerifyReport: Hashable, Sendable {
    public struct Problem: Hashable, Sendable {
      public var file: String
      public var offset: UInt64?
      public var message: String
    }

    public var files = 0
    public var bytes: UInt64 = 0
    public var frames = 0
    public var deltas = 0
    /// Rows of the snapshot, deleted records that are remembered among them.
    public var rows = 0
    public var problems: [Problem] = []
  }

  /// Checks every byte: lengths, checksums, structure, and that the index finds every record.
  /// `progress` is called now and then with bytes done and bytes in all.
  public func verify(
    progress: (UInt64, UInt64) -> Void = { _, _ in }
  ) throws(CairnError) -> VerifyReport {
    var report = VerifyReport()
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
    for segment in segments {
      report.files += 1
      report.bytes += segment.bytes
      report.frames += segment.scan?.frames.count ?? 0
      if let problem = segment.problem {
        report.problems.append(VerifyReport.Problem(StoreError(problem)))
      }
      do throws(StoreError) {
        try inspection.deltas(segment) { _ in report.deltas += 1 }
      } catch { report.problems.append(VerifyReport.Problem(error)) }
      progress(report.bytes, snapshotBytes + logBytes)
    }
    return report
  }
}

extension DatastoreInspector.VerifyReport.Problem {
  init(_ error: StoreError) {
    self.init(
      file: error.log?.path ?? "", offset: error.log?.offset,
      message: error.log?.detail ?? error.message)
  }
}
