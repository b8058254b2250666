internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// PUBLISHED, and the own head in the folder: is this copy still the one that writes it?
enum PublishedCheck {
  static let name = "identity"

  /// Reads PUBLISHED into the datastore, and what waits to be published outside of the log.
  static func read(_ datastore: inout ExaminedDatastore) -> [Finding] {
    guard let current = datastore.current else { return [] }
    let findings = readPublication(&datastore, current)
    return findings + damagedOutbox(datastore, current)
  }

  private static func readPublication(
    _ datastore: inout ExaminedDatastore, _ current: CurrentFile
  ) -> [Finding] {
    let path = datastore.directory + "/" + FileName.publication
    do throws(LogError) {
      let limit = Head.bytesMax * 2
      guard let bytes = try DurableFile.read(path, limit: limit, disk: datastore.root.disk) else {
        return []
      }
      let publication = try PublicationFile(bytes, path: path)
      if publication.head.isEmpty { return [] }
      let head = try Head(publication.head, name: path, datastore: datastore.identity)
      guard head.device.rawValue == current.device else { return [] }
      (datastore.publication, datastore.ownHead) = (publication, head)
      return unpublished(datastore, current, head)
    } catch {
      datastore.isPublicationLost = true
      return [
        datastore.finding(
          name, error, "without it this copy can't know its own files in the folder")
      ]
    }
  }

  /// Own deltas that the folder does not have must be in the log, or in an outbox.
  private static func unpublished(
    _ datastore: ExaminedDatastore, _ current: CurrentFile, _ head: Head
  ) -> [Finding] {
    // The log has lost its end: what the folder has is another history, and the next exchange says
    // so. (A name that was never published under has no generation.)
    if let found = datastore.publication, found.confirmedNonce == 0, found.pendingNonce == 0,
      head.generation > 0
    {
      return []
    }
    let last = datastore.lastOwn
    guard last > head.last else { return [] }
    let logged = Set(
      datastore.segments.flatMap { $0.scan?.frames ?? [] }
        .filter { $0.kind == FrameKind.delta.rawValue }.map(\.sequence))
    let waiting = outbox(datastore, current).map { $0.range.first...$0.range.last }
    let present = logged.map { $0...$0 } + waiting
    guard let (first, count) = gaps(of: (head.last + 1)...last, in: present) else { return [] }
    return [
      datastore.finding(
        name, .error, "\(count) own deltas that are not published, from \(first) on, are "
          + "not in the log any more: they can't be published",
        file: datastore.directory + "/" + FileName.log, command: datastore.repair)
    ]
  }

