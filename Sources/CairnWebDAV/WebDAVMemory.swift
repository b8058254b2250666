internal import Cairn
internal import CairnDisk
internal import CairnHTTP
internal import Synchronization

/// What is remembered of a server between requests. Nothing here is needed for correctness.
final class WebDAVMemory: Sendable {
  private struct State {
    var directories: Set<String> = []
    var showsWholeFilesOnly = false
    /// Files in a row that it has refused to move.
    var refusedMoves = 0
    /// Something behind the server's name has answered in its place.
    var isApplication = false
    /// Tags that the server gave to what we wrote, by path.
    var written: [String: (tag: String, size: UInt64)] = [:]
    var writes: UInt64 = 0
    /// What the server did not let us remove.
    var unsweepable: Set<String> = []
    /// Files of ours that it lists, by directory.
    var listed: [String: Set<String>] = [:]
    /// How long files are of which listings do not say it, by path: in which version; nil if the
    /// server refuses to say it.
    var lengths: [String: (version: String, length: UInt64?)] = [:]
  }

  private let state = Lock(State())
  private static let writtenMax = 10_000

  // MARK: directories

  func isThere(_ directory: String) -> Bool {
    state.withLock { $0.directories.contains(directory) }
  }
  func noteDirectory(_ directory: String) {
    state.withLock { _ = $0.directories.insert(directory) }
  }
  func forgetDirectories() { state.withLock { $0.directories = [] } }

  // MARK: leftovers

  func isSweepable(_ path: String) -> Bool {
    state.withLock { !$0.unsweepable.contains(path) }
  }
  func noteUnsweepable(_ path: String) {
    state.withLock { state in
      if state.unsweepable.count < WebDAVMemory.writtenMax { state.unsweepable.insert(path) }
    }
  }

  // MARK: listings

  /// - Parameter names: Those of our files in it.
  func noteListed(_ directory: String, _ names: some Sequence<String>) {
    state.withLock { $0.listed[directory] = Set(names.prefix(WebDAVMemory.writtenMax)) }
  }

  /// Whether a file was in the last listing of its directory.
  func isListed(_ directory: String, _ name: String) -> Bool {
    state.withLock { $0.listed[directory]?.contains(name) == true }
  }

  /// It has gone since.
  func forgetListed(_ directory: String, _ name: String) {
    state.withLock { _ = $0.listed[directory]?.remove(name) }
  }

  func noteLength(_ path: String, _ version: String, _ length: UInt64?) {
    state.withLock { state in
      if state.lengths.count >= WebDAVMemory.writtenMax { state.lengths = [:] }
      state.lengths[path] = (version, length)
    }
  }

  /// nil if it was not asked for in this version; nil inside if it was in vain.
  func length(_ path: String, _ version: String) -> UInt64?? {
    state.withLock { state -> UInt64?? in
      guard let known = state.lengths[path], known.version == version else { return nil }
      return .some(known.length)
    }
  }

  // MARK: the server

  /// It has refused to move two files in a row: one may be a server that was just starting, or
  /// something else that goes by.
  var movesNothing: Bool { state.withLock { $0.refusedMoves >= 2 } }
  func noteMove(isRefused: Bool) {
    state.withLock { $0.refusedMoves = isRefused ? $0.refusedMoves + 1 : 0 }
  }

  /// A file that is being replaced shows as it was, and not in part. True only of servers that were
  /// seen to do so, where they keep the files themselves: behind a name of theirs that is a proxy's
  /// there may be another, which is why a proxy that passes on what it has not received wholly is
  /// not one of them.
  var showsWholeFilesOnly: Bool { state.withLock { $0.showsWholeFilesOnly } }

  func note(_ reply: HTTPReply) {
    let server = reply["server"]?.lowercased() ?? ""
    let isKnown = ["apache", "nginx", "lighttpd"].contains { server.hasPrefix($0) }
    let isApplication = WebDAVMemory.isOfApplication(reply)
    state.withLock { state in
      // Not every answer says so: to a write fewer do than to a listing.
      if isApplication { state.isApplication = true }
      state.showsWholeFilesOnly = isKnown && !state.isApplication
    }
  }

  /// Whether an answer was made by a program that the server only runs or passes requests on to,
  /// such as Nextcloud, which keeps what has come of an upload that broke. The modules of servers
  /// for WebDAV send none of this.
  private static func isOfApplication(_ reply: HTTPReply) -> Bool {
    if applicationHeaders.contains(where: { reply[$0] != nil }) { return true }
    // Of SabreDAV, on which Nextcloud and ownCloud stand, even if it is told to hide.
    if reply["dav"]?.lowercased().contains("extended-mkcol") == true { return true }
    return reply.headers.keys.contains { $0.hasPrefix("oc-") || $0.hasPrefix("x-oc-") }
  }

  private static let applicationHeaders = ["x-powered-by", "x-sabre-version", "set-cookie", "via"]

  // MARK: versions of what we wrote

  /// The version of a file that was just written: that of the listings to come if the server has
  /// told its tag, one of its own if not, so that it is read back.
  func noteWritten(_ path: String, _ tag: String?, _ size: UInt64) -> String {
    state.withLock { state in
      state.writes += 1
      guard let tag, !EntityTag.isWeak(tag), let text = EntityTag.text(tag) else {
        state.written[path] = nil
        return "written \(state.writes)"
      }
      if state.written.count >= WebDAVMemory.writtenMax { state.written = [:] }
      state.written[path] = (text, size)
      return WebDAVMemory.version(text, size)
    }
  }

  func forgetWritten(_ path: String) { state.withLock { $0.written[path] = nil } }

  /// nil if it is not what we wrote.
  func ownVersion(_ path: String, _ tag: String?, _ size: UInt64) -> String? {
    let own = state.withLock { $0.written[path] }
    guard let own, own.tag == tag, own.size == size else { return nil }
    return WebDAVMemory.version(own.tag, size)
  }

  private static func version(_ tag: String, _ size: UInt64) -> String { "own \(tag) \(size)" }
}

/// What changes when a file does.
enum WebDAVVersion {
  /// Times of files are whole seconds, and the tags of some servers are made of them: a file that
  /// is younger than this may change once more and look the same.
  private static let settledMilliseconds: Int64 = 3000
  /// A server whose files are further in its future than this has two clocks.
  private static let futureMilliseconds: Int64 = 60_000

  /// - Parameter now: The server's own time when it made the listing.
  static func text(size: UInt64, modified: String?, tag: String?, now: Int64?) -> String {
    let base = "\(size) \(modified ?? "-") \(tag ?? "-")"
    guard let now, let time = modified.flatMap(HTTPDate.parse) else { return base }
    let age = now - time
    if age >= settledMilliseconds || age < -futureMilliseconds { return base }
    // Read again by every listing until it can't change unseen any more.
    return base + " \(now / 1000)"
  }
}
