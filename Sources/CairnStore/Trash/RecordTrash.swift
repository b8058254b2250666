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

  /// A file of one sync is at most so large.
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

  /// Writes the records that are about to go: durably, if commits are. Returns the path of their
  /// file: if they stay it has to go.
  @discardableResult
  func keep(_ records: RecordsToKeep, durable: Bool) throws(StoreError) -> String {
    let time = machine.clock.now()
    do throws(DiskError) { try machine.disk.createDirectory(directory) } catch {
      throw StoreError(LogError(error))
    }
    do throws(LogError) {
      purge(room: records.bytes)
      var number = UInt64(max(0, time))
      while try isThere(number) { number += 1 }
      let bytes = DeletedFile.encoded(
        datastore: datastore, time: time, notKept: records.notKept, count: records.count,
        content: records.content)
      let path = directory + "/" + FileName.deleted(number)
      do throws(LogError) {
        try DurableFile.replace(
          directory: directory, name: FileName.deleted(number), bytes: bytes, machine: machine,
          durable: durable)
      } catch {
        // It may have its name already, while nothing goes now.
        do { try machine.disk.remove(path) } catch {}
        throw error
      }
      return path
    } catch { throw StoreError(error) }
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
  func purge(room: Int = 0) {
    let now = machine.clock.now()
    do {
      var files = try files()
      var total = files.reduce(UInt64(room)) { $0 + $1.bytes }
      while let oldest = files.first {
        guard isOld(oldest.number, now) || total > UInt64(bytesMax) else { break }
        try machine.disk.remove(oldest.path)
        total -= oldest.bytes
        files.removeFirst()
      }
    } catch {}
  }

  /// Whether its time is over. What is so old is not read either: the contents of its attachments
  /// may be gone.
  private func isOld(_ number: UInt64, _ now: Int64) -> Bool {
    now - min(Int64(clamping: number), now) > milliseconds
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
          let limit = DeletedFile.bytesMax
          guard let bytes = try DurableFile.read(file.path, limit: limit, disk: machine.disk)
          else { continue }
          result.append(try DeletedFile(bytes, path: file.path, of: datastore))
        } catch {
          if case .disk(let disk) = error.reason, disk.reason != .notFound { throw error }
          problems.append(error)
        }
      }
    } catch { throw StoreError(error) }
    return (result, problems)
  }

  /// Removes everything that was put there up to a time.
  func empty(through time: Int64) throws(StoreError) {
    do throws(DiskError) {
      for file in try files() where Int64(clamping: file.number) <= time {
        try machine.disk.remove(file.path)
      }
      if try machine.disk.info(directory) != nil { try machine.disk.syncDirectory(directory) }
    } catch { throw StoreError(LogError(error)) }
  }
}
