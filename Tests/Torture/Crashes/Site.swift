import CairnLog
import TestSupport

/// Which kind of step of a disk it is: the call, and what it works on, without names that are
/// different each time.
enum Site {
  static func name(_ operation: MemoryDiskOperation, isHome: Bool) -> String {
    let prefix = isHome ? "" : "folder: "
    let path = role(operation.path)
    guard let target = operation.target else { return "\(prefix)\(operation.verb) \(path)" }
    return "\(prefix)\(operation.verb) \(path) to \(role(target))"
  }

  /// The same of what is read.
  static func name(_ read: MemoryDiskRead, isHome: Bool) -> String {
    "\(isHome ? "" : "folder: ")\(read.verb) \(role(read.path))"
  }

  private static func role(_ path: String) -> String {
    let parts = path.split(separator: "/").map(String.init)
    let roles = parts.dropFirst().map(part)
    return roles.isEmpty ? "the root" : roles.joined(separator: "/")
  }

  private static func part(_ name: String) -> String {
    if FileName.isTemporary(name) { return "*.tmp" }
    if FileName.segmentNumber(name) != nil { return "*.seg" }
    if FileName.snapshotNumber(name) != nil { return "*.snap" }
    if FileName.published(name) != nil { return "published.seg" }
    if FileName.headDevice(name) != nil { return "*.head" }
    if FileName.sharedSnapshot(name) != nil { return "shared.snap" }
    if FileName.catalogueInstallation(name) != nil { return "*.cat" }
    if FileName.stagingToken(name) != nil { return "staging" }
    if FileName.outboxNumber(name) != nil { return "outbox" }
    if FileName.generation(directory: name) != nil { return "datastore" }
    if name.hasPrefix("b-") { return "contents" }
    if name.allSatisfy(\.isNumber) { return "time" }
    if let dot = name.lastIndex(of: "."), dot > name.startIndex { return "*" + name[dot...] }
    return name
  }
}
