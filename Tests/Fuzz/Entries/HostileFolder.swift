import Cairn
import CairnBytes
import CairnDisk
import CairnFuzzBytes
import CairnLog
import CairnMerge
import Synchronization
import TestSupport

/// `(form u8 · length u16 · bytes) …`: files in a folder that a device has used before. Rounds of
/// exchange before and after a commit may find fault with all of it; they never trap, never touch
/// the own records, and never write or remove what is not the device's own.
struct HostileFolder {
  static let folder = "/folder"
  static let id = "notes"
  static let shared = folder + "/p-notes"
  static let datastore = XXH3.hash128(Array("cairn datastore \(id)".utf8))

  private let files: [(path: String, bytes: [UInt8])]

  init(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    var files: [(path: String, bytes: [UInt8])] = []
    var segments: [FileName.Published: Int] = [:]
    while files.count < 12, let form = try? reader.u8(), let length = try? reader.u16() {
      let range = (try? reader.skip(min(Int(length), reader.remaining))) ?? 0..<0
      files.append(Self.file(form, Array(bytes[range]), files.count, &segments))
    }
    // Heads for the segments whose names can be known, so that they are fetched.
    let devices = Set(segments.keys.map(\.device)).sorted()
    for device in devices {
      var head = HeadBytes(datastore: Self.datastore, device: device)
      let own = segments.filter { $0.key.device == device }.sorted { $0.key.first < $1.key.first }
      for (name, size) in own where name.first > head.segments.last?.last ?? 0 {
        head.segments.append((name.first, name.last, UInt64(size), name.hash))
      }
      files.append((Self.shared + "/" + FileName.head(device: device), head.encoded()))
    }
    self.files = files
  }

  private static func file(
    _ form: UInt8, _ bytes: [UInt8], _ number: Int, _ segments: inout [FileName.Published: Int]
  ) -> (path: String, bytes: [UInt8]) {
    let device = UInt64(form >> 4) + 2
    switch form & 15 {
    case 0: return (folder + "/" + FileName.folderIdentity, bytes)
    case 1: return (folder + "/catalogue/" + FileName.catalogue(installation: device), bytes)
    case 2:
      let file = FileKind.catalogue.repaired(bytes)
      return (folder + "/catalogue/" + FileName.catalogue(installation: device), file)
    case 3: return (shared + "/" + FileName.head(device: device), bytes)
    case 4, 5:
      var head = ours(bytes)
      if head.count >= 40 { head.set(device, at: 32) }
      head = FileKind.head.repaired(head)
      return (shared + "/" + FileName.head(device: device), head)
    case 6...10:
      var segment = ours(bytes)
      if form & 15 == 10 { segment = pack(bytes, device) }
      segment = FileKind.published.repaired(segment)
      let hash = segment.count > 128 ? XXH3.hash128(segment, 0..<(segment.count - 16)) : 1
      let isWhole = segment.count > 128
      let name = FileName.Published(
        device: isWhole ? segment.u64(at: 32) : device, first: isWhole ? segment.u64(at: 40) : 1,
        last: isWhole ? segment.u64(at: 48) : 1, hash: hash)
      if name.first > 0, name.last >= name.first { segments[name] = segment.count }
      return (shared + "/" + FileName.published(name), segment)
    case 11: return (shared + "/" + FileName.sharedSnapshot(UInt128(number)), bytes)
    case 12: return (shared + "/0000000000000002 (conflicted copy \(number)).head", ours(bytes))
    case 13: return (shared + "/" + FileName.temporary(device), bytes)
    default:
      let name = String(decoding: bytes.prefix(40), as: UTF8.self)
      let isFile = !name.isEmpty && !name.contains("/") && !name.utf8.contains(0) && name != "."
        && name != ".."
      return (shared + "/" + (isFile ? name : "x\(number)"), Array(bytes.dropFirst(40)))
    }
  }

