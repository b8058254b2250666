internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// The other devices' files in the folder: whole, complete, of late, and by a clock that is right.
enum DevicesCheck {
  static let name = "devices"

  private static let minute: Int64 = 60_000
  /// A clock may be off by so much without being mentioned.
  private static let skew = 60 * minute
  /// A device that said nothing for so long is mentioned.
  private static let silence = 90 * 24 * 60 * minute
  /// One whose word is awaited may be gone if it said nothing for so long.
  private static let patience = 30 * 24 * 60 * minute

  /// When a device last committed something that is in the folder.
  private struct Spoken {
    var id: DeviceID
    var device: String
    var time: Int64
  }

  static func run(
    _ datastore: ExaminedDatastore, _ folder: any Folder, _ listing: [String: FolderEntry]
  ) async -> [Finding] {
    var findings: [Finding] = []
    var times: [Spoken] = []
    var words: CutBook.Words = [:]
    var retired = Set(datastore.ownHead?.retired ?? [])
    for entry in listing.values.sorted(by: { $0.name < $1.name }) {
      guard let number = FileName.headDevice(entry.name),
        number != datastore.current?.device
      else { continue }
      do throws(CairnError) {
        guard entry.isPresent,
          let bytes = try await folder.read(
            datastore.name + "/" + entry.name, limit: Head.bytesMax)
        else {
          findings.append(
            datastore.finding(
              name, .warning, "a device's head is listed, but its content is not here yet",
              file: entry.name))
          continue
        }
        let head: Head
        do { head = try Head(bytes, name: entry.name, datastore: datastore.identity) } catch {
          findings.append(damaged(error, entry, datastore))
          continue
        }
        retired.formUnion(head.retired)
        words[head.device] = head.acknowledged
        findings += missing(head, datastore, listing)
        findings += snapshot(of: head, datastore, listing)
        do throws(LogError) {
          if let time = try await lastTime(head, datastore, folder, listing) {
            times.append(Spoken(id: head.device, device: describe(head), time: time))
          }
        } catch {
          findings.append(unusable(error, head, datastore))
        }
      } catch {
        findings.append(datastore.finding(name, .warning, error.message, file: entry.name))
      }
    }
    // Who only follows is asked for nothing, and can leave nobody out.
    let awaited = datastore.isFollowed ? [] : DevicesCheck.awaited(words, datastore)
    findings += awaited.map { device in
      silent(device, times.first { $0.id == device }?.time, datastore)
    }
    // Of those that were retired nobody waits for a word, and nothing they write counts here.
    let living = times.filter { !retired.contains($0.id) }
    return findings + clocks(living, datastore)
      + quiet(living.filter { !awaited.contains($0.id) }, datastore)
  }

  /// A device whose word is missing. To leave it out is advised only if it may be gone.
  private static func silent(
    _ device: DeviceID, _ last: Int64?, _ datastore: ExaminedDatastore
  ) -> Finding {
    // What was written by a clock without a date is from any time.
    let dated = last.flatMap { isUndated($0, datastore) ? nil : $0 }
    let quiet = dated.map { datastore.root.machine.clock.now().elapsed(since: $0) }
    let isLong = quiet.map { $0 > patience } ?? false
    let heard = quiet.map { isLong ? "; what it wrote last is \(span($0)) old" : "" } ?? ""
    return datastore.finding(
      name, .note, "device \(device) has not said yet that it has seen what somebody asked all "
        + "devices to agree on\(heard). Let it sync: until then nothing is forgotten, and who "
        + "wrote without having seen it is held. Only if it is gone for good, retire it, which "
        + "can't be undone", command: isLong ? datastore.retire(device) : nil)
  }

  /// Devices whose word is missing.
  private static func awaited(
    _ words: CutBook.Words, _ datastore: ExaminedDatastore
  ) -> [DeviceID] {
    guard datastore.hasCuts, let current = datastore.current else { return [] }
    let inspection = StoreInspection(
      unlocked: datastore.directory, current: current, machine: datastore.root.machine)
    // What is wrong with the files other checks say.
    do throws(StoreError) { return try inspection.silentMembers(words).sorted() } catch {
      return []
    }
  }

  private static func describe(_ head: Head) -> String {
    "device \(head.device)" + (head.user.isEmpty ? "" : " (\(head.user.onOneLine))")
  }

  private static func damaged(
    _ error: LogError, _ entry: FolderEntry, _ datastore: ExaminedDatastore
  ) -> Finding {
    let advice =
      if case .needsNewerVersion = error.reason { "its changes wait until then" } else {
        "its device writes it again when it next exchanges; its changes wait until then"
      }
    return datastore.finding(
      name, .warning, "\(error); \(advice)", file: entry.name, offset: error.offset)
  }

  private static func unusable(
    _ error: LogError, _ head: Head, _ datastore: ExaminedDatastore
  ) -> Finding {
    let advice =
      if case .needsNewerVersion = error.reason { "What is in it waits until then" } else {
        "What is in it waits; on that device, repair writes it again"
      }
    return datastore.finding(
      name, .warning, "the newest file of \(describe(head)) can't be used: \(error). \(advice)",
      file: error.path, offset: error.offset)
  }

