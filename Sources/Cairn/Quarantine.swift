internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnStore

/// Files that failed a check, kept with the reason beside them for whoever wants to look.
struct Quarantine: Sendable {
  let directory: String
  let machine: Machine
  /// As much as anybody may want to look at, and more than the largest file has. A folder has what
  /// others put there: each round may find other bad bytes in it.
  var bytesMax: UInt64 = 80 << 20
  /// Makes files, unless the store that it belongs to has given its own back: the directory may be
  /// gone by then, and nobody would remove it a second time. nil: it belongs to none.
  var whileHeld: (@Sendable (() -> Void) -> Void)?

  /// The same in the directory of a store. That of one which is put together inside of another one
  /// stays the other one's.
  func beside(_ store: Store) -> Quarantine {
    var copy = self
    if whileHeld == nil { copy.whileHeld = { make in _ = store.whileHeld(make) } }
    return copy
  }

  private static let suffix = ".bad"
  private static let reasonSuffix = ".reason"
  /// Before the names of what was this device's own: it stays until somebody removes it.
  private static let ownPrefix = "own-"

  /// What came from the folder, with the texts about it.
  static let filesMax = 256
  static let keepMilliseconds: Int64 = 30 * 86_400_000

  /// Keeps what came from the folder, for some time. Best effort: a full disk must not turn a bad
  /// file into a failed exchange.
  func keep(_ name: String, _ bytes: [UInt8], reason: String) {
    keep(FileName.hex(XXH3.hash64(bytes)), name, bytes, reason)
    prune()
  }

  /// The same of what only this device had.
  func keepOwn(_ name: String, _ bytes: [UInt8], reason: String) {
    keep(Quarantine.ownPrefix + FileName.hex(XXH3.hash64(bytes)), name, bytes, reason)
  }

  private func keep(_ stem: String, _ name: String, _ bytes: [UInt8], _ reason: String) {
    let target = stem + Quarantine.suffix
    make {
      do {
        try machine.disk.createDirectory(directory)
        if try machine.disk.info(directory + "/" + target) != nil { return }
        try DurableFile.replace(
          directory: directory, name: target, bytes: bytes, machine: machine, durable: false)
        try write(stem, name, reason)
      } catch {}
    }
  }

  private func make(_ body: () -> Void) {
    if let whileHeld { whileHeld(body) } else { body() }
  }

  /// The same without the file, of which nothing may be kept.
  func note(_ name: String, _ bytes: [UInt8], reason: String) {
    let hash = FileName.hex(XXH3.hash64(bytes))
    make {
      do {
        try machine.disk.createDirectory(directory)
        let path = directory + "/" + hash + Quarantine.reasonSuffix
        if try machine.disk.info(path) == nil { try write(hash, name, reason) }
      } catch {}
    }
    prune()
  }

  /// Removes what came from the folder and is old, by this device's clock and by the files beside
  /// it, and the oldest of what is too much.
  private func prune() {
    do {
      var files = try machine.disk.list(directory).filter { Quarantine.isOfFolder($0) }
      files.sort { ($0.info.modified, $0.name) < ($1.info.modified, $1.name) }
      guard let newest = files.last?.info.modified else { return }
      let latest = min(machine.clock.now(), newest)
      var bytes: UInt64 = files.reduce(0) { $0 + $1.info.size }
      var count = files.count
      for file in files {
        let isTooMuch = bytes > bytesMax || count > Quarantine.filesMax
        let age = latest.elapsed(since: file.info.modified)
        guard isTooMuch || age > Quarantine.keepMilliseconds else { break }
        try machine.disk.remove(directory + "/" + file.name)
        bytes -= file.info.size
        count -= 1
      }
    } catch {
      // The next one tries again.
    }
  }

  private static func isOfFolder(_ entry: DirectoryEntry) -> Bool {
    entry.info.kind == .file && !entry.name.hasPrefix(ownPrefix)
      && (entry.name.hasSuffix(suffix) || isReason(entry.name))
  }

  private func write(_ stem: String, _ name: String, _ reason: String) throws(LogError) {
    try DurableFile.replace(
      directory: directory, name: stem + Quarantine.reasonSuffix,
      bytes: Array("\(name)\n\(reason)\n".utf8), machine: machine, durable: false)
  }

  /// Keeps a file that is here, and may be large: it is moved. If it can't be, it is removed: it
  /// must not be taken for good again.
  func take(_ path: String, _ name: String, reason: String) {
    let hash = Quarantine.ownPrefix + FileName.hex(XXH3.hash64(Array(name.utf8)))
    do {
      try machine.disk.createDirectory(directory)
      try machine.disk.rename(path, to: directory + "/" + hash + Quarantine.suffix)
      try write(hash, name, reason)
    } catch {
      do { try machine.disk.remove(path) } catch {}
    }
  }

  /// Removes everything but what was wrong with it. What is in doubt goes.
  func keepReasonsOnly() throws(DiskError) {
    guard try machine.disk.info(directory) != nil else { return }
    for entry in try machine.disk.list(directory) where !Quarantine.isReason(entry.name) {
      try machine.disk.removeTree(directory + "/" + entry.name)
    }
  }

  /// Removes what crashes left half written. Not while anybody may put something there.
  func sweep() { machine.disk.sweepTemporaries(directory) }

  /// Whether a name is that of a text about another file.
  static func isReason(_ name: String) -> Bool { name.hasSuffix(reasonSuffix) }

  /// The name of the file that a text is about.
  static func subject(_ name: String) -> String? {
    isReason(name) ? name.dropLast(reasonSuffix.count) + suffix : nil
  }

  /// The text about a file that was put aside, on one line; nil if there is none.
  static func reason(_ path: String, disk: any Disk) -> String? {
    guard path.hasSuffix(suffix) || isReason(path) else { return nil }
    let beside = isReason(path) ? path : path.dropLast(suffix.count) + reasonSuffix
    // Without it, or if it can't be read, there is just the file.
    guard let bytes = try? DurableFile.read(beside, limit: 1 << 16, disk: disk) else {
      return nil
    }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    return lines.isEmpty ? nil : lines.joined(separator: ": ")
  }
}
