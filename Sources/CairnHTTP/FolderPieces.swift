package import Cairn
internal import CairnDisk
internal import CairnLog

/// Files that come and go piece by piece, by way of requests that may be tried again.
package enum FolderPieces {
  /// Bytes that are asked for at once.
  private static let partBytes: UInt64 = 4 << 20

  /// Reads a file in parts, each of which is a request.
  package static func read(
    _ folder: some Folder, _ path: String, from offset: UInt64,
    _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    var start = offset
    while true {
      let (end, isTooFar) = start.addingReportingOverflow(partBytes)
      guard !isTooFar, let bytes = try await folder.read(path, range: start..<end) else {
        return false
      }
      if !bytes.isEmpty { try body(bytes) }
      start += UInt64(bytes.count)
      if start < end { return true }
    }
  }

  /// What comes once, for requests that may have to send it again: in memory if it is small, else
  /// in a file without a name, which is gone when the process is.
  package static func source(
    _ length: UInt64, wholeBytes: UInt64, _ next: () throws(CairnError) -> [UInt8]?
  ) throws(CairnError) -> any FolderSource {
    if length <= wholeBytes {
      var bytes: [UInt8] = []
      while let piece = try next() { bytes += piece }
      return MemorySource(bytes: bytes)
    }
    return try SpooledSource(next)
  }
}

private struct MemorySource: FolderSource {
  let bytes: [UInt8]
  var size: UInt64 { UInt64(bytes.count) }

  func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
    Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
  }
}

private final class SpooledSource: FolderSource {
  let size: UInt64
  private let file: any DiskFile

  init(_ next: () throws(CairnError) -> [UInt8]?) throws(CairnError) {
    let directory = ProcessEnvironment.value("TMPDIR") ?? "/tmp"
    let path = directory + "/" + FileName.temporary(Machine.real.random.next())
    do {
      file = try Machine.real.disk.open(path, .createPrivate)
      try Machine.real.disk.remove(path)
    } catch { throw CairnError(error) }
    var count: UInt64 = 0
    do throws(CairnError) {
      while let piece = try next() {
        do { try file.write(piece.span, at: count) } catch { throw CairnError(error) }
        count += UInt64(piece.count)
      }
    } catch {
      file.close()
      throw error
    }
    size = count
  }

  deinit { file.close() }

  func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
    let count = Int(range.upperBound - range.lowerBound)
    let bytes: [UInt8]
    do { bytes = try file.read(at: range.lowerBound, count: count) } catch {
      throw CairnError(error)
    }
    guard bytes.count == count else {
      throw CairnError(.fileIO, "a temporary file has become shorter", file: file.path)
    }
    return bytes
  }
}