  private static func missing(
    _ head: Head, _ datastore: ExaminedDatastore, _ listing: [String: FolderEntry]
  ) -> [Finding] {
    let lost = PublishedCheck.missing(of: head, listing)
    guard let first = lost.first else { return [] }
    let bytes = lost.reduce(0) { $0 + $1.size }
    let isOne = lost.count == 1
    let what =
      "\(describe(head)) names \(lost.count) \(isOne ? "file" : "files") of \(bytes) bytes that "
      + "\(isOne ? "is" : "are") not in the folder, or not wholly"
    // What is here, too, nobody here waits for.
    if lost.allSatisfy({ $0.last <= datastore.here?[head.device] ?? 0 }) {
      return [
        datastore.finding(
          name, .note, what + ". All that is in \(isOne ? "it" : "them") is here; new devices "
            + "wait until that device exchanges and writes \(isOne ? "it" : "them") again. If it "
            + "is gone, a repair here publishes what is missing", file: first.name(head.device),
          command: datastore.isFollowed ? nil : datastore.repair)
      ]
    }
    return [
      datastore.finding(
        name, .warning, what + ": \(isOne ? "it is" : "they are") still on "
          + "\(isOne ? "its" : "their") way, or lost and written again when that device next "
          + "exchanges", file: first.name(head.device), command: datastore.sync)
    ]
  }

  private static func snapshot(
    of head: Head, _ datastore: ExaminedDatastore, _ listing: [String: FolderEntry]
  ) -> [Finding] {
    guard let snapshot = head.snapshot,
      !PublishedCheck.isThere(snapshot.name, snapshot.size, listing)
    else { return [] }
    return [
      datastore.finding(
        name, .warning, "\(describe(head)) names a snapshot of \(snapshot.size) bytes that is not "
          + "here, or not wholly: it is still on its way, or lost and written again when that "
          + "device next exchanges; until then \(OwnFilesCheck.cost(of: head))",
        file: snapshot.name, command: datastore.sync)
    ]
  }

  /// When the device last committed something that is in the folder, by its own clock. Throws what
  /// is wrong with the file that says so.
  private static func lastTime(
    _ head: Head, _ datastore: ExaminedDatastore, _ folder: any Folder,
    _ listing: [String: FolderEntry]
  ) async throws(LogError) -> Int64? {
    // What is not wholly here is named as such; reading a placeholder may block for long.
    guard let last = head.segments.last, let entry = listing[last.name(head.device)],
      entry.size == last.size, entry.isPresent
    else { return nil }
    let bytes: [UInt8]?
    do throws(CairnError) {
      let path = datastore.name + "/" + entry.name
      bytes = try await folder.read(path, limit: PublishedSegment.fileBytesMax)
    } catch {
      // The folder does not answer just now: of that other checks tell.
      return nil
    }
    guard let bytes else { return nil }
    let segment = try PublishedSegment(bytes, name: entry.name, datastore: datastore.identity)
    var time: Int64?
    do throws(DecodeError) {
      var reader = try PackReader(segment.pack)
      var delta = Delta()
      while try reader.next(into: &delta) { time = max(time ?? .min, delta.time) }
    } catch { throw LogError(error, entry.name, at: 0, "the deltas inside") }
    return time
  }

  /// Whether a time is of a clock that is years behind, by an own one that is not.
  private static func isUndated(_ time: Int64, _ datastore: ExaminedDatastore) -> Bool {
    time < FormatTime.began && datastore.root.machine.clock.now() >= FormatTime.began
  }

  /// How to be rid of times that are ahead: each delta of a device is later than its last one.
  private static func newName(_ lead: Int64) -> String {
    "its changes go on counting as that late for \(span(lead)), though the clock be right, and win "
      + "or lose too often where times break ties. To end that, once all that it has is published "
      + "and merged, remove its copy (uncacheDatastore, or a new root), so that it gets a new id, "
      + "and retire this one"
  }

  private static func clocks(
    _ times: [Spoken], _ datastore: ExaminedDatastore
  ) -> [Finding] {
    let now = datastore.root.machine.clock.now()
    var findings: [Finding] = []
    let ahead = times.filter { $0.time.elapsed(since: now) > skew }
    let ownLead = datastore.ownTime?.elapsed(since: now)
    if let ownLead, ownLead > skew {
      let id =
        datastore.current.map { "; the id to retire is \(DeviceID(rawValue: $0.device))" } ?? ""
      findings.append(
        datastore.finding(
          name, .warning, "this device's newest delta is \(span(ownLead)) in the future: its "
            + "clock was ahead then, or is behind now. Set it if it is wrong; if it was ahead, "
            + newName(ownLead) + id))
    }
    if ahead.count > 1, ahead.count == times.count {
      findings.append(
        datastore.finding(
          name, .warning, "all other devices have deltas that are more than an hour in the future: "
            + "this device's clock is behind. Set it"))
    } else {
      findings += ahead.map { found in
        let lead = found.time.elapsed(since: now)
        return datastore.finding(
          name, .warning, "the newest delta of \(found.device) is \(span(lead)) in the future: set "
            + "the clock there if it is still ahead; \(newName(lead))")
      }
    }
    return findings
      + times.filter { isUndated($0.time, datastore) }.map { found in
        datastore.finding(
          name, .warning, "the clock of \(found.device) was years behind when it last wrote: set "
            + "it there; where times break ties, its changes lose too often until then")
      }
  }

  private static func quiet(
    _ times: [Spoken], _ datastore: ExaminedDatastore
  ) -> [Finding] {
    let now = datastore.root.machine.clock.now()
    return times.compactMap { found in
      let quiet = now.elapsed(since: found.time)
      if quiet <= silence || isUndated(found.time, datastore) { return nil }
      return datastore.finding(
        name, .note, "\(found.device) has published nothing for \(span(quiet)). If it "
          + "is gone for good and somebody asks what may be forgotten, nothing is until it is "
          + "retired, which can't be undone; if not, it catches up when it comes back",
        command: datastore.isFollowed ? nil : datastore.retire(found.id))
    }
  }

  private static func span(_ milliseconds: Int64) -> String {
    let hours = milliseconds / (60 * minute)
    return hours >= 48 ? "\(hours / 24) days" : "\(hours) hours"
  }
}
