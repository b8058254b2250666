internal import Cairn
internal import CairnDisk
internal import CairnHTTP
internal import CairnLog

/// Putting a file in place.
extension WebDAVFolder {
  /// Above this a file is looked at right after it was written.
  private static let trustedBytes: UInt64 = 1 << 20
  /// Above this a file is sent from where it lies, without being in memory.
  private static let wholeBytes: UInt64 = 8 << 20

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    try await write(path, bytes, need: .waits)
  }

  func write(
    _ path: String, _ bytes: [UInt8], need: BudgetNeed
  ) async throws(CairnError) -> FolderEntry {
    try await write(path, .bytes(bytes), need)
  }

  func write(
    _ path: String, from source: any FolderSource
  ) async throws(CairnError) -> FolderEntry {
    if source.size <= WebDAVFolder.wholeBytes {
      return try await write(path, try source.read(0..<source.size))
    }
    let watched = WatchedSource(source)
    do throws(CairnError) { return try await write(path, .part(watched, 0..<source.size)) } catch {
      // Whoever can't read what is to be written leaves nothing of it. Elsewhere it was under
      // another name, or has never shown.
      if watched.hasFailed, WebDAVFolder.saysContent(path), !memory.showsWholeFilesOnly {
        do throws(CairnError) { try await remove(path, endsWhatWasBegun: true) } catch {}
      }
      throw error
    }
  }

  /// Half of a file whose name says what is in it does no harm: nobody takes it for whole.
  private static func saysContent(_ path: String) -> Bool {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return FileName.published(name) != nil || FileName.sharedSnapshot(name) != nil
      || FileName.publishedBlob(name) != nil
  }

  private func write(
    _ path: String, _ body: HTTPRequest.Body, _ need: BudgetNeed = .waits
  ) async throws(CairnError) -> FolderEntry {
    let parts = path.split(separator: "/").map(String.init)
    guard let name = parts.last, !path.hasSuffix("/") else {
      throw CairnError(.illegalArgument, "a file in a folder needs a name")
    }
    let directory = parts.dropLast().joined(separator: "/")
    if !memory.isThere(directory) { try await makeDirectory(directory) }
    do throws(HTTPFailure) {
      let (reply, isClear) = try await send(path, directory, body, need)
      if isClear, body.count <= WebDAVFolder.trustedBytes {
        return FolderEntry(
          name: name, size: body.count,
          version: memory.noteWritten(path, reply["etag"], body.count))
      }
    } catch { throw CairnError(error, file: path) }
    memory.forgetWritten(path)
    guard let entry = try await look(path) else {
      throw CairnError(
        .response, "\(path) is not there after it was written; the next exchange tries again",
        file: path)
    }
    return entry
  }

  /// Sends a file, and says whether it is clear what the server made of it.
  private func send(
    _ path: String, _ directory: String, _ body: HTTPRequest.Body, _ need: BudgetNeed
  ) async throws(HTTPFailure) -> (HTTPReply, isClear: Bool) {
    if WebDAVFolder.saysContent(path) || memory.showsWholeFilesOnly {
      let (reply, tries) = try await put(path, directory, body, need)
      return (reply, tries == 1)
    }
    let scratch = directory + "/" + FileName.temporary(Machine.real.random.next())
    do throws(HTTPFailure) {
      var (reply, tries) = try await put(scratch, directory, body, need)
      tries += try await move(scratch, to: path, body) - 1
      // The tag is that of another name.
      reply.headers["etag"] = nil
      return (reply, tries == 1)
    } catch {
      await drop(scratch, body, after: error)
      throw error
    }
  }

  /// Removes what a write that failed may have left. What can't be removed now is in nobody's way:
  /// such names are passed over, and swept some day.
  private func drop(
    _ scratch: String, _ body: HTTPRequest.Body, after failure: HTTPFailure
  ) async {
    switch failure.kind {
    // Nothing was sent, or nobody is there who could be told.
    case .budget, .later, .cancelled, .connection, .tls: return
    // Nor without credentials. What can't be read to its end has begun to be sent.
    case .settings:
      guard case .part(let source as WatchedSource, _) = body, source.hasFailed else { return }
    default: break
    }
    var request = request("DELETE", scratch, accepted: [200, 202, 204, 404, 410])
    request.endsWhatWasBegun = true
    request.isWorthOneTry = true
    do throws(HTTPFailure) { _ = try await session.send(request) } catch {}
  }

  private func put(
    _ path: String, _ directory: String, _ body: HTTPRequest.Body, _ need: BudgetNeed
  ) async throws(HTTPFailure) -> (HTTPReply, tries: Int) {
    var request = request("PUT", path, accepted: [200, 201, 204])
    request.headers = [("Content-Type", "application/octet-stream")]
    request.body = body
    request.need = need
    do throws(HTTPFailure) {
      let answer = try await session.send(request)
      memory.note(answer.reply)
      return (answer.reply, answer.tries)
    } catch {
      guard error.kind == .status(409) || error.kind == .status(404) else { throw error }
      // The directory above is gone, whatever is remembered of it.
      memory.forgetDirectories()
      do throws(CairnError) { try await makeDirectory(directory) } catch {
        throw HTTPFailure(.settings(error), request.label, error.message)
      }
      do throws(HTTPFailure) {
        let answer = try await session.send(request)
        return (answer.reply, answer.tries + 1)
      } catch let second {
        // What was sent in vain may have used up the hour.
        throw second.kind == .budget && need == .indivisible ? error : second
      }
    }
  }

  /// Returns how many tries it took.
  private func move(
    _ path: String, to target: String, _ body: HTTPRequest.Body
  ) async throws(HTTPFailure) -> Int {
    var request = request("MOVE", path, accepted: [200, 201, 204, 404])
    request.endsWhatWasBegun = true
    request.headers = [
      ("Destination", address.origin + address.path(target)), ("Overwrite", "T"),
    ]
    let answer = try await session.send(request)
    guard answer.reply.status == 404 else { return answer.tries }
    // The first try may have moved it before its answer was lost. Its size says nothing: what it
    // was to replace has the same as a rule.
    guard answer.tries > 1, try await isThere(target, body) else {
      throw HTTPFailure(.cut, request.label, "what was just written is gone")
    }
    return answer.tries
  }

  /// Whether a file has these bytes.
  private func isThere(
    _ path: String, _ body: HTTPRequest.Body
  ) async throws(HTTPFailure) -> Bool {
    let request = request("GET", path, accepted: [])
    let comparison = Comparison()
    do throws(HTTPFailure) {
      let isThere = try await session.read(request, from: 0, of: body.count) {
        bytes throws(CairnError) in
        let end = comparison.count + UInt64(bytes.count)
        guard end <= body.count, try body.slice(comparison.count..<end) == bytes else {
          comparison.differs = true
          throw CairnError(.cancelled, "it is another file")
        }
        comparison.count = end
      }
      return isThere && comparison.count == body.count
    } catch {
      if comparison.differs { return false }
      throw error
    }
  }

  private final class Comparison {
    var count: UInt64 = 0
    var differs = false
  }

  // MARK: directories

  /// Makes a directory of the folder, and those above it that are missing.
  private func makeDirectory(_ directory: String) async throws(CairnError) {
    do throws(HTTPFailure) {
      if try await make(request("MKCOL", directory, isDirectory: true, accepted: [])) == nil {
        memory.noteDirectory(directory)
        return
      }
      var path = ""
      var refusal: HTTPFailure?
      let names = address.base + directory.split(separator: "/").map(String.init)
      for (index, name) in names.enumerated() {
        path += "/" + PercentCoding.encode(name)
        let request = HTTPRequest("MKCOL", address.origin, path + "/", accepted: [])
        let status = try await make(request)
        if status == 403 {
          refusal = HTTPFailure(
            .status(403), request.label,
            "the server answered 403, and \(directory) can't be made")
        }
        if status != nil, index == names.count - 1 {
          throw refusal
            ?? HTTPFailure(.status(409), request.label, "the directory can't be made")
        }
      }
      memory.noteDirectory(directory)
    } catch { throw CairnError(error, file: directory) }
  }

  /// Nil if the directory is there now, and what the server says if not. Those far above may not be
  /// ours to look at.
  private func make(_ request: HTTPRequest) async throws(HTTPFailure) -> Int? {
    var request = request
    request.accepted = [200, 201, 204, 301, 403, 404, 405, 409]
    var reply = try await session.send(request).reply
    if reply.status == 301, WebDAVFolder.leadsElsewhere(reply, request) {
      request.accepted.remove(301)
      do throws(HTTPFailure) { reply = try await session.send(request).reply } catch {
        // Where nobody follows to: what is written there is told the same.
        guard error.kind == .redirect else { throw error }
      }
    }
    memory.note(reply)
    let status = reply.status
    return [200, 201, 204, 301, 405].contains(status) ? nil : status
  }

  /// Whether a redirection is to another path. By one to the same, with or without a slash at its
  /// end, servers say that a directory is there.
  private static func leadsElsewhere(_ reply: HTTPReply, _ request: HTTPRequest) -> Bool {
    guard let target = reply["location"].flatMap(MultiStatus.path) else { return false }
    return target != MultiStatus.path(request.path)
  }
}
