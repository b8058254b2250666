import Glibc

/// Folders of stores. Without Foundation, whose weight would show in the memory figures.
public enum Files {
  public static func makeDirectory(_ path: String) { mkdir(path, 0o755) }

  /// The sizes of the files that match the pattern, by path.
  public static func sizes(_ pattern: String) -> [String: Int] {
    var found = glob_t()
    defer { globfree(&found) }
    guard glob(pattern, 0, nil, &found) == 0 else { return [:] }
    var sizes: [String: Int] = [:]
    for case let path? in UnsafeBufferPointer(start: found.gl_pathv, count: Int(found.gl_pathc)) {
      var info = stat()
      if stat(path, &info) == 0 { sizes[String(cString: path)] = Int(info.st_size) }
    }
    return sizes
  }
}
