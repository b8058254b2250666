package import CairnBytes
import CairnDisk
import CairnLog
package import CairnMerge
import Synchronization

/// Own deltas that the log does not have: those that were made this device's own when the store was
/// put together anew. They lie in files like those in a folder until they are published.
extension Store {
  /// Adds what a file of the outbox has of the deltas that come next.
  func add(
    outbox: String, through last: UInt64, limit: Int, to writer: inout PackWriter
  ) throws(StoreError) {
    do throws(LogError) {
      for (name, range) in try outboxFiles(outbox) {
        if writer.byteCount >= limit || range.first > last { return }
        guard range.last >= writer.nextSequence, range.device == device.rawValue else { continue }
        let path = outbox + "/" + name
        guard
          let bytes = try DurableFile.read(
            path, limit: PublishedSegment.fileBytesMax, disk: machine.disk)
        else { throw LogError(.missing, path, "own deltas to be published are missing") }
        let segment = try PublishedSegment(bytes, name: path, datastore: datastore)
        do throws(DecodeError) {
          try writer.append(segment.pack, through: last, limit: limit)
        } catch { throw LogError(error, path, at: 0, "own deltas") }
      }
    } catch { throw StoreError(error) }
  }

  private func outboxFiles(
    _ directory: String
  ) throws(LogError) -> [(String, FileName.Published)] {
    do throws(DiskError) {
      guard try machine.disk.info(directory) != nil else { return [] }
      var files: [(String, FileName.Published)] = []
      for entry in try machine.disk.list(directory) {
        if let range = FileName.published(entry.name) { files.append((entry.name, range)) }
      }
      return files.sorted { $0.1.first < $1.1.first }
    } catch { throw LogError(error) }
  }

  /// The last own delta in the outbox, 0 if there is none.
  func outboxEnd() throws(StoreError) -> UInt64 {
    let rejoinings = state.withLock { $0.current.rejoinings }
    if rejoinings == 0 { return 0 }
    do throws(LogError) {
      let files = try outboxFiles(directory + "/" + FileName.outbox(rejoinings))
      return files.reduce(0) { $1.1.device == device.rawValue ? max($0, $1.1.last) : $0 }
    } catch { throw StoreError(error) }
  }

  /// Writes packs of a device as an outbox, durably. What an attempt before this has left there
  /// goes first. Throws for a pack that nobody could read again: it would never be published.
  func writeOutbox(
    _ packs: [[UInt8]], _ rejoinings: UInt64
  ) throws(StoreError) {
    let outbox = directory + "/" + FileName.outbox(rejoinings)
    for pack in packs where pack.count > PublishedSegment.rawBytesMax {
      throw StoreError(
        .log, "own deltas of \(directory) would be a file of \(pack.count) bytes, unpacked; it may "
          + "have \(PublishedSegment.rawBytesMax)")
    }
    do throws(LogError) {
      do throws(DiskError) {
        try machine.disk.removeTree(outbox)
        if packs.isEmpty { return }
        try machine.disk.createDirectory(outbox)
      } catch { throw LogError(error) }
      for pack in packs {
        let header: Pack.Header
        do throws(DecodeError) { header = try PackReader(pack).header } catch {
          throw LogError(error, outbox, at: 0, "a pack")
        }
        let segment = PublishedSegment(
          datastore: datastore, device: header.device.rawValue, first: header.first,
          last: header.last, chainBefore: 0, chainAfter: 0, pack: pack)
        let (bytes, name) = segment.encoded()
        try DurableFile.replace(directory: outbox, name: name, bytes: bytes, machine: machine)
      }
      do { try machine.disk.syncDirectory(directory) } catch { throw LogError(error) }
    } catch { throw StoreError(error) }
  }

  /// Removes outboxes that nobody needs any more: of other times, and the own one once everything
  /// in it is published, and nothing of that is known to be missing. Best effort.
  package func dropOutboxes() {
    let (rejoinings, published, isInDoubt) = state.withLock { guarded in
      let there = min(guarded.published, (guarded.lacking ?? .max) - 1)
      return (guarded.current.rejoinings, there, guarded.tail.doubtsCurrent)
    }
    // A power cut may bring back a CURRENT that names another one.
    if isInDoubt { return }
    // Or the next opening finds one whose writing failed here, with an outbox that is not known.
    do throws(StoreError) { try checkPoison() } catch { return }
    if ending != nil { return }
    do throws(DiskError) {
      for entry in try machine.disk.list(directory) {
        guard let number = FileName.outboxNumber(entry.name) else { continue }
        let path = directory + "/" + entry.name
        if number == rejoinings {
          var last: UInt64 = 0
          for file in try machine.disk.list(path) {
            last = max(last, FileName.published(file.name)?.last ?? 0)
          }
          if last > published { continue }
        }
        try machine.disk.removeTree(path)
      }
    } catch {
      // The next opening tries again.
    }
  }

  /// Whether own deltas may lie in an outbox.
  package var hasRejoined: Bool { rejoinings > 0 }

  /// How often the store was put together anew.
  package var rejoinings: UInt64 { state.withLock { $0.current.rejoinings } }
}

extension PackWriter {
  /// Takes over the deltas of another pack that come next.
  package mutating func append(
    _ pack: [UInt8], through last: UInt64, limit: Int
  ) throws(DecodeError) {
    var reader = try PackReader(pack)
    var delta = Delta()
    var map: [UInt32] = []
    while try reader.next(into: &delta) {
      if delta.dot.sequence > last || byteCount >= limit { return }
      guard delta.dot.sequence >= nextSequence else { continue }
      guard delta.dot.sequence == nextSequence else {
        throw .malformed("an own delta is missing before this one")
      }
      append(delta, heap: reader.heap, names: reader.records, map: &map)
    }
  }
}
