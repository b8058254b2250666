import CairnDisk
import Foundation
import Synchronization

@testable import TestServers

/// A WebDAV server in memory, with the manners of real ones.
final class MemoryDAV: Sendable {
  struct Manners: Sendable {
    enum Tags: Sendable { case strong, weak, unquoted, secondAndSize, none }
    var tags = Tags.strong
    var tagInAnswer = true
    var server = "lighttpd/1.4.69"
    /// The prefix of WebDAV's names; "" for a default namespace.
    var prefix = "D"
    var hrefsAreURLs = false
    var escapesAreLowerCase = false
    var depthIsIgnored = false
    /// Each request takes a second of the server's time.
    var clockTicks = false
    /// It sends parts of files; if not, all of them.
    var knowsParts = true
  }

  struct File: Sendable {
    var bytes: [UInt8]
    /// Seconds since 1970.
    var modified: Int64
    var revision: UInt64
  }

  private struct State {
    var files: [String: File] = [:]
    var directories: Set<String> = [""]
    var revision: UInt64 = 0
    /// Seconds since 1970, only forward by hand.
    var now: Int64 = 1_800_000_000
  }

  let manners: Manners
  private let state = Lock(State())

  init(_ manners: Manners = Manners()) { self.manners = manners }

  var names: [String] { state.withLock { $0.files.keys.sorted() } }
  func pass(seconds: Int64) { state.withLock { $0.now += seconds } }
  func bytes(_ path: String) -> [UInt8]? { state.withLock { $0.files[path]?.bytes } }

  /// Puts something there behind everybody's back; nil removes it.
  func put(_ path: String, _ bytes: [UInt8]?) {
    state.withLock { state in
      state.revision += 1
      let (now, revision) = (state.now, state.revision)
      state.files[path] = bytes.map { File(bytes: $0, modified: now, revision: revision) }
    }
  }

  func answer(_ asked: Asked) -> Reply {
    let reply = state.withLock { state in
      if manners.clockTicks { state.now += 1 }
      return answer(asked, &state)
    }
    guard case .answer(let status, let headers, let body) = reply else { return reply }
    let now = state.withLock { $0.now }
    return .answer(
      status, headers + [("Server", manners.server), ("Date", MemoryDAV.date(now))], body)
  }

  private func answer(_ asked: Asked, _ state: inout State) -> Reply {
    let path = asked.path.split(separator: "/").joined(separator: "/")
    let above = path.split(separator: "/").dropLast().joined(separator: "/")
    switch asked.method {
    case "MKCOL":
      if state.directories.contains(path) { return .answer(405) }
      guard state.directories.contains(above) else { return .answer(409) }
      state.directories.insert(path)
      return .answer(201)
    case "PUT":
      guard state.directories.contains(above) else { return .answer(409) }
      let isNew = state.files[path] == nil
      state.revision += 1
      let file = File(bytes: asked.body, modified: state.now, revision: state.revision)
      state.files[path] = file
      let tag = manners.tagInAnswer ? tag(file) : nil
      return .answer(isNew ? 201 : 204, tag.map { [("ETag", $0)] } ?? [])
    case "GET":
      guard let file = state.files[path] else { return .answer(404) }
      let range = manners.knowsParts ? asked["range"] : nil
      return MemoryDAV.part(of: file.bytes, range, tag(file))
    case "DELETE":
      return .answer(state.files.removeValue(forKey: path) == nil ? 404 : 204)
    case "MOVE":
      guard let target = asked["destination"].flatMap({ URL(string: $0)?.path }) else {
        return .answer(400)
      }
      guard let file = state.files.removeValue(forKey: path) else { return .answer(404) }
      state.files[target.split(separator: "/").joined(separator: "/")] = file
      return .answer(201)
    case "PROPFIND": return list(path, asked["depth"] ?? "infinity", state)
    default: return .answer(501)
    }
  }

  private func list(_ path: String, _ depth: String, _ state: State) -> Reply {
    var items: [(path: String, file: File?)] = []
    if let file = state.files[path] {
      items = [(path, file)]
    } else if state.directories.contains(path) {
      items = [(path + "/", nil)]
      let prefix = path.isEmpty ? "" : path + "/"
      for (name, file) in state.files.sorted(by: { $0.key > $1.key }) where depth == "1" {
        guard name.hasPrefix(prefix) else { continue }
        let isDeep = name.dropFirst(prefix.count).contains("/")
        if !isDeep || manners.depthIsIgnored { items.append((name, file)) }
      }
      for name in state.directories.sorted() where depth == "1" && name != path {
        if name.hasPrefix(prefix), !name.dropFirst(prefix.count).contains("/") {
          items.append((name + "/", nil))
        }
      }
    } else {
      return .answer(404)
    }
    let (open, space) =
      manners.prefix.isEmpty
      ? ("", "xmlns") : (manners.prefix + ":", "xmlns:" + manners.prefix)
    var xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<\(open)multistatus \(space)=\"DAV:\">"
    for item in items { xml += response(item.path, item.file, open) }
    xml += "</\(open)multistatus>\n"
    return .answer(207, [("Content-Type", "text/xml; charset=\"utf-8\"")], Array(xml.utf8))
  }

  private func response(_ path: String, _ file: File?, _ open: String) -> String {
    var href = "/" + path.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(
      CharacterSet(charactersIn: "-._~/")))!
    if manners.escapesAreLowerCase {
      href = href.replacing(/%[0-9A-F]{2}/) { $0.output.lowercased() }
    }
    if manners.hrefsAreURLs { href = "http://inner:8080" + href }
    var xml = "<\(open)response><\(open)href>\(href)</\(open)href><\(open)propstat><\(open)prop>"
    if let file {
      xml += "<\(open)getcontentlength>\(file.bytes.count)</\(open)getcontentlength>"
      xml += "<\(open)getlastmodified>\(MemoryDAV.date(file.modified))</\(open)getlastmodified>"
      if let tag = tag(file) { xml += "<\(open)getetag>\(tag)</\(open)getetag>" }
      xml += "<\(open)resourcetype/>"
    } else {
      xml += "<\(open)resourcetype><\(open)collection/></\(open)resourcetype>"
    }
    return xml + "</\(open)prop><\(open)status>HTTP/1.1 200 OK</\(open)status></\(open)propstat>"
      + "</\(open)response>"
  }

  private func tag(_ file: File) -> String? {
    switch manners.tags {
    case .strong: "\"\(file.revision)\""
    case .weak: "W/\"\(file.revision)\""
    case .unquoted: "\(file.revision)-x"
    case .secondAndSize: "\"\(file.modified)-\(file.bytes.count)\""
    case .none: nil
    }
  }

  static func part(of bytes: [UInt8], _ range: String?, _ tag: String?) -> Reply {
    var headers = [("Content-Type", "application/octet-stream"), ("Accept-Ranges", "bytes")]
    if let tag { headers.append(("ETag", tag)) }
    guard let ends = range?.dropFirst("bytes=".count).split(separator: "-").compactMap({ Int($0) }),
      ends.count == 2
    else { return .answer(200, headers, bytes) }
    if ends[0] >= bytes.count { return .answer(416, [("Content-Range", "bytes */\(bytes.count)")]) }
    let last = min(ends[1], bytes.count - 1)
    headers.append(("Content-Range", "bytes \(ends[0])-\(last)/\(bytes.count)"))
    return .answer(206, headers, Array(bytes[ends[0]...last]))
  }

  static func date(_ seconds: Int64) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
  }
}
