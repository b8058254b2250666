import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge

/// The trash of one datastore: what other devices' deltas have deleted, as it was here. It is never
/// synced, and bounded in age and bytes; the oldest goes first.
package struct RecordTrash: Sendable {
  package let directory: String
  let datastore: UInt128
  let machine: Machine
  let milliseconds: Int64
  let bytesMax: Int

  /// A file is at most so large.
  static let fileBytesMax = 1 << 30

  init(store directory: String, datastore: UInt128, options: StoreOptions, machine: Machine) {
    self.directory = directory + "/" + FileName.trash
    self.datastore = datastore
    self.machine = machine
    milliseconds = options.trashMilliseconds
    bytesMax = min(options.trashBytes, RecordTrash.fileBytesMax)
  }

  /// Whether anything is kept at all.
  var isOn: Bool { milliseconds > 0 && bytesMax > 0 }

  /// Room for records that are about to go, none of which is in it yet.
  func room() -> RecordsToKeep { RecordsToKeep(bytesMax: bytesMax) }

  /// What records that are about to go have changed in the trash.
  struct Kept {
    /// Their files: if they stay these have to go.
    var paths: [String]
    /// Files that have to go for them, once they are gone.
    var outdated: [String]
    /// Records that have made room already, whether or not others go.
    var gone: UInt64 = 0
  }

  /// Writes the records that are about to go: durably, if commits are. Whoever does delete them
  /// after that removes what is outdated; whoever does not, what was written.
  func keep(_ records: RecordsToKeep, durable: Bool) throws(StoreError) -> Kept {
    do throws(DiskError) { try machine.disk.createDirectory(directory) } catch {
      throw StoreError(LogError(error))
    }
    let outdated = outdated(room: records.bytes)
    let notKept = RecordTrash.sum(records.notKept, outdated.count)
    do throws(LogError) {
      let paths = try write(records, notKept: notKept, durable: durable)
      return Kept(paths: paths, outdated: outdated.paths)
    } catch {
      // On a full disk there is no other way than to make room first.
      guard case .disk(let disk) = error.reason, disk.reason == .noSpace, !outdated.paths.isEmpty
      else { throw StoreError(error) }
      remove(outdated.paths)
      do throws(LogError) {
        let paths = try write(records, notKept: notKept, durable: durable)
        return Kept(paths: paths, outdated: [], gone: outdated.count)
      } catch {
        noteGone(outdated.count)
        throw StoreError(error)
      }
    }
  }

  /// Nothing of what was kept goes after all.
  func takeBack(_ kept: Kept) {
    remove(kept.paths)
    noteGone(kept.gone)
  }

  /// On a full disk: what was to go for others that could not be logged makes room for the next
  /// try.
  func makeRoom(_ kept: Kept) {
    let gone = kept.outdated.reduce(UInt64(0)) { RecordTrash.sum($0, count(in: $1)) }
    remove(kept.outdated)
    noteGone(gone)
  }

  /// A file without records tells of some that have made room for nothing. Best effort.
  private func noteGone(_ count: UInt64) {
    if count == 0 { return }
    do throws(LogError) {
      _ = try write(RecordsToKeep(bytesMax: bytesMax), notKept: count, durable: false)
    } catch {}
  }

  private func write(
    _ records: RecordsToKeep, notKept: UInt64, durable: Bool
  ) throws(LogError) -> [String] {
    let time = machine.clock.now()
    let parts = records.parts.isEmpty ? [RecordsToKeep.Part()] : records.parts
    var paths: [String] = []
    do throws(LogError) {
      var number = try nextNumber(time)
      for (index, part) in parts.enumerated() {
        while try isThere(number) { number += 1 }
        // The last one stays longest.
        let isLast = index == parts.count - 1
        let bytes = DeletedFile.encoded(
          datastore: datastore, time: time, notKept: isLast ? notKept : 0, count: part.count,
          content: part.content)
        // It may have its name already when that fails.
        paths.append(directory + "/" + FileName.deleted(number))
        try DurableFile.replace(
          directory: directory, name: FileName.deleted(number), bytes: bytes, machine: machine,
          durable: durable)
      }
      return paths
    } catch {
      // Nothing goes now.
      remove(paths)
      throw error
    }
  }

  /// Best effort: what stays is too much, or is not listed, and goes with a later purge.
  func remove(_ paths: [String]) {
    for path in paths { do { try machine.disk.remove(path) } catch {} }
  }

  /// In a file there may be any number.
  static func sum(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let (sum, isTooMuch) = a.addingReportingOverflow(b)
    return isTooMuch ? .max : sum
  }

  /// Behind all others, also by a clock that was put back: what was deleted last is what comes
  /// back, and goes last.
  private func nextNumber(_ time: Int64) throws(LogError) -> UInt64 {
    do throws(DiskError) {
      // A file may have any number as its name, and some have to follow.
      let last = try files().last { $0.number < UInt64(Int64.max) }
      return max(UInt64(max(0, time)), last.map { $0.number + 1 } ?? 0)
    } catch { throw LogError(error) }
  }

  private func isThere(_ number: UInt64) throws(LogError) -> Bool {
    do { return try machine.disk.info(directory + "/" + FileName.deleted(number)) != nil } catch {
      throw LogError(error)
    }
  }

  private func files() throws(DiskError) -> [(number: UInt64, path: String, bytes: UInt64)] {
    guard try machine.disk.info(directory) != nil else { return [] }
    return try machine.disk.list(directory).compactMap { entry in
      FileName.deletedNumber(entry.name).map {
        ($0, directory + "/" + entry.name, entry.info.size)
      }
    }.sorted { $0.number < $1.number }
  }

  /// Removes what crashes left half written. Not while anybody may put something there.
  func sweep() { machine.disk.sweepTemporaries(directory) }

  /// Removes what is too old, and the oldest beyond the bytes. Best effort: it is tried again.
  func purge() { remove(outdated().paths) }

  /// The files that are too old, and the oldest beyond the bytes if there are `room` more; and how
  /// many records make room before their time, and had before.
  private func outdated(room: Int = 0) -> (paths: [String], count: UInt64) {
    let now = machine.clock.now()
    var result: (paths: [String], count: UInt64) = ([], 0)
    do {
      let files = try files()
      var total = files.reduce(UInt64(room)) { $0 + $1.bytes }
      for oldest in files {
        let isOver = isOld(oldest.number, now)
        guard isOver || total > UInt64(bytesMax) else { continue }
        // Without a new file there is none to say so.
        let count = isOver || room == 0 ? 0 : count(in: oldest.path)
        result.paths.append(oldest.path)
        result.count = RecordTrash.sum(result.count, count)
        total -= oldest.bytes
      }
    } catch {}
    return result
  }

  /// The records of a file, and those that it says were too many; 0 if it can't be read, as nobody
  /// could have had them back.
  private func count(in path: String) -> UInt64 {
    do throws(LogError) {
      guard let file = try read(path) else { return 0 }
      return RecordTrash.sum(file.notKept, UInt64(file.records.count))
    } catch { return 0 }
  }

  private func read(_ path: String) throws(LogError) -> DeletedFile? {
    let limit = DeletedFile.bytesMax
    guard let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) else {
      return nil
    }
    return try DeletedFile(bytes, path: path, of: datastore)
  }

  /// Whether its time is over. What is so old is not read either: the contents of its attachments
  /// may be gone.
  private func isOld(_ number: UInt64, _ now: Int64) -> Bool {
    now.elapsed(since: min(time(of: number, now), now)) > milliseconds
  }

  /// When a file was written. Behind one of a clock that was ahead the numbers go on from there:
  /// then the file itself says when.
  private func time(of number: UInt64, _ now: Int64) -> Int64 {
    let time = Int64(clamping: number)
    if time <= now { return time }
    do throws(DiskError) {
      let file = try machine.disk.open(directory + "/" + FileName.deleted(number), .read)
      defer { file.close() }
      let bytes = try file.read(at: DeletedFile.timeOffset, count: 8)
      return bytes.count == 8 ? Int64(bitPattern: bytes.u64(at: 0)) : time
    } catch { return time }
  }

  /// Everything that is in the trash and not too old, oldest first; files that can't be read are in
  /// `problems`.
  func contents() throws(StoreError) -> (files: [DeletedFile], problems: [LogError]) {
    var result: [DeletedFile] = []
    var problems: [LogError] = []
    do throws(LogError) {
      let files: [(number: UInt64, path: String, bytes: UInt64)]
      do { files = try self.files() } catch { throw LogError(error) }
      let now = machine.clock.now()
      for file in files where !isOld(file.number, now) {
        do throws(LogError) {
          guard let found = try read(file.path) else { continue }
          result.append(found)
        } catch {
          // What this process lacks just now, memory or open files, says nothing of the file.
          if case .disk(let disk) = error.reason,
            disk.reason == .tooManyOpen || disk.reason == .io(errno: 12)
          {
            throw error
          }
          // It keeps nobody from the others.
          problems.append(error)
        }
      }
    } catch { throw StoreError(error) }
    return (result, problems)
  }

  /// Files that were put there in one moment have numbers from that one on.
  private func wasPut(_ path: String, _ number: UInt64, through time: Int64) -> Bool {
    if Int64(clamping: number) <= time { return true }
    do throws(LogError) { return try read(path).map { $0.time <= time } ?? false } catch {
      return false
    }
  }

  /// Removes everything that was put there up to a time.
  func empty(through time: Int64) throws(StoreError) {
    do throws(DiskError) {
      for file in try files() where wasPut(file.path, file.number, through: time) {
        try machine.disk.remove(file.path)
      }
      if try machine.disk.info(directory) != nil { try machine.disk.syncDirectory(directory) }
    } catch { throw StoreError(LogError(error)) }
  }
}
