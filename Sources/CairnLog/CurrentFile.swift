import CairnBytes
package import CairnDisk

/// CURRENT: which files make up a datastore. 96 bytes, replaced as a whole.
///
///     0  "CAIRNCUR"   8  version u16   10  floor u16   12  flags u32
///     16  datastore u128   32  device u64   40  snapshot number u64, 0: none
///     48  first segment to replay u64   56  first segment kept u64   64  rejoinings u64
///     72  time of the last own delta i64, 0: not known   80  snapshot for which that was noted u64
///     88  XXH3-64 of 0..<88
package struct CurrentFile: Equatable, Sendable {
  package static let size = 96
  package static let magic: [UInt8] = Array("CAIRNCUR".utf8)
  /// The datastore belongs to an account: its own deltas are kept until they are published.
  package static let flagLinked: UInt32 = 1
  /// A power cut may still bring back the CURRENT that it replaces, which names another content, or
  /// whose successor's name could not be synced.
  package static let flagUnsettled: UInt32 = 2

  package var flags: UInt32
  package var datastore: UInt128
  package var device: UInt64
  package var snapshot: UInt64
  package var firstSegment: UInt64
  package var firstKept: UInt64
  /// How often the store was put together anew from its folder: names its outbox.
  package var rejoinings: UInt64 = 0
  /// Of the last own delta when `timedSnapshot` was made.
  private var ownTime: Int64 = 0
  /// Whoever knows nothing of times puts another snapshot there, or zeros.
  private var timedSnapshot: UInt64 = 0

  package init(
    flags: UInt32, datastore: UInt128, device: UInt64, snapshot: UInt64, firstSegment: UInt64,
    firstKept: UInt64
  ) {
    self.flags = flags
    self.datastore = datastore
    self.device = device
    self.snapshot = snapshot
    self.firstSegment = firstSegment
    self.firstKept = firstKept
  }

  /// No own delta in the snapshot is of a later time; nil if that is not known. No snapshot says
  /// so: it is the same on all devices.
  package var lastOwnTime: Int64? {
    get { timedSnapshot == snapshot && snapshot > 0 && ownTime > 0 ? ownTime : nil }
    set {
      ownTime = newValue ?? 0
      timedSnapshot = newValue == nil ? 0 : snapshot
    }
  }

  package var isLinked: Bool { flags & CurrentFile.flagLinked != 0 }

  package var isUnsettled: Bool {
    get { flags & CurrentFile.flagUnsettled != 0 }
    set {
      flags &= ~CurrentFile.flagUnsettled
      if newValue { flags |= CurrentFile.flagUnsettled }
    }
  }

  /// The same, with the flag.
  package var unsettled: CurrentFile {
    var result = self
    result.isUnsettled = true
    return result
  }

  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(CurrentFile.magic, word: flags)
    out.put(UInt64(truncatingIfNeeded: datastore))
    out.put(UInt64(truncatingIfNeeded: datastore >> 64))
    out.put(device)
    out.put(snapshot)
    out.put(firstSegment)
    out.put(firstKept)
    out.put(rejoinings)
    out.put(UInt64(bitPattern: ownTime))
    out.put(timedSnapshot)
    SealedFile.seal(&out)
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    guard bytes.count == CurrentFile.size else {
      let isShort = bytes.count < CurrentFile.size
      throw LogError(
        isShort ? .truncated : .corrupt, path, at: 0,
        "it \(isShort ? "ends too early" : "is too long"): \(bytes.count) bytes, not "
          + "\(CurrentFile.size)")
    }
    _ = try SealedFile.open(
      bytes, magic: CurrentFile.magic, what: "a CURRENT file", path: path,
      advice: "cairn doctor says what can be done")
    flags = bytes.u32(at: 12)
    datastore = UInt128(bytes.u64(at: 24)) << 64 | UInt128(bytes.u64(at: 16))
    device = bytes.u64(at: 32)
    snapshot = bytes.u64(at: 40)
    firstSegment = bytes.u64(at: 48)
    firstKept = bytes.u64(at: 56)
    rejoinings = bytes.u64(at: 64)
    ownTime = Int64(bitPattern: bytes.u64(at: 72))
    timedSnapshot = bytes.u64(at: 80)
    guard device != 0, firstSegment > 0, firstKept > 0, firstKept <= firstSegment,
      max(firstSegment, snapshot, rejoinings) <= ByteReader.counterMax
    else {
      throw LogError(.corrupt, path, at: 32, "impossible numbers")
    }
  }

  /// Replaces the file in `directory`, durably.
  package func write(directory: String, machine: Machine) throws(LogError) {
    try DurableFile.replace(
      directory: directory, name: FileName.current, bytes: encoded(), machine: machine)
  }
}

/// Write under a temporary name, sync, rename, sync the directory: the only way in which a file
/// with a fixed name is ever replaced.
package enum DurableFile {
  package static func replace(
    directory: String, name: String, bytes: [UInt8], machine: Machine, durable: Bool = true,
    isSecret: Bool = false
  ) throws(LogError) {
    let disk = machine.disk
    let temporary = directory + "/" + FileName.temporary(machine.random.next())
    do throws(DiskError) {
      let file = try disk.open(temporary, isSecret ? .createPrivate : .create)
      do throws(DiskError) {
        defer { file.close() }
        try file.write(bytes.span, at: 0)
        if durable { try file.sync() }
      } catch {
        do { try disk.remove(temporary) } catch {}
        throw error
      }
      do { try disk.rename(temporary, to: directory + "/" + name) } catch {
        do { try disk.remove(temporary) } catch {}
        throw error
      }
      if durable { try disk.syncDirectory(directory) }
    } catch { throw LogError(error) }
  }

  /// A whole file of at most `limit` bytes; nil if there is none. One of secrets is only read if
  /// nobody else can.
  package static func read(
    _ path: String, limit: Int, disk: any Disk, isSecret: Bool = false
  ) throws(LogError) -> [UInt8]? {
    let size: UInt64
    do throws(DiskError) {
      let file = try disk.open(path, isSecret ? .readPrivate : .read)
      defer { file.close() }
      size = try file.size()
      if size <= UInt64(limit) { return try file.read(at: 0, count: Int(size)) }
    } catch {
      // Asked like this it costs a process that has just begun less than by `==`.
      if case .notFound = error.reason { return nil }
      throw LogError(error)
    }
    throw LogError(.limit, path, "\(size) bytes; at most \(limit) are read")
  }
}
