internal import Cairn
internal import CairnDisk
internal import CairnHTTP
internal import CairnLog
internal import Synchronization

/// A folder on a WebDAV server.
///
/// Servers differ in everything that would be a lock (conditional requests), and in much else: a
/// listing may have no tags, or tags that stay the same; what was half written may show. So nothing
/// here depends on a condition. What is replaced is written under a name of its own first, unless
/// the server is known to show whole files only. What was written is looked at again: at once if it
/// is large or was sent more than once, and by the next listing, which says its size; a head is
/// read back then.
struct WebDAVFolder: BudgetedFolder {
  let address: WebDAVAddress
  let session: HTTPSession
  let memory = WebDAVMemory()
  /// Whether it removes uploads that were cut off.
  private var isSwept = true

  init(_ address: WebDAVAddress, _ session: HTTPSession) {
    self.address = address
    self.session = session
  }

  func forReading() -> any Folder {
    var copy = self
    copy.isSwept = false
    return copy
  }

  var traffic: FolderTraffic? { session.meter.traffic }

  func onStall(_ tell: @escaping @Sendable (_ isStalled: Bool) -> Void) {
    session.meter.onStall(tell)
  }

  func request(
    _ method: String, _ name: String, isDirectory: Bool = false, accepted: Set<Int>
  ) -> HTTPRequest {
    HTTPRequest(
      method, address.origin, address.path(name, isDirectory: isDirectory), accepted: accepted)
  }

