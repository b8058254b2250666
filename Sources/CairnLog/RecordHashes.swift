import CairnBytes
import CairnDisk

/// The hashes of a snapshot's records in file order. A few of them are in memory; of many, all but
/// the last are in a temporary file, which needs no sync: nobody reads it after a crash.
final class RecordHashes {
  private let place: SpillPlace?
  private var file: (any DiskFile)?
  /// Of each piece of the file. What comes back wrong would be an index that misses records, and
  /// nobody would notice.
  private var checksums: [UInt64] = []
  /// Those behind the last piece.
  private var recent: [UInt64] = []
  private(set) var count = 0

  /// How many may be in memory; in a file they are in pieces of so many.
  let limit: Int
  private let pieceRecords: Int
  private var pieceBytes: Int { pieceRecords * 8 }

  init(_ place: SpillPlace?) {
    self.place = place
    limit = max(1, place?.records ?? .max)
    pieceRecords = min(1 << 17, limit)
  }

  /// Makes room for so many: growing, they would be there twice for a moment. Who says how many may
  /// be wrong: never too much.
  func expect(_ records: Int) {
    reserve(min(max(0, records), limit, 1 << 24))
  }

  private func reserve(_ records: Int) {
    recent.reserveCapacity(records + RecordHashes.blockRecords)
  }

  /// So many come at once at most, as a rule.
  private static let blockRecords = 1 << 12

  func append(_ hashes: [UInt64]) throws(LogError) {
    recent.append(contentsOf: hashes)
    count += hashes.count
    if let place, recent.count > (file == nil ? limit : pieceRecords) { try spill(place) }
  }

  private func spill(_ place: SpillPlace) throws(LogError) {
    var start = 0
    while recent.count - start >= pieceRecords {
      try write(Array(recent[start..<start + pieceRecords]), place)
      start += pieceRecords
    }
    let rest = recent[start...]
    recent = []
    reserve(pieceRecords)
    recent.append(contentsOf: rest)
  }

  private func write(_ piece: [UInt64], _ place: SpillPlace) throws(LogError) {
    var bytes: [UInt8] = []
    bytes.put(piece, less: 0, width: 8)
    let number = UInt64(checksums.count)
    do throws(DiskError) {
      if file == nil { file = try open(place) }
      try file?.write(bytes.span, at: number * UInt64(pieceBytes))
    } catch { throw LogError(error) }
    checksums.append(XXH3.hash64(bytes, seed: number))
  }

  private func open(_ place: SpillPlace) throws(DiskError) -> any DiskFile {
    let path = place.directory + "/" + FileName.temporary(place.machine.random.next())
    return try place.machine.disk.open(path, .create)
  }

  /// All of them, some at a time, with the number of the first.
  func each(
    _ body: (_ first: Int, _ hashes: [UInt64]) throws(LogError) -> Void
  ) throws(LogError) {
    if let file {
      for piece in checksums.indices { try body(piece * pieceRecords, try read(piece, of: file)) }
    }
    try body(count - recent.count, recent)
  }

  private func read(_ piece: Int, of file: any DiskFile) throws(LogError) -> [UInt64] {
    let bytes: [UInt8]
    do { bytes = try file.read(at: UInt64(piece * pieceBytes), count: pieceBytes) } catch {
      throw LogError(error)
    }
    guard bytes.count == pieceBytes,
      XXH3.hash64(bytes, seed: UInt64(piece)) == checksums[piece]
    else {
      // No damage of the datastore: the next attempt writes all of it anew.
      throw LogError(
        DiskError(
          reason: .io(errno: RecordHashes.ioError), operation: "read back", path: file.path,
          detail: "it is not what was written there just now"))
    }
    return (0..<pieceRecords).map { bytes.u64(at: $0 * 8) }
  }

  /// EIO, on every system.
  private static let ioError: Int32 = 5

  /// Removes the file. Best effort: one that stays is nowhere named, and goes with the next sweep.
  func discard() {
    guard let file else { return }
    self.file = nil
    file.close()
    do { try place?.machine.disk.remove(file.path) } catch {}
  }
}
