import Glibc

/// Folders of stores. Without Foundation, whose weight would show in the memory figures.
public enum Files {
  public static func makeDirectory(_ path: String) { mkdir(path, 0o755) }

  /// What is behind the first place where `part` is in a path.
  public static func tail(_ path: String, behind part: String) -> String {
    let (path, part) = (Array(path.utf8), Array(part.utf8))
    for start in 0..<max(1, path.count - part.count) where path[start...].starts(with: part) {
      return String(decoding: path[(start + part.count)...], as: UTF8.self)
    }
    return ""
  }

  /// The directory of a path that has one.
  public static func parent(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  /// The bytes of a file, nil if it can't be read.
  public static func content(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = fread(&part, 1, part.count, file)
      if count == 0 { return bytes }
      bytes += part[..<count]
    }
  }

  /// Puts a file in place; false if that failed.
  public static func write(_ path: String, _ bytes: [UInt8]) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    let written = fwrite(bytes, 1, bytes.count, file)
    return fclose(file) == 0 && written == bytes.count
  }

  public static func remove(_ path: String) { unlink(path) }

  /// Where files cost no disk; nil if the system has no such place.
  public static var memory: String? { access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nil }

  /// Removes a directory with all that is in it.
  public static func removeTree(_ path: String) {
    for entry in sizes(path + "/*").keys where unlink(entry) != 0 { removeTree(entry) }
    rmdir(path)
  }

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
