import CairnDisk

/// A file that takes everything and keeps nothing: for finding out how long one would be.
final class UnkeptFile: DiskFile {
  let path = ""

  func size() throws(DiskError) -> UInt64 { 0 }
  func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8] { [] }
  func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(DiskError) {}
  func sync() throws(DiskError) {}
  func preallocate(to length: UInt64) throws(DiskError) {}
  func truncate(to length: UInt64) throws(DiskError) {}
  func adviseRandom() {}
  func close() {}
}
