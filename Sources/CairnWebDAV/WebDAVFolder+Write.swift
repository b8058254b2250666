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
  static func saysContent(_ path: String) -> Bool {
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
    if WebDAVFolder.saysContent(path) || memory.showsWholeFilesOnly || memory.movesNothing {
      let (reply, tries) = try await put(path, directory, body, need)
      return (reply, tries == 1)
    }
    let scratch = directory + "/" + FileName.temporary(Machine.real.random.next())
    do throws(HTTPFailure) {
      var (reply, tries) = try await put(scratch, directory, body, need)
      do throws(HTTPFailure) {
        tries += try await move(scratch, to: path, body) - 1
        memory.noteMove(isRefused: false)
      } catch {
        guard WebDAVFolder.refusesMoves(error) else { throw error }
        reply = try await putInPlace(path, directory, body, need, after: error)
        await drop(scratch, body, after: error)
        return (reply, isClear: false)
      }
      // The tag is that of another name.
      reply.headers["etag"] = nil
      return (reply, tries == 1)
    } catch {
      await drop(scratch, body, after: error)
      throw error
    }
  }

  /// Whether the server is one that moves nothing. Mostly that is a proxy's doing: the server knows
  /// itself by another name than the one that `Destination` begins with, and refuses to move
  /// something to "another" server.
  private static func refusesMoves(_ failure: HTTPFailure) -> Bool {
    switch failure.kind {
    case .status(400), .status(403), .status(405), .status(409), .status(501), .status(502): true
    default: false
    }
  }

  /// Writes a file under its own name, where nothing can be moved there: somebody may see half of
  /// it for a moment. Nobody would ever hear of this device otherwise, and who reads a head checks
  /// its sum, so with all that is replaced: half of one that has less than 72 bytes is waited for;
  /// more goes into quarantine, and is reported as a problem until the next version is read. It is
  /// looked at afterwards.
  private func putInPlace(
    _ path: String, _ directory: String, _ body: HTTPRequest.Body, _ need: BudgetNeed,
    after refusal: HTTPFailure
  ) async throws(HTTPFailure) -> HTTPReply {
    do throws(HTTPFailure) {
      let reply = try await put(path, directory, body, need).0
      memory.noteMove(isRefused: true)
      return reply
    } catch {
      // It takes nothing there, so that says nothing of moves.
      guard case .status = error.kind else { throw error }
      var failure = error
      failure.detail += "; before that, \(refusal.request): \(refusal.detail): if there is a proxy "
        + "before the server, does it pass on Host, or rewrite Destination?"
      throw failure
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
        throw second.kind == .budget && need == .indivisible
          ? error : WebDAVFolder.explained(second, body)
      }
    }
  }

  /// The directory is there, and still the server has no place for a file: so IIS says that it is
  /// too long (404.13).
  private static func explained(
    _ failure: HTTPFailure, _ body: HTTPRequest.Body
  ) -> HTTPFailure {
    guard failure.kind == .status(404) || failure.kind == .status(409),
      body.count > trustedBytes
    else { return failure }
    var failure = failure
    failure.kind = .status(413)
    failure.detail += ", though the directory is there"
    return failure
  }

  /// Returns how many tries it took.
  private func move(
    _ path: String, to target: String, _ body: HTTPRequest.Body
  ) async throws(HTTPFailure) -> Int {
    var request = request("MOVE", path, accepted: [200, 201, 204, 404, 502])
    request.endsWhatWasBegun = true
    request.headers += [
      ("Destination", address.origin + address.path(target)), ("Overwrite", "T"),
    ]
    var answer = try await session.send(request)
    var tries = answer.tries
    if answer.reply.status == 502 {
      // A proxy that can't reach the server just now, or a server that takes the target for another
      // one's (RFC 4918, 9.9.4), which is so for good: asked once more, and not five times.
      let failure = HTTPFailure(.status(502), request.label, "the server answered 502")
      try await session.waitToRetry(after: failure, tries)
      answer = try await session.send(request)
      tries += answer.tries
      if answer.reply.status == 502 { throw failure }
    }
    guard answer.reply.status == 404 else { return tries }
    // The first try may have moved it before its answer was lost. Its size says nothing: what it
    // was to replace has the same as a rule.
    guard tries > 1, try await isThere(target, body) else {
      throw HTTPFailure(.cut, request.label, "what was just written is gone")
    }
    return tries
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
}