  /// With the datastore's identity where segments and heads have it.
  private static func ours(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count >= 32 else { return bytes }
    var copy = bytes
    copy.set(UInt64(truncatingIfNeeded: datastore), at: 16)
    copy.set(UInt64(truncatingIfNeeded: datastore >> 64), at: 24)
    return copy
  }

  /// A published segment around any pack.
  private static func pack(_ bytes: [UInt8], _ device: UInt64) -> [UInt8] {
    var device = device
    var (first, last) = (UInt64(1), UInt64(1))
    var reader = ByteReader(bytes)
    if let header = try? Pack.header(&reader) {
      (device, first, last) = (header.device.rawValue, header.first, header.last)
    }
    // A pack that does not decode has no chain; none fits then.
    let chain = (try? DeltaChain.values(of: bytes, after: 0))?.last ?? 0
    return PublishedSegment(
      datastore: datastore, device: device, first: first, last: last, chainBefore: 0,
      chainAfter: chain, pack: bytes
    ).encoded().bytes
  }

  // MARK: the rounds

  func run() async throws {
    let base = try await HostileFolder.base()
    let disk = base.snapshot()
    let own = Set(disk.paths().filter { $0.hasPrefix(Self.folder + "/") })
    for file in files { try disk.setBytes(file.path, file.bytes) }
    let put = disk.paths().filter { $0.hasPrefix(Self.folder + "/") && !own.contains($0) }
    let before = put.map { disk.bytes($0) }
    let manager = Self.manager(disk, seed: 9)
    guard let datastore = try? manager.openDatastore(Self.id) else {
      throw FuzzFinding("the datastore can't be opened, which is none of the folder's business")
    }
    for round in 0..<2 {
      _ = try? await datastore.exchange()
      _ = try? datastore.sync()
      _ = try? await datastore.devices()
      _ = datastore.status
      try look(datastore)
      if round == 0 {
        _ = try? datastore.table("t").insert(["round": 1], id: "again")
        _ = try? datastore.sync()
      }
    }
    _ = try? await manager.refresh()
    _ = try? manager.listDatastores()
    try? datastore.close()
    try? manager.shutDown()
    for (path, bytes) in zip(put, before) {
      try FuzzFinding.check(disk.bytes(path) == bytes, "a file of somebody else changed: \(path)")
    }
    let again = Self.manager(disk, seed: 10)
    guard let datastore = try? again.openDatastore(Self.id) else {
      throw FuzzFinding("what came from the folder has spoilt the datastore")
    }
    try look(datastore)
    try? again.shutDown()
  }

  private func look(_ datastore: Datastore) throws {
    guard (try? datastore.table("own")["mine"].string("text")) == "kept" else {
      // A peer may delete or change it: with a delta that says so, which is no damage.
      return
    }
    for table in try datastore.tables() {
      for record in try table.query() { _ = try record.fields }
    }
  }

  private static func manager(_ disk: MemoryDisk, seed: UInt64) -> DatastoreManager {
    let machine = Machine(disk: disk, clock: ManualClock(), random: SeededRandom(seed))
    var options = Options()
    options.durability = .none
    options.compactsAutomatically = false
    return DatastoreManager(
      root: "/home", account: Account(user: "ann", folder: .directory(folder)),
      folder: { DirectoryFolder(folder, machine: machine) }, options: options, machine: machine)
  }

  private static let made = Lock<MemoryDisk?>(nil)

  /// A disk with a device that has published one record. Made once.
  private static func base() async throws -> MemoryDisk {
    if let known = made.withLock({ $0 }) { return known }
    let disk = MemoryDisk(clock: ManualClock())
    let manager = manager(disk, seed: 8)
    let datastore = try manager.openOrCreateDatastore(id)
    try datastore.table("own").insert(["text": "kept"], id: "mine")
    _ = try datastore.sync()
    _ = try await datastore.exchange()
    try datastore.close()
    _ = try await manager.refresh()
    try manager.shutDown()
    made.withLock { $0 = disk }
    return disk
  }
}
