import CairnDisk
import Synchronization

/// A file during whose next read something else happens.
final class MeanwhileFile: DiskFile {
  private let file: any DiskFile
  private let body = Lock<(@Sendable () -> Void)?>(nil)

  init(_ file: any DiskFile) { self.file = file }

  func meanwhile(_ body: @escaping @Sendable () -> Void) { self.body.withLock { $0 = body } }

  var path: String { file.path }

  func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8] {
    let bytes = try file.read(at: offset, count: count)
    let body = body.withLock { body in
      defer { body = nil }
      return body
    }
    body?()
    return bytes
  }

  func size() throws(DiskError) -> UInt64 { try file.size() }
  func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(DiskError) {
    try file.write(bytes, at: offset)
  }
  func sync() throws(DiskError) { try file.sync() }
  func preallocate(to length: UInt64) throws(DiskError) { try file.preallocate(to: length) }
  func truncate(to length: UInt64) throws(DiskError) { try file.truncate(to: length) }
  func adviseRandom() { file.adviseRandom() }
  func close() { file.close() }
}
