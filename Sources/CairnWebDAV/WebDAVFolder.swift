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
    var request = HTTPRequest(
      method, address.origin, address.path(name, isDirectory: isDirectory), accepted: accepted)
    // Nextcloud and ownCloud keep what is removed for weeks, and what is moved over as well: each
    // head that was replaced would lie in the user's bin.
    if method == "DELETE" || method == "MOVE" {
      request.headers.append(("X-NC-Skip-Trashbin", "true"))
    }
    return request
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
      let path = directory.isEmpty ? name : directory + "/" + name
      entries.append(entry(try await measured(item, path), name, path, found))
    }
    memory.noteListed(directory, entries.lazy.map(\.name).filter(WebDAVFolder.isOurs))
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

  private static func isOurs(_ name: String) -> Bool {
    saysContent(name) || FileName.headDevice(name) != nil
      || FileName.catalogueInstallation(name) != nil
  }

  /// With the length of the file: a server that makes its listings from elsewhere may not know it.
  private func measured(
    _ item: MultiStatus.Item, _ path: String
  ) async throws(CairnError) -> MultiStatus.Item {
    guard item.size == nil, WebDAVFolder.isOurs(WebDAVFolder.split(path).name) else { return item }
    var item = item
    // Where nothing tells one content from another, the length is that of this moment.
    let version = "\(item.modified ?? "") \(item.tag ?? "")"
    if item.tag != nil || item.modified != nil, let known = memory.length(path, version) {
      item.size = known
      return item
    }
    let request = request("HEAD", path, accepted: [200, 404, 410])
    let reply: HTTPReply
    do throws(HTTPFailure) { reply = try await session.send(request).reply } catch {
      // Some know no HEAD, or say of one file only that nobody may have it.
      guard case .status(let status) = error.kind, !error.isPassing else {
        throw CairnError(error, file: path)
      }
      if [403, 405, 501].contains(status) { memory.noteLength(path, version, nil) }
      return item
    }
    // It has gone meanwhile, or something else has come.
    guard reply.status == 200 else { return item }
    guard let length = reply.length else {
      throw CairnError(
        .response, "\(request.label): the server does not say how long its files are, neither in "
          + "a listing (getcontentlength) nor for one file (Content-Length)", file: path)
    }
    memory.noteLength(path, version, length)
    item.size = length
    return item
  }

  // MARK: reading

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    let request = request("GET", path, accepted: [200, 404, 410])
    var isSecond = false
    while true {
      do throws(HTTPFailure) {
        let answer = try await session.send(request, limit: limit)
        memory.note(answer.reply)
        if answer.reply.status == 200 { return answer.sink.bytes }
      } catch { throw CairnError(error, file: path) }
      guard try await isStillListed(path, isSecond) else { return nil }
      isSecond = true
    }
  }

  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    let request = request("GET", path, accepted: [])
    var given: UInt64 = 0
    var isSecond = false
    while true {
      do throws(HTTPFailure) {
        let isThere = try await session.read(request, from: offset + given) {
          bytes throws(CairnError) in
          try body(bytes)
          given += UInt64(bytes.count)
        }
        if isThere { return true }
      } catch { throw CairnError(error, file: path) }
      guard try await isStillListed(path, isSecond) else { return false }
      isSecond = true
    }
  }

  /// Whether a file that the server has listed, and of which it says that it is not there, is to be
  /// asked for once more: as a rule it was replaced or removed meanwhile, and the server is asked
  /// which of the two.
  ///
  /// - Throws: If the server says that it is there, and does not give it: nobody would ever hear of
  ///   a device whose head it is.
  private func isStillListed(_ path: String, _ isSecond: Bool) async throws(CairnError) -> Bool {
    let (directory, name) = WebDAVFolder.split(path)
    guard memory.isListed(directory, name) else { return false }
    guard let entry = try await look(path), entry.size > 0 else {
      memory.forgetListed(directory, name)
      return false
    }
    if !isSecond { return true }
    let suffix = name.lastIndex(of: ".").map { String(name[$0...]) } ?? name
    throw CairnError(
      .response,
      "\(address.origin)\(address.path(path)): the server lists it and does not give it (404); IIS "
        + "wants a MIME type for each extension, so also for \(suffix)", file: path)
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
    let (directory, name) = WebDAVFolder.split(path)
    memory.forgetListed(directory, name)
  }

  // MARK: looking at one file

  /// What a file looks like; nil if it is not there.
  func look(_ path: String) async throws(CairnError) -> FolderEntry? {
    guard let found = try await find(path, isDirectory: false, depth: "0"),
      let item = found.items.first, !item.isDirectory
    else { return nil }
    return entry(try await measured(item, path), WebDAVFolder.split(path).name, path, found)
  }
}

/// The answer of PROPFIND if there is one; another body says nothing.
struct PropfindSink: HTTPSink {
  private(set) var status = MultiStatus()
  private var isListing = false

  mutating func begin(_ reply: HTTPReply, _ request: HTTPRequest) throws(HTTPFailure) {
    isListing = reply.status == 207
  }

  mutating func take(_ bytes: [UInt8], _ request: HTTPRequest) throws(HTTPFailure) {
    if isListing { try status.take(bytes, request) }
  }
}
