internal import CairnDisk

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Paths as text.
enum PathName {
  /// An absolute path without "." and "..", links followed where there are any: a step up from what
  /// a link leads to is taken there, as the system takes it. Each name is spelled as its directory
  /// has it.
  static func absolute(_ path: String) -> String {
    spelled(resolved(steps: path), disk: Machine.real.disk)
  }

  /// The directory of datastores as it was given; by its absolute path if a name in it is spelled
  /// otherwise than its directory has it, be that behind a link.
  ///
  /// What is not there yet has no spelling: two that are given before it is made stay two, and
  /// where each has a lock of its own they keep nobody apart. An app spells its root the same way
  /// each time.
  static func root(_ path: String) -> String {
    // Mostly spelling matters where it lies, and one look-up tells.
    if let real = resolved(path), !mayFold(real, disk: Machine.real.disk) { return path }
    let plain = resolved(steps: path)
    let spelled = spelled(plain, disk: Machine.real.disk)
    return spelled.utf8.elementsEqual(plain.utf8) ? path : spelled
  }

  private static func resolved(steps path: String) -> String {
    let full = path.hasPrefix("/") ? path : workingDirectory + "/" + path
    // Mostly all of it is there, and the system takes it so. What is below makes types, which
    // takes longer than all else that an opening does with its path.
    if let real = resolved(full) { return real }
    // Without links as far as it exists, so that a step up is to the parent.
    var parts: [Substring] = []
    for part in full.split(separator: "/") where part != "." {
      if part == ".." {
        _ = parts.popLast()
        continue
      }
      parts.append(part)
      if let real = resolved("/" + parts.joined(separator: "/")) {
        parts = real.split(separator: "/")
      }
    }
    return "/" + parts.joined(separator: "/")
  }

  private static func resolved(_ path: String) -> String? {
    guard let buffer = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(buffer) }
    return unsafe String(cString: buffer)
  }

  private static var workingDirectory: String {
    guard let buffer = unsafe getcwd(nil, 0) else { return "/" }
    defer { unsafe free(buffer) }
    return unsafe String(cString: buffer)
  }
}
