import Cairn
import CairnLog
import TestSupport

/// The simulated folder as one device has it.
struct MemoryFolderClient: Folder {
  let folder: MemoryFolder
  let device: Int

  private typealias Act = SimulationStep.Act

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    let due = try await folder.begin(device, [.requestError, .listStale, .listPartial])
    if folder.isEmptied(device) { return [] }
    folder.meetListing(directory, device)
    let view = folder.views[folder.number(of: device)]
    var entries = (view.directories[directory] ?? []).map { name, file in
      FolderEntry(
        name: name, size: UInt64(file.bytes.count), version: String(file.tick),
        isPresent: file.isPresent)
    }
    // No order is promised.
    if !entries.isEmpty {
      let turn = folder.requests % entries.count
      entries = Array(entries[turn...] + entries[..<turn])
    }
    let last = folder.listings[device][directory]
    folder.listings[device][directory] = entries
    if due?.act == .listStale, let last, last != entries {
      folder.took(.listStale, device)
      return last
    }
    if let due, due.act == .listPartial {
      let part = entries.filter { _ in due.random.below(3) > 0 }
      if part.count < entries.count { folder.took(.listPartial, device) }
      return part
    }
    return entries
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    let due = try await folder.begin(
      device, [.requestError, .readStale, .readShort, .readMissing, .readGarbage])
    if folder.isEmptied(device) { return nil }
    folder.meetReading(path, device)
    guard let file = folder.file(device, path), file.isPresent else { return nil }
    guard file.bytes.count <= limit else {
      throw CairnError(.fileIO, "\(path) has \(file.bytes.count) bytes", file: path)
    }
    guard let due else { return file.bytes }
    switch due.act {
    case .readStale:
      guard let old = folder.older.last(where: { $0.path == path }), old.order < file.order,
        old.bytes != file.bytes
      else { return file.bytes }
      folder.took(.readStale, device)
      return old.bytes
    case .readShort:
      let length = due.random.below(file.bytes.count + 1)
      if length < file.bytes.count { folder.took(.readShort, device) }
      return Array(file.bytes.prefix(length))
    case .readMissing:
      folder.took(.readMissing, device)
      return nil
    default:
      folder.took(.readGarbage, device)
      if due.random.coin() || file.bytes.isEmpty {
        return Array("<html><body>Please log in</body></html>".utf8)
      }
      var bytes = file.bytes
      bytes[due.random.below(bytes.count)] ^= UInt8(1 << due.random.below(8))
      return bytes
    }
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    let due = try await folder.begin(
      device,
      [
        .requestError, .writePartial, .writePartialError, .writeStoredError, .writeLate,
        .sizeMismatch,
      ])
    let name = MemoryFolder.View.split(path).name
    if folder.isEmptied(device) { throw CairnError(.notFound, "\(path): no such directory") }
    folder.onWrite?(device, path, bytes)
    var stored = bytes
    if let due {
      if due.act == .writePartial || due.act == .writePartialError {
        stored = Array(bytes.prefix(due.random.below(bytes.count)))
        // Without the whole of it nobody can go on to whom this half comes.
        if path == FileName.folderIdentity { folder.troubleAll() }
      }
      folder.took(due.act, device)
    }
    folder.publish(device, path, stored, isLate: due?.act == .writeLate)
    if stored.count == bytes.count, due?.act != .writeLate {
      folder.onStored?(device, path)
    }
    if due?.act == .writeStoredError || due?.act == .writePartialError {
      throw CairnError(.timeout, "\(path): no answer")
    }
    let size = due?.act == .sizeMismatch ? stored.count + 1 : stored.count
    return FolderEntry(
      name: name, size: UInt64(size), version: String(folder.file(device, path)?.tick ?? 0))
  }

  func remove(_ path: String) async throws(CairnError) {
    _ = try await folder.begin(device, [.requestError])
    if folder.isEmptied(device) { return }
    if folder.strangers.contains(path) {
      folder.violation = "device \(device) removes \(path), which is not its own"
    }
    folder.withdraw(device, path)
  }
}
