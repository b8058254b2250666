import CairnDisk
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Small files, read and written without asking much.
enum TextFile {
  /// The bytes of a file, none if there is none. Those of /proc have no size before they are read.
  static func bytes(_ path: String) -> [UInt8] {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes {
        unsafe Glibc.read(file, $0.baseAddress, $0.count)
      }
      if count <= 0 { return bytes }
      bytes += buffer.prefix(count)
    }
  }

  static func read(_ path: String) -> String { String(decoding: bytes(path), as: UTF8.self) }

  static func write(_ path: String, _ text: String) throws(TortureFailure) {
    try write(path, Array(text.utf8))
  }

  static func write(_ path: String, _ bytes: [UInt8]) throws(TortureFailure) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw TortureFailure("could not write \(path): errno \(errno)") }
    defer { close(file) }
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(file, $0.baseAddress?.advanced(by: done), bytes.count - done)
      }
      guard count > 0 else { throw TortureFailure("could not write \(path): errno \(errno)") }
      done += count
    }
  }

  /// How often a text occurs in bytes.
  static func count(_ text: String, in bytes: [UInt8]) -> Int {
    let wanted = Array(text.utf8)
    guard let first = wanted.first, bytes.count >= wanted.count else { return 0 }
    return (0...(bytes.count - wanted.count)).count { place in
      bytes[place] == first && bytes[place..<(place + wanted.count)].elementsEqual(wanted)
    }
  }

  /// How long a file is, 0 if there is none.
  static func size(_ path: String) -> Int {
    var status = Glibc.stat()
    return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  static func makeDirectory(_ path: String) throws(TortureFailure) {
    do { try PosixDisk().createDirectory(path) } catch { throw TortureFailure("\(error)") }
  }

  static func removeTree(_ path: String) throws(TortureFailure) {
    do { try PosixDisk().removeTree(path) } catch { throw TortureFailure("\(error)") }
  }

  /// Paths of all files below a directory, sorted.
  static func files(below path: String) -> [String] {
    var found: [String] = []
    for entry in (try? PosixDisk().list(path)) ?? [] {
      let inner = path + "/" + entry.name
      found += entry.info.kind == .directory ? files(below: inner) : [inner]
    }
    return found
  }
}

/// Numbers for names.
enum Unique {
  private static let count = Atomic<Int>(0)

  static func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}
