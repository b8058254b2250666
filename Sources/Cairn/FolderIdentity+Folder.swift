internal import CairnDisk
internal import CairnLog

/// cairn.json in a folder, of which a part may be all that has arrived.
extension FolderIdentity {
  enum Found {
    case missing
    /// The beginning of one: as good as not there yet.
    case half([UInt8])
    case whole(UInt128)
  }

  static func find(in folder: any Folder) async throws(CairnError) -> Found {
    let name = FileName.folderIdentity
    guard let bytes = try await folder.read(name, limit: bytesMax) else {
      try checkIsNotElsewhere(folder)
      return .missing
    }
    do throws(LogError) { return .whole(try decode(bytes, path: name)) } catch {
      if error.reason == .corrupt, isHalf(bytes) { return .half(bytes) }
      throw CairnError(error)
    }
  }

  /// What iCloud Drive keeps elsewhere is not missing.
  private static func checkIsNotElsewhere(_ folder: any Folder) throws(CairnError) {
    let base = (folder as? ObservedFolder)?.base ?? folder
    let name = FileName.folderIdentity
    guard let directory = base as? DirectoryFolder, try directory.isElsewhere(name) else { return }
    throw CairnError(
      .retryLater,
      "the cloud drive keeps \(name) elsewhere: have it downloaded; nothing was changed",
      file: name)
  }

  /// Whether anything lies in one of these directories: who put it there has seen a cairn.json, and
  /// it is on its way, or lost.
  static func isInUse(
    _ folder: any Folder, _ directories: [String], _ requests: inout Int
  ) async throws(CairnError) -> Bool {
    for directory in directories {
      requests += 1
      if try await !folder.list(directory).isEmpty { return true }
    }
    return false
  }

  static func write(_ identity: UInt128, to folder: any Folder) async throws(CairnError) {
    let (name, bytes) = (FileName.folderIdentity, encode(identity))
    let entry = try await folder.write(name, bytes)
    guard entry.size == UInt64(bytes.count) else {
      throw CairnError(
        .response, "the folder kept \(entry.size) of \(bytes.count) bytes of \(name)", file: name)
    }
  }

  private static let opening = Array("{\"cairn\":\"shared folder\",\"identity\":\"".utf8)

  /// Nothing but the beginning of such a file, without its end.
  static func isHalf(_ bytes: [UInt8]) -> Bool {
    !bytes.suffix(2).elementsEqual("}\n".utf8) && zip(bytes, opening).allSatisfy { $0 == $1 }
  }

  /// Whether a beginning is long enough to tell that it is that of this folder's file.
  static func tells(_ half: [UInt8], of identity: UInt128) -> Bool {
    half.count >= opening.count + 16 && encode(identity).starts(with: half)
  }

  /// It is missing, and what else is there says that it has been written. `id`: of the datastore
  /// that is exchanged.
  static func missingError(id: String? = nil) -> CairnError {
    CairnError(
      .retryLater,
      "\(FileName.folderIdentity) is missing in the shared folder, which devices have used; "
        + "nothing was changed. Wait until all of the folder has arrived; if it is lost, keep one "
        + "process exchanging, as `cairn watch` does: after ten minutes it writes another one",
      file: FileName.folderIdentity, id: id)
  }

  static func halfError(_ bytes: [UInt8]) -> CairnError {
    CairnError(
      .retryLater,
      "\(FileName.folderIdentity) in the shared folder is not wholly there yet (\(bytes.count) "
        + "bytes); nothing was changed. Wait until the rest has arrived, or start the app again on "
        + "a device that has used this folder before: its first exchange writes the file again",
      file: FileName.folderIdentity)
  }
}

/// What rounds remember of a cairn.json that did not get whole.
struct IdentityAttempt {
  /// What this process wrote, or began to.
  private var begun: UInt128?
  private var half: [UInt8]?
  private var rounds = 0
  /// How long these rounds have waited.
  private var waited: Int64 = 0
  /// When the last of them was, by a clock that may be put back.
  private var last: Int64 = 0

  /// So many rounds a beginning stays as it is before it counts as nobody's.
  static let patience = 3
  /// One that is missing in a folder in use is waited for as long as that as well: whoever has just
  /// begun to fetch a folder gets its files in any order.
  static let patienceMilliseconds: Int64 = 600_000
  /// A pause between two rounds counts for no more: a device may have slept, while nothing could
  /// arrive, or its clock have been put right.
  private static let pauseMilliseconds = patienceMilliseconds / Int64(patience)

  /// The identity of a folder that has none: the same again if writing it has failed before.
  mutating func begin(_ random: any RandomSource) -> UInt128 {
    let identity = begun ?? UInt128(random.next()) << 64 | UInt128(random.next())
    begun = identity
    return identity
  }

  /// Whether nothing more has come for so long that a new file may be written.
  mutating func isAbandoned(_ bytes: [UInt8]) -> Bool {
    rounds = half == bytes ? rounds + 1 : 1
    half = bytes
    return rounds > IdentityAttempt.patience
  }

  /// The same for one that is not there at all, in a folder that is in use.
  mutating func isGivenUp(at now: Int64) -> Bool {
    let isLeft = isAbandoned([])
    let pause = min(max(0, now.elapsed(since: last)), IdentityAttempt.pauseMilliseconds)
    waited = rounds == 1 ? 0 : waited + pause
    last = now
    return isLeft && waited >= IdentityAttempt.patienceMilliseconds
  }

  /// A whole one was found: what is missing later is waited for anew.
  mutating func forget() { (half, rounds) = (nil, 0) }

  /// The same again, if it is this process that began to write these bytes.
  func own(_ bytes: [UInt8]) -> UInt128? {
    begun.flatMap { FolderIdentity.encode($0).starts(with: bytes) ? $0 : nil }
  }
}
