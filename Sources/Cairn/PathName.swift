#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Paths as text.
enum PathName {
  /// An absolute path without "." and "..", links followed as far as the path exists: a step up
  /// from what a link leads to is taken there, as the system takes it.
  static func absolute(_ path: String) -> String {
    let full = path.hasPrefix("/") ? path : workingDirectory + "/" + path
    var there = full.split(separator: "/")
    var missing: [Substring] = []
    while !there.isEmpty {
      if let real = resolved("/" + there.joined(separator: "/")) {
        return joined(real.split(separator: "/"), missing)
      }
      missing.insert(there.removeLast(), at: 0)
    }
    return joined([], missing)
  }

  /// What is not there yet has no links.
  private static func joined(_ there: [Substring], _ missing: [Substring]) -> String {
    var parts = there
    for part in missing where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
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
