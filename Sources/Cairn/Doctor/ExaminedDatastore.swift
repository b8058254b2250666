internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// A datastore under examination, whether it is open elsewhere or damaged. Read once, and looked at
/// by all checks.
struct ExaminedDatastore: Sendable {
  let id: String
  let generation: UInt32
  let directory: String
  /// Name of its directory in the folder.
  let name: String
  let root: ExaminedRoot
  /// It is somebody else's.
  let isFollowed: Bool
  /// Who has it open, in words.
  var holder: String?
  var current: CurrentFile?
  var segments: [StoreInspection.Segment] = []
  /// PUBLISHED, if it can be read and is this device's.
  var publication: PublicationFile?
  /// It is there, and can't be read.
  var isPublicationLost = false
  /// The head in it.
  var ownHead: Head?
  /// What the snapshot has.
  var base: SnapshotDescription?
  /// What the snapshot and the log have; nil if that is not known.
  var here: VersionVector?
  /// Devices have agreed on something, or are asked to.
  var hasCuts = false
  /// Time of the newest own delta in the log.
  var ownTime: Int64?

  init(
    id: String, generation: UInt32, directory: String, name: String, root: ExaminedRoot,
    isFollowed: Bool = false
  ) {
    self.isFollowed = isFollowed
    self.id = id
    self.generation = generation
    self.directory = directory
    self.name = name
    self.root = root
  }

  var identity: UInt128 { DatastoreManager.identity(of: id, generation: generation) }

  /// The number of the newest own delta that is here for certain.
  var lastOwn: UInt64 {
    let logged = segments.flatMap { $0.scan?.frames ?? [] }
      .filter { $0.kind == FrameKind.delta.rawValue }.map(\.sequence).max() ?? 0
    let folded = current.flatMap { base?.vector[DeviceID(rawValue: $0.device)] } ?? 0
    return max(logged, folded)
  }

  /// Another device has deleted it.
  var isOver: Bool {
    generation < root.installation?.entry(id).generation ?? 0
  }

  /// A finding about it.
  func finding(
    _ check: String, _ severity: Finding.Severity, _ message: String, file: String? = nil,
    offset: UInt64? = nil, command: String? = nil
  ) -> Finding {
    Finding(
      check: check, severity: severity, datastore: id, message: message, file: file ?? directory,
      offset: offset, command: command)
  }

  /// A file that can't be used: damaged, newer, or not to be read.
  func finding(
    _ check: String, _ error: LogError, _ consequence: String = "", command: String? = nil
  ) -> Finding {
    var more = consequence.isEmpty ? "" : "; " + consequence
    if isFollowed { more += "; unsubscribe and subscribe again, which brings all of it anew" }
    var result = finding(
      check, .error, error.description + more, file: error.path, offset: error.offset,
      command: command ?? repair)
    if error.saysUnread { result.command = nil }
    return result
  }

  /// The command that salvages what is left. Of what is followed all is in the folder. None if the
  /// datastore's root is looked at without its account, or with one that is not its own: a repair
  /// would be refused.
  var repair: String? {
    if isFollowed { return root.followAgain }
    let isLinked: Bool
    do throws(LogError) {
      isLinked = try StoredLinkage.isLinked(directory, datastore: identity, disk: root.disk)
    } catch {
      // The repair itself says what can't be read.
      return root.command("repair", of: id)
    }
    return isLinked == (root.account != nil) ? root.command("repair", of: id) : nil
  }

  /// The command that leaves a device out.
  func retire(_ device: DeviceID) -> String {
    root.command("devices", on: id, "--retire", device.description)
  }
  /// The command that exchanges with the folder.
  var sync: String { root.command("sync", on: id) }
}
