import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// A device with a newer version, which writes files that the others can't read.
extension FaultWorld {
  struct NewerDevice {
    /// What it wrote as these versions can read it, by path, and in its own form. What one of the
    /// two does not have is in the other only.
    var readable: [String: [UInt8]]
    var written: [String: [UInt8]]
    /// The file that the others wait for.
    let waiting: String
  }

  static let newerIDs: Set<String> = ["newer-0", "newer-1"]
  private static let floor: UInt16 = 9

  /// What everybody waits for.
  var newerNames: Set<String> { newer.map { Set([$0.waiting]) } ?? [] }

  /// It has published two deltas: its head needs the newer version, or only what is in the second
  /// one does.
  mutating func addNewer(
    _ seed: UInt64, _ open: @escaping @Sendable (Machine) throws -> any Folder
  ) async throws {
    let device = try FaultDevice(
      "newer", random.next(), id: FaultWorld.id, options: options, folder: open)
    for id in FaultWorld.newerIDs.sorted() {
      try device.datastore.table("t").insert(["by": "newer"], id: RecordID(id))
      try device.datastore.sync()
      try await device.datastore.exchange()
    }
    let own = try #require(UInt64(device.datastore.device, radix: 16))
    try device.datastore.close()
    let name = FileName.head(device: own)
    let path = FaultWorld.directory + "/" + name
    let bytes = try #require(try await folder.read(path, limit: 1 << 20))
    var newer = NewerDevice(readable: [path: bytes], written: [:], waiting: name)
    if seed % 2 == 0 {
      newer.written[path] = FaultWorld.needingNewer(bytes)
    } else {
      var head = try Head(bytes, name: name, datastore: nil)
      let old = FaultWorld.directory + "/" + head.segments[1].name(head.device)
      let oldBytes = try #require(try await folder.read(old, limit: 1 << 20))
      var segment = try PublishedSegment(oldBytes, name: old, datastore: head.datastore)
      segment.floor = FaultWorld.floor
      let new = segment.encoded()
      head.segments[1].size = UInt64(new.bytes.count)
      head.segments[1].hash = XXH3.hash128(new.bytes, 0..<(new.bytes.count - 16))
      newer = NewerDevice(
        readable: [path: bytes, old: oldBytes],
        written: [path: head.encoded(), FaultWorld.directory + "/" + new.name: new.bytes],
        waiting: new.name)
    }
    // Nobody could mend what it has written besides.
    let head = try Head(bytes, name: name, datastore: nil)
    for segment in head.segments {
      let path = FaultWorld.directory + "/" + segment.name(head.device)
      guard newer.readable[path] == nil else { continue }
      let bytes = try #require(try await folder.read(path, limit: 1 << 20))
      (newer.readable[path], newer.written[path]) = (bytes, bytes)
    }
    try await replace(newer.readable, with: newer.written)
    // Nobody else's to touch.
    for (path, bytes) in newer.written { strangers[path] = bytes }
    self.newer = newer
  }

  /// A head as it would be if only newer versions could read it.
  private static func needingNewer(_ head: [UInt8]) -> [UInt8] {
    var bytes = Array(head.dropLast(16))
    bytes[10] = UInt8(floor)
    let hash = XXH3.hash128(bytes)
    for shift in 0..<16 { bytes.append(UInt8(truncatingIfNeeded: hash >> UInt128(8 * shift))) }
    return bytes
  }

  private func replace(
    _ old: [String: [UInt8]], with new: [String: [UInt8]]
  ) async throws {
    for path in old.keys.sorted() where new[path] == nil { try await folder.remove(path) }
    for (path, bytes) in new.sorted(by: { $0.key > $1.key }) {
      _ = try await folder.write(path, bytes)
    }
  }

  /// The others get the version that can read it: they have what it had written all the time.
  mutating func update() async throws {
    guard let newer else { return }
    for device in devices {
      let ids = try device.datastore.ids().intersection(FaultWorld.newerIDs)
      #expect(ids.isSubset(of: ["newer-0"]), "what needs a newer version is not read")
    }
    for (path, bytes) in newer.written {
      #expect(try await self.bytes(path) == bytes, "\(path)")
      strangers[path] = nil
    }
    try await replace(newer.written, with: newer.readable)
    self.newer = nil
    try await meet(3)
    for device in devices {
      #expect(FaultWorld.newerIDs.isSubset(of: try device.datastore.ids()), "\(device.name)")
    }
  }
}
