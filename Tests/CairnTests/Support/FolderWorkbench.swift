import Cairn
import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// Devices by name around one folder, and a hand in the folder that spoils things.
final class FolderWorkbench {
  let place: TemporaryDirectory
  let id = "notes"
  var options = Options()

  init() throws { place = try TemporaryDirectory() }

  var folder: String { place.path + "/folder" }
  /// The datastore's directory in the folder.
  var shared: String { folder + "/p-" + id }

  func root(_ device: String) -> String { place.path + "/" + device }
  func quarantine(_ device: String) -> String { root(device) + "/p-\(id)/quarantine" }

  func manager(_ device: String, folder other: String? = nil) throws -> DatastoreManager {
    try DatastoreManager(
      root: root(device), account: Account(user: "ann", folder: .directory(other ?? folder)),
      options: options)
  }

  func open(_ device: String, folder other: String? = nil) throws -> Datastore {
    try manager(device, folder: other).openOrCreateDatastore(id)
  }

  /// A device that has published one record, named after it.
  func publisher(_ device: String) async throws -> Datastore {
    let datastore = try open(device)
    try datastore.add(device)
    try await datastore.exchange()
    return datastore
  }

  // MARK: files

  private let disk = PosixDisk()

  func names(_ directory: String, _ suffix: String = "") throws -> [String] {
    guard try disk.info(directory) != nil else { return [] }
    return try disk.list(directory).map(\.name).filter { $0.hasSuffix(suffix) }
  }

  func segments(_ device: Datastore) throws -> [String] {
    try names(shared, ".seg").filter { $0.hasPrefix(device.device) }
  }

  func segment(_ device: Datastore) throws -> String {
    try #require(try segments(device).last)
  }

  func head(_ device: Datastore) -> String { device.device + ".head" }

  func read(_ path: String) throws -> [UInt8] {
    let file = try disk.open(path, .read)
    defer { file.close() }
    return try file.read(at: 0, count: Int(try file.size()))
  }

  /// A new file takes the place of the old, as with every sync engine.
  func write(_ path: String, _ bytes: [UInt8]) throws {
    let temporary = place.path + "/written"
    let file = try disk.open(temporary, .create)
    try file.write(bytes.span, at: 0)
    file.close()
    try disk.rename(temporary, to: path)
  }

  func remove(_ path: String) throws { try disk.removeTree(path) }
  func move(_ from: String, to: String) throws { try disk.rename(from, to: to) }
  func makeDirectory(_ path: String) throws { try disk.createDirectory(path) }

  func copyTree(_ from: String, to: String) throws {
    try disk.createDirectory(to)
    for entry in try disk.list(from) {
      let (old, new) = (from + "/" + entry.name, to + "/" + entry.name)
      if entry.info.kind == .directory {
        try copyTree(old, to: new)
      } else {
        try write(new, try read(old))
      }
    }
  }

  /// A copy of these bytes lies in a device's quarantine, with a reason that names the file.
  func isQuarantined(_ bytes: [UInt8], _ name: String, by device: String) throws -> Bool {
    let directory = quarantine(device)
    for bad in try names(directory, ".bad") where try read(directory + "/" + bad) == bytes {
      let reason = try read(directory + "/" + bad.dropLast(3) + "reason")
      return String(decoding: reason, as: UTF8.self).hasPrefix(name + "\n")
    }
    return false
  }

  /// Everybody hears of what everybody has done, and of who has heard it.
  func meet(_ devices: Datastore...) async throws {
    for _ in 0..<3 {
      for device in devices {
        try device.sync()
        try await device.pull()
        try await device.exchange()
      }
    }
  }
}

extension Datastore {
  /// Inserts and commits one record.
  func add(_ id: String) throws {
    try table("t").insert(["from": .string(id), "text": "some text, some text"], id: RecordID(id))
    try sync()
  }

  /// Ids of the records that are visible.
  func ids() throws -> Set<String> {
    Set(try table("t").query().map(\.id.description))
  }

  /// Why an exchange fails; nil if it does not.
  func exchangeError() async -> CairnError? {
    do {
      try await exchange()
      return nil
    } catch { return error }
  }

  /// An exchange, and what it brought made visible.
  @discardableResult
  func pull() async throws -> ExchangeReport {
    let report = try await exchange()
    try sync()
    return report
  }
}

extension ExchangeReport {
  var complaints: Set<String> { Set(waiting.map(\.name) + problems.map(\.name)) }
}

extension Array where Element == UInt8 {
  /// With the checksums of a published segment over what it says now.
  func resummedSegment() -> [UInt8] {
    var copy = self
    copy.set(XXH3.hash64(copy, 0..<104), at: 104)
    return copy.resummed()
  }

  /// With the checksum in the last 16 bytes over what it says now.
  func resummed() -> [UInt8] {
    var copy = self
    let sum = XXH3.hash128(copy, 0..<(count - 16))
    copy.set(UInt64(truncatingIfNeeded: sum), at: count - 16)
    copy.set(UInt64(truncatingIfNeeded: sum >> 64), at: count - 8)
    return copy
  }

  func flipped(at offset: Int) -> [UInt8] {
    var copy = self
    copy[offset] ^= 0x10
    return copy
  }

  /// A head that names another file instead: by size and hash.
  func naming(_ new: [UInt8], insteadOf old: [UInt8]) -> [UInt8]? {
    func entry(_ file: [UInt8], _ hash: [UInt8]) -> [UInt8] {
      var entry: [UInt8] = []
      entry.putVarint(UInt64(file.count))
      return entry + hash
    }
    return replacing(
      entry(old, [UInt8](old.suffix(16))), by: entry(new, [UInt8](new.suffix(16))))?.resummed()
  }

  func replacing(_ old: [UInt8], by new: [UInt8]) -> [UInt8]? {
    guard let start = indices.first(where: { self[$0...].starts(with: old) }) else { return nil }
    return [UInt8](self[..<start]) + new + [UInt8](self[(start + old.count)...])
  }
}
