import Cairn
import CairnDisk
import TestSupport
import Testing

/// A local root and an account's root with a folder, and a hand that damages their files.
final class DamageWorkbench {
  let bench: FolderWorkbench
  let disk = PosixDisk()

  init() throws { bench = try FolderWorkbench() }

  var localRoot: String { bench.place.path + "/local" }

  func local() throws -> DatastoreManager {
    prepare()
    return try DatastoreManager(root: localRoot, options: bench.options)
  }

  func linked(_ device: String) throws -> DatastoreManager {
    prepare()
    return try bench.manager(device)
  }

  /// Several segments, and snapshots only when a test makes one.
  private func prepare() {
    bench.options.compactsAutomatically = false
    bench.options.segmentBytes = 64 << 10
  }

  func directory(_ root: String) -> String { root + "/p-notes" }

  /// Records of two tables, in commits of ten, with updates, and a snapshot in the middle.
  func fill(_ datastore: Datastore, _ count: Int = 400, compacts: Bool = true) throws {
    for number in 0..<count {
      try datastore.table(number % 3 == 0 ? "odd" : "t").insert(
        ["n": .int(Int64(number)), "text": .string(DamageWorkbench.text(number))],
        id: RecordID("r\(number)"))
      if number % 10 == 9 { try datastore.sync() }
      if compacts, number == count / 2 { try datastore.compact() }
    }
    try datastore.sync()
  }

  /// Text that does not pack.
  static func text(_ number: Int) -> String {
    let random = SeededRandom(UInt64(number) + 1)
    return (0..<40).map { _ in String(random.next(), radix: 36) }.joined()
  }

  /// Two devices of which the second has `of-b` and has published it, and the first has published
  /// what it is given here. Both are closed; returns what they are called.
  func exchangeTwo(
    _ fill: (Datastore) throws -> Void, then end: (Datastore) async throws -> Void
  ) async throws -> (own: String, other: String) {
    let a = try linked("a").openOrCreateDatastore("notes")
    try fill(a)
    try await a.exchange()
    let b = try linked("b").openOrCreateDatastore("notes")
    try await b.pull()
    try b.add("of-b")
    try await b.exchange()
    try await end(a)
    let devices = (own: a.device, other: b.device)
    try a.close()
    try b.close()
    return devices
  }

  // MARK: files

  func files(_ directory: String, _ suffix: String = "") throws -> [String] {
    var result: [String] = []
    for entry in try disk.list(directory) {
      let path = directory + "/" + entry.name
      if entry.info.kind == .directory {
        result += try files(path, suffix)
      } else if path.hasSuffix(suffix) {
        result.append(path)
      }
    }
    return result.sorted()
  }

  /// All files below a directory with their bytes, without the lock.
  func image(_ directory: String) throws -> [String: [UInt8]] {
    var result: [String: [UInt8]] = [:]
    for path in try files(directory) where !path.hasSuffix("/LOCK") {
      result[String(path.dropFirst(directory.count))] = try bench.read(path)
    }
    return result
  }

  /// Changes the bytes of a file.
  func bend(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
    var bytes = try bench.read(path)
    change(&bytes)
    try bench.write(path, bytes)
  }

  /// Flips so many bytes from an offset on that no single bit mends it.
  func spoil(_ path: String, at offset: Int, count: Int = 8) throws {
    try bend(path) { bytes in
      for index in offset..<min(bytes.count, offset + count) { bytes[index] ^= 0x5A }
    }
  }
}
