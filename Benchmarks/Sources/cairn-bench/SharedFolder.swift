import Cairn
import Synchronization

/// A folder in memory in which all devices of an account meet, and which counts what is asked of
/// it. Bytes are those of contents; what a listing says is counted in entries.
final class SharedFolder: Folder {
  struct Count: Sendable {
    var requests = 0
    var entries = 0
    var read = 0
    var written = 0
    /// Those written of the files that hold changes, and of those that only say which there are.
    var segments = 0
    var heads = 0
    var headsRead = 0
    var segmentFiles = 0
    /// Of the segments written those that take the place of smaller ones, and what these have, which
    /// their owner has read for that.
    var merged = 0
    var mergedFrom = 0
    var segmentsRead = 0
    var snapshots = 0
    var snapshotsRead = 0

    static func + (a: Count, b: Count) -> Count { a - (Count() - b) }

    static func - (a: Count, b: Count) -> Count {
      Count(
        requests: a.requests - b.requests, entries: a.entries - b.entries, read: a.read - b.read,
        written: a.written - b.written, segments: a.segments - b.segments,
        heads: a.heads - b.heads, headsRead: a.headsRead - b.headsRead,
        segmentFiles: a.segmentFiles - b.segmentFiles, merged: a.merged - b.merged,
        mergedFrom: a.mergedFrom - b.mergedFrom, segmentsRead: a.segmentsRead - b.segmentsRead,
        snapshots: a.snapshots - b.snapshots, snapshotsRead: a.snapshotsRead - b.snapshotsRead)
    }
  }

  private struct File {
    var bytes: [UInt8]
    var version: Int
  }

  private struct State {
    var directories: [String: [String: File]] = [:]
    var version = 0
    var count = Count()
  }

  private let state: Mutex<State>

  init() { state = Mutex(State()) }

  private init(_ directories: [String: [String: File]], _ version: Int) {
    state = Mutex(State(directories: directories, version: version))
  }

  /// Another folder with the same files.
  func copy() -> SharedFolder {
    let (directories, version) = state.withLock { ($0.directories, $0.version) }
    return SharedFolder(directories, version)
  }

  var count: Count { state.withLock { $0.count } }

  /// How many files there are, and how many bytes they have.
  var size: (files: Int, bytes: Int) {
    state.withLock { state in
      let files = state.directories.values.flatMap(\.values)
      return (files.count, files.reduce(0) { $0 + $1.bytes.count })
    }
  }

  /// What an account is told.
  var location: FolderLocation {
    let kind = FolderKind(schemes: ["memory"]) { (_, _) throws(CairnError) -> any Folder in self }
    return .server(ServerFolder("memory://benchmark/folder", kind: kind))
  }

  private static func split(_ path: String) -> (directory: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return ("", path) }
    return (String(path[..<slash]), String(path[path.index(after: slash)...]))
  }

  private static func entry(_ name: String, _ file: File) -> FolderEntry {
    FolderEntry(name: name, size: UInt64(file.bytes.count), version: String(file.version))
  }

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    state.withLock { state in
      let entries = (state.directories[directory] ?? [:]).map { Self.entry($0.key, $0.value) }
      state.count.requests += 1
      state.count.entries += entries.count
      return entries
    }
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    content(path, nil)
  }

  func read(_ path: String, range: Range<UInt64>) async throws(CairnError) -> [UInt8]? {
    content(path, range)
  }

  private func content(_ path: String, _ range: Range<UInt64>?) -> [UInt8]? {
    let (directory, name) = Self.split(path)
    return state.withLock { state in
      state.count.requests += 1
      guard var bytes = state.directories[directory]?[name]?.bytes else { return nil }
      if let range {
        let limits = Int(range.lowerBound)..<Int(range.upperBound)
        bytes = Array(bytes[limits.clamped(to: 0..<bytes.count)])
      }
      state.count.read += bytes.count
      if name.hasSuffix(".head") { state.count.headsRead += bytes.count }
      if name.hasSuffix(".seg") { state.count.segmentsRead += bytes.count }
      if name.hasSuffix(".snap") { state.count.snapshotsRead += bytes.count }
      return bytes
    }
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    let (directory, name) = Self.split(path)
    return state.withLock { state in
      state.count.requests += 1
      state.count.written += bytes.count
      if name.hasSuffix(".seg") {
        state.count.segments += bytes.count
        state.count.segmentFiles += 1
        let replaced = Self.bytes(within: name, of: state.directories[directory] ?? [:])
        if replaced > 0 { state.count.merged += bytes.count }
        state.count.mergedFrom += replaced
      }
      if name.hasSuffix(".snap") { state.count.snapshots += bytes.count }
      if name.hasSuffix(".head") { state.count.heads += bytes.count }
      state.version += 1
      let file = File(bytes: bytes, version: state.version)
      state.directories[directory, default: [:]][name] = file
      return Self.entry(name, file)
    }
  }

  /// What the segments have whose deltas are all in the one of this name.
  private static func bytes(within name: String, of files: [String: File]) -> Int {
    guard let whole = Segment(name) else { return 0 }
    return files.reduce(0) { sum, file in
      guard file.key != name, let part = Segment(file.key), part.device == whole.device,
        whole.deltas.contains(part.deltas.lowerBound), whole.deltas.contains(part.deltas.upperBound)
      else { return sum }
      return sum + file.value.bytes.count
    }
  }

  /// Whose deltas a file has, and which, as its name says.
  private struct Segment {
    let device: Substring
    let deltas: ClosedRange<Int>

    init?(_ name: String) {
      let parts = name.split(separator: "-")
      guard name.hasSuffix(".seg"), parts.count == 4, let first = Int(parts[1]),
        let last = Int(parts[2]), first <= last
      else { return nil }
      (device, deltas) = (parts[0], first...last)
    }
  }

  func remove(_ path: String) async throws(CairnError) {
    let (directory, name) = Self.split(path)
    state.withLock { state in
      state.count.requests += 1
      state.directories[directory]?[name] = nil
    }
  }
}
