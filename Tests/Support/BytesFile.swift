package import CairnDisk

/// A file that is only read, in memory.
package final class BytesFile: DiskFile {
  package let path: String
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8], path: String = "/bytes") {
    self.path = path
    self.bytes = bytes
  }

  package func size() throws(DiskError) -> UInt64 { UInt64(bytes.count) }

  package func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8] {
    let start = Int(clamping: min(offset, UInt64(bytes.count)))
    return Array(bytes[start..<(start + max(0, min(count, bytes.count - start)))])
  }

  package func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(DiskError) { throw refusal }
  package func sync() throws(DiskError) { throw refusal }
  package func preallocate(to length: UInt64) throws(DiskError) { throw refusal }
  package func truncate(to length: UInt64) throws(DiskError) { throw refusal }
  package func adviseRandom() {}
  package func close() {}

  private var refusal: DiskError {
    DiskError(reason: .readOnly, operation: "change", path: path)
  }
}