  /// The first of the numbers that is in no range, and how many are in none; nil if all are. Takes
  /// no step for each number: a damaged file may say that there are 2^62.
  static func gaps(
    of numbers: ClosedRange<UInt64>, in ranges: [ClosedRange<UInt64>]
  ) -> (first: UInt64, count: UInt64)? {
    var first: UInt64?
    var count: UInt64 = 0
    var next = numbers.lowerBound
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if range.upperBound < next { continue }
      if range.lowerBound > numbers.upperBound { break }
      if range.lowerBound > next {
        first = first ?? next
        count += range.lowerBound - next
      }
      if range.upperBound >= numbers.upperBound { return first.map { ($0, count) } }
      next = range.upperBound + 1
    }
    return (first ?? next, count + (numbers.upperBound - next + 1))
  }

  /// Own deltas that lie in files of their own until they are published.
  private static func outbox(
    _ datastore: ExaminedDatastore, _ current: CurrentFile
  ) -> [(path: String, range: FileName.Published)] {
    let directory = datastore.directory + "/" + FileName.outbox(current.rejoinings)
    return datastore.root.listed(directory).compactMap { entry in
      guard let range = FileName.published(entry.name), range.device == current.device else {
        return nil
      }
      return (directory + "/" + entry.name, range)
    }
  }

  /// A file of them is needed until the folder has what is in it.
  private static func damagedOutbox(
    _ datastore: ExaminedDatastore, _ current: CurrentFile
  ) -> [Finding] {
    let published = datastore.ownHead?.last ?? 0
    var findings: [Finding] = []
    for (path, range) in outbox(datastore, current) where range.last > published {
      do throws(LogError) {
        let limit = PublishedSegment.fileBytesMax
        let bytes = try DurableFile.read(path, limit: limit, disk: datastore.root.disk)
        // An exchange has published it just now.
        guard let bytes else { continue }
        _ = try PublishedSegment(bytes, name: path, datastore: datastore.identity)
      } catch {
        findings.append(
          datastore.finding(
            name, error, "own deltas in it are not published yet, and no exchange can do it"))
      }
    }
    return findings
  }

  /// Compares with what is in the folder. `listing` are the files of the datastore's directory.
  static func compare(
    _ datastore: ExaminedDatastore, _ folder: any Folder, _ listing: [String: FolderEntry]
  ) async -> [Finding] {
    guard let current = datastore.current else { return [] }
    let file = FileName.head(device: current.device)
    guard let entry = listing[file] else {
      guard let known = datastore.ownHead, known.generation > 0 else { return [] }
      // It was about to be written for the first time, and nothing says that it ever was.
      if let found = datastore.publication, found.confirmedNonce == 0, found.pendingNonce != 0 {
        return [
          datastore.finding(
            name, .note, "this device's head \(file) was not published yet: the exchange that was "
              + "about to do so was interrupted, or failed; the next one writes it", file: file,
            command: datastore.sync)
        ]
      }
      return [
        datastore.finding(
          name, .warning, "the folder has lost this device's head \(file); the next exchange "
            + "writes it again", file: file, command: datastore.sync)
      ]
    }
    do throws(CairnError) {
      let path = datastore.name + "/" + file
      // What is listed and has to be fetched first may block for long.
      let bytes = try await entry.isPresent ? folder.read(path, limit: Head.bytesMax) : nil
      guard let bytes else {
        return [
          datastore.finding(
            name, .warning, "this device's head \(file) is listed, but its content is not here: "
              + "until it is, nothing is published", file: file, command: datastore.sync)
        ]
      }
      let head: Head
      do throws(LogError) {
        head = try Head(bytes, name: file, datastore: datastore.identity)
      } catch {
        // No exchange writes over what a newer version wrote.
        if case .needsNewerVersion = error.reason {
          return [
            datastore.finding(
              name, .warning, "\(error); until then nothing is published", file: file,
              offset: error.offset)
          ]
        }
        return [
          datastore.finding(
            name, .warning, "\(error); the next exchange writes it again", file: file,
            command: datastore.sync)
        ]
      }
      return await judge(head, file, datastore) + missingFiles(head, datastore, listing)
        + OwnFilesCheck.run(head, datastore, folder, listing)
    } catch {
      return [datastore.finding(name, .warning, error.message, file: file)]
    }
  }

  private static func judge(
    _ head: Head, _ file: String, _ datastore: ExaminedDatastore
  ) -> [Finding] {
    let isOurs = datastore.publication.map {
      head.nonce == $0.confirmedNonce || head.nonce == $0.pendingNonce
    }
    // Somebody may be publishing just now. And whose PUBLISHED is damaged, repairs that first.
    if datastore.holder != nil || datastore.isPublicationLost { return [] }
    let what: String
    if isOurs == true, head.last > datastore.lastOwn {
      what = "it has \(head.last) deltas, more than the \(datastore.lastOwn) that are here: this "
        + "copy was restored from a backup, or has lost the end of its log"
    } else if isOurs == true {
      return []
    } else if let known = datastore.ownHead, head.generation < known.generation {
      what = "it is older than what this device wrote last: the folder was rolled back"
    } else if isOurs == nil {
      what = "nothing was ever published from here: this copy was restored from a backup, or lost "
        + "its PUBLISHED"
    } else {
      what = "another copy of this device wrote it: a clone, or this one before it was restored"
    }
    return [
      datastore.finding(
        name, .error, "this device's head \(file) in the folder is not what it wrote: \(what). "
          + "Nothing is lost; the next exchange says how to go on", file: file,
        command: datastore.sync)
    ]
  }

  /// Segments that a head names and the folder has lost, or has only parts of.
  static func missing(of head: Head, _ listing: [String: FolderEntry]) -> [Head.Segment] {
    head.segments.filter { !isThere($0.name(head.device), $0.size, listing) }
  }

  /// Whether a file may be what somebody says of it. One that a cloud drive keeps elsewhere just
  /// now is not lost: to write it again would make two of it.
  static func isThere(_ name: String, _ size: UInt64, _ listing: [String: FolderEntry]) -> Bool {
    listing[name]?.mayBe(size: size) ?? false
  }

  private static func missingFiles(
    _ head: Head, _ datastore: ExaminedDatastore, _ listing: [String: FolderEntry]
  ) -> [Finding] {
    let missing = missing(of: head, listing)
    guard let first = missing.first else { return [] }
    return [
      datastore.finding(
        name, .error, "the folder has lost \(missing.count) of this device's own files, or has "
          + "only parts of them: new devices wait for them", file: first.name(head.device),
        command: datastore.repair)
    ]
  }
}
