internal import CairnBytes
internal import CairnDisk
internal import CairnLog

/// Files that failed a check, kept with the reason beside them for whoever wants to look.
struct Quarantine: Sendable {
  let directory: String
  let machine: Machine

  /// Best effort: a full disk must not turn a bad file into a failed exchange.
  func keep(_ name: String, _ bytes: [UInt8], reason: String) {
    let hash = FileName.hex(XXH3.hash64(bytes))
    let target = hash + ".bad"
    do {
      try machine.disk.createDirectory(directory)
      if try machine.disk.info(directory + "/" + target) != nil { return }
      try DurableFile.replace(
        directory: directory, name: target, bytes: bytes, machine: machine, durable: false)
      try DurableFile.replace(
        directory: directory, name: hash + ".reason",
        bytes: Array("\(name)\n\(reason)\n".utf8), machine: machine, durable: false)
    } catch {}
  }
}