  // MARK: listing

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    guard let found = try await find(directory, isDirectory: true, depth: "1") else {
      memory.forgetDirectories()
      return []
    }
    memory.noteDirectory(directory)
    let own = MultiStatus.path(address.path(directory, isDirectory: true)) ?? ""
    // A proxy may show the server's own paths: then the directory itself has the shortest.
    let isUsual = found.items.contains { $0.path == own }
    let shortest = found.items.filter(\.isDirectory).map(\.path).min { $0.count < $1.count }
    let parent = isUsual ? own : shortest ?? own
    var entries: [FolderEntry] = []
    var names: Set<String> = []
    var abandoned: [String] = []
    for item in found.items where !item.isDirectory {
      let (above, name) = WebDAVFolder.split(item.path)
      guard above == parent, !name.isEmpty, names.insert(name).inserted else { continue }
      if FileName.isTemporary(name), WebDAVFolder.isAbandoned(item, found.time) {
        abandoned.append(directory + "/" + name)
        continue
      }
      entries.append(entry(item, name, directory.isEmpty ? name : directory + "/" + name, found))
    }
    if isSwept { await sweep(abandoned) }
    return entries.sorted { $0.name < $1.name }
  }

  /// Uploads that were cut off a week ago by the server's own clock, which also made their dates.
  private static func isAbandoned(_ item: MultiStatus.Item, _ now: Int64?) -> Bool {
    guard let now, let time = item.modified.flatMap(HTTPDate.parse) else { return false }
    return now - time > abandonedMilliseconds
  }

  /// Removes some of them; the next listing removes more. What can't be removed is in nobody's way:
  /// it is tried once, and the rest waits for another listing.
  private func sweep(_ paths: [String]) async {
    for path in paths.filter(memory.isSweepable).prefix(WebDAVFolder.sweptMax) {
      var request = request("DELETE", path, accepted: [200, 202, 204, 404, 410])
      request.isWorthOneTry = true
      do throws(HTTPFailure) { _ = try await session.send(request) } catch {
        if case .status = error.kind { memory.noteUnsweepable(path) }
        return
      }
    }
  }

  private static let abandonedMilliseconds: Int64 = 7 * 86_400_000
  private static let sweptMax = 10

  private struct Found {
    var items: [MultiStatus.Item]
    var time: Int64?
  }

  private func find(
    _ name: String, isDirectory: Bool, depth: String
  ) async throws(CairnError) -> Found? {
    var request = request("PROPFIND", name, isDirectory: isDirectory, accepted: [207, 404, 410])
    request.headers = [
      ("Depth", depth), ("Content-Type", "application/xml; charset=utf-8"),
    ]
    request.body = .bytes(MultiStatus.body)
    // Of one file only what was just written is asked.
    request.endsWhatWasBegun = !isDirectory
    do throws(HTTPFailure) {
      let answer = try await session.send(request) { PropfindSink() }
      memory.note(answer.reply)
      guard answer.reply.status == 207 else { return nil }
      try answer.sink.status.checkComplete(request)
      // What is there says so of itself at least (RFC 4918, 9.1): this is no empty directory.
      guard answer.sink.status.hasResponse else {
        throw HTTPFailure(.foreign, request.label, "a listing in which there is nothing at all")
      }
      if isDirectory, answer.sink.status.items.isEmpty, let refusal = answer.sink.status.refusal {
        throw WebDAVFolder.refused(refusal, request, answer.reply)
      }
      return Found(items: answer.sink.status.items, time: answer.reply.serverTime)
    } catch { throw CairnError(error, file: name) }
  }

  /// Nobody knows what is in a directory that was not shown: the same as if that were all of the
  /// answer.
  private static func refused(
    _ refusal: MultiStatus.Refusal, _ request: HTTPRequest, _ reply: HTTPReply
  ) -> HTTPFailure {
    var kind = HTTPFailure.Kind.foreign
    if let status = refusal.status, (400..<600).contains(status) { kind = .status(status) }
    return HTTPFailure(
      kind, request.label, "the server lists nothing and says \"\(refusal.text)\"",
      retryAfter: reply.retryAfter, serverTime: reply.serverTime)
  }

  private static func split(_ path: String) -> (above: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return ("", path) }
    return (String(path[..<slash]), String(path[path.index(after: slash)...]))
  }

  private func entry(
    _ item: MultiStatus.Item, _ name: String, _ path: String, _ found: Found
  ) -> FolderEntry {
    let size = item.size ?? 0
    let version =
      memory.ownVersion(path, item.tag, size)
      ?? WebDAVVersion.text(
        size: size, modified: item.modified, tag: item.tag, now: found.time)
    return FolderEntry(name: name, size: size, version: version)
  }

  // MARK: reading

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    let request = request("GET", path, accepted: [200, 404, 410])
    do throws(HTTPFailure) {
      let answer = try await session.send(request, limit: limit)
      memory.note(answer.reply)
      return answer.reply.status == 200 ? answer.sink.bytes : nil
    } catch { throw CairnError(error, file: path) }
  }

  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    do throws(HTTPFailure) {
      return try await session.read(request("GET", path, accepted: []), from: offset, body)
    } catch { throw CairnError(error, file: path) }
  }

  // MARK: removing

  func remove(_ path: String) async throws(CairnError) {
    try await remove(path, endsWhatWasBegun: false)
  }

  func remove(_ path: String, endsWhatWasBegun: Bool) async throws(CairnError) {
    // DELETE of a directory removes all in it.
    guard path.split(separator: "/").last?.isEmpty == false, !path.hasSuffix("/") else {
      throw CairnError(.illegalArgument, "only files are removed from a folder")
    }
    var request = request("DELETE", path, accepted: [200, 202, 204, 404, 410])
    request.endsWhatWasBegun = endsWhatWasBegun
    do throws(HTTPFailure) { _ = try await session.send(request) } catch {
      throw CairnError(error, file: path)
    }
  }

  // MARK: looking at one file

  /// What a file looks like; nil if it is not there.
  func look(_ path: String) async throws(CairnError) -> FolderEntry? {
    guard let found = try await find(path, isDirectory: false, depth: "0"),
      let item = found.items.first, !item.isDirectory
    else { return nil }
    return entry(item, WebDAVFolder.split(path).name, path, found)
  }
}

/// The answer of PROPFIND if there is one; another body says nothing.
private struct PropfindSink: HTTPSink {
  var status = MultiStatus()
  private var isListing = false

  mutating func begin(_ reply: HTTPReply, _ request: HTTPRequest) throws(HTTPFailure) {
    isListing = reply.status == 207
  }

  mutating func take(_ bytes: [UInt8], _ request: HTTPRequest) throws(HTTPFailure) {
    if isListing { try status.take(bytes, request) }
  }
}
