internal import Cairn
internal import CairnHTTP

/// Making the directories that files are put into.
extension WebDAVFolder {
  /// Makes a directory of the folder, and those above it that are missing.
  func makeDirectory(_ directory: String) async throws(CairnError) {
    do throws(HTTPFailure) {
      try await make(directory)
      memory.noteDirectory(directory)
    } catch { throw CairnError(error, file: directory) }
  }

  private func make(_ directory: String) async throws(HTTPFailure) {
    let whole = request("MKCOL", directory, isDirectory: true, accepted: [])
    guard let first = try await refusal(of: whole, directory) else { return }
    // Who we are is not known there, or not any more.
    if first.kind == .status(401) { throw first }
    if WebDAVFolder.mayBeThere(first), try await isDirectory(whole.path) { return }
    var told: HTTPFailure?
    let names = address.base + directory.split(separator: "/").map(String.init)
    if names.isEmpty { return }
    func makeFirst(_ count: Int) async throws(HTTPFailure) -> HTTPFailure? {
      let path = names.prefix(count).map { "/" + PercentCoding.encode($0) }.joined()
      let request = HTTPRequest("MKCOL", address.origin, path + "/", accepted: [])
      let failure = try await refusal(of: request, directory)
      if failure?.kind == .status(401) || failure?.kind == .status(403) { told = failure }
      return failure
    }
    // Upwards to the first that is there or can be made. Those far above may not be ours to look
    // at: whoever is not known there is not known further up either.
    var count = names.count - 1
    var last: HTTPFailure? = first
    while count > 0, let refusal = try await makeFirst(count), refusal.kind != .status(401) {
      count -= 1
    }
    // And down again: whatever was said of the others, the last one decides.
    if count > 0 {
      for below in (count + 1)...names.count { last = try await makeFirst(below) }
    }
    guard let last else { return }
    if try await isDirectory(whole.path) { return }
    throw told ?? last
  }

  /// Servers say 405 of what is there (RFC 4918, 9.3.1), and some something else: that one of the
  /// directories above is missing is not among what is left.
  private static func mayBeThere(_ failure: HTTPFailure) -> Bool {
    failure.kind != .status(403) && failure.kind != .status(404) && failure.kind != .status(409)
  }

  /// Nil if the directory is there now, and what the server says if not. Thrown is only what says
  /// nothing of this directory.
  private func refusal(
    of request: HTTPRequest, _ directory: String
  ) async throws(HTTPFailure) -> HTTPFailure? {
    var request = request
    request.accepted = [200, 201, 204, 301, 403, 404, 405, 406, 409, 423]
    let reply: HTTPReply
    do throws(HTTPFailure) { reply = try await answer(to: request) } catch {
      guard case .status = error.kind, !error.isPassing else { throw error }
      var refusal = error
      refusal.detail += ", and \(directory) can't be made"
      return refusal
    }
    memory.note(reply)
    switch reply.status {
    case 200, 201, 204, 301, 405: return nil
    case 404, 409:
      return HTTPFailure(.status(409), request.label, "the directory can't be made")
    default:
      return HTTPFailure(
        .status(reply.status), request.label,
        "the server answered \(reply.status), and \(directory) can't be made")
    }
  }

  private func answer(to request: HTTPRequest) async throws(HTTPFailure) -> HTTPReply {
    let reply = try await session.send(request).reply
    guard reply.status == 301, WebDAVFolder.leadsElsewhere(reply, request) else { return reply }
    var request = request
    request.accepted.remove(301)
    do throws(HTTPFailure) { return try await session.send(request).reply } catch {
      // Where nobody follows to: what is written there is told the same.
      guard error.kind == .redirect else { throw error }
      return reply
    }
  }

  /// Whether a redirection is to another path. By one to the same, with or without a slash at its
  /// end, servers say that a directory is there.
  private static func leadsElsewhere(_ reply: HTTPReply, _ request: HTTPRequest) -> Bool {
    guard let target = reply["location"].flatMap(MultiStatus.path) else { return false }
    return target != MultiStatus.path(request.path)
  }

  /// Whether there is a directory, as far as the server says so.
  private func isDirectory(_ path: String) async throws(HTTPFailure) -> Bool {
    var request = HTTPRequest("PROPFIND", address.origin, path, accepted: [207])
    request.headers = [("Depth", "0"), ("Content-Type", "application/xml; charset=utf-8")]
    request.body = .bytes(MultiStatus.body)
    request.endsWhatWasBegun = true
    request.isWorthOneTry = true
    do throws(HTTPFailure) {
      let status = try await session.send(request) { PropfindSink() }.sink.status
      return status.items.contains { $0.isDirectory }
    } catch {
      switch error.kind {
      case .status, .foreign, .redirect, .tooLarge: return false
      default: throw error
      }
    }
  }
}
