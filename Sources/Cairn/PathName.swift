#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Paths as text.
enum PathName {
  /// An absolute path without "." and "..", links followed as far as the path exists.
  static func absolute(_ path: String) -> String {
    var parts: [Substring] = []
    let full = path.hasPrefix("/") ? path : workingDirectory + "/" + path
    for part in full.split(separator: "/") {
      if part == "." { continue }
      if part == ".." {
        _ = parts.popLast()
      } else {
        parts.append(part)
      }
    }
    var missing: [Substring] = []
    while !parts.isEmpty {
      if let real = resolved("/" + parts.joined(separator: "/")) {
        return ([Substring(real == "/" ? "" : real)] + missing).joined(separator: "/")
      }
      missing.insert(parts.removeLast(), at: 0)
    }
    return "/" + missing.joined(separator: "/")
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
