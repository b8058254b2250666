internal import CairnBytes
internal import CairnDisk
internal import CairnLog

/// Files that failed a check, kept with the reason beside them for whoever wants to look.
struct Quarantine: Sendable {
  let directory: String
  let machine: Machine

  private static let suffix = ".bad"
  private static let reasonSuffix = ".reason"

  /// Best effort: a full disk must not turn a bad file into a failed exchange.
  func keep(_ name: String, _ bytes: [UInt8], reason: String) {
    let hash = FileName.hex(XXH3.hash64(bytes))
    let target = hash + Quarantine.suffix
    do {
      try machine.disk.createDirectory(directory)
      if try machine.disk.info(directory + "/" + target) != nil { return }
      try DurableFile.replace(
        directory: directory, name: target, bytes: bytes, machine: machine, durable: false)
      try write(hash, name, reason)
    } catch {}
  }

  /// The same without the file, of which nothing may be kept.
  func note(_ name: String, _ bytes: [UInt8], reason: String) {
    let hash = FileName.hex(XXH3.hash64(bytes))
    do {
      try machine.disk.createDirectory(directory)
      let path = directory + "/" + hash + Quarantine.reasonSuffix
      if try machine.disk.info(path) == nil { try write(hash, name, reason) }
    } catch {}
  }

  private func write(_ hash: String, _ name: String, _ reason: String) throws(LogError) {
    try DurableFile.replace(
      directory: directory, name: hash + Quarantine.reasonSuffix,
      bytes: Array("\(name)\n\(reason)\n".utf8), machine: machine, durable: false)
  }

  /// The same for a file that is here, and may be large: it is moved. If it can't be, it is
  /// removed: it must not be taken for good again.
  func take(_ path: String, _ name: String, reason: String) {
    let hash = FileName.hex(XXH3.hash64(Array(name.utf8)))
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
