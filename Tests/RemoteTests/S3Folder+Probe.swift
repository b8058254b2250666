import CairnDisk
import CairnLog

@testable import Cairn
@testable import CairnHTTP
@testable import CairnS3

/// What a server makes of "only if it is not there yet".
enum ConditionalWrites: Hashable, Sendable {
  /// The second write was refused, as it should be. Still no lock: other servers pass over it.
  case honoured
  /// It says that it can't do that.
  case unsupported
  /// It does not look at the condition, and overwrites.
  case ignored
}

extension S3Folder {
  /// Writes a scratch object twice. Nothing is built on what comes of it.
  func probeConditionalWrites() async throws(CairnError) -> ConditionalWrites {
    let path = FileName.temporary(Machine.real.random.next())
    var request = request("PUT", path, accepted: [200, 201, 204, 409, 412, 501])
    request.headers = [("If-None-Match", "*")]
    request.body = .bytes([1])
    let result: ConditionalWrites
    do throws(HTTPFailure) {
      if try await session.send(request).reply.status == 501 { return .unsupported }
      switch try await session.send(request).reply.status {
      case 409, 412: result = .honoured
      case 501: result = .unsupported
      default: result = .ignored
      }
    } catch { throw failure(error, path) }
    try await remove(path)
    return result
  }
}
