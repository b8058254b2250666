/// An open regular file. Every call names its own place, so threads may share a file.
package protocol DiskFile: AnyObject, Sendable {
  var path: String { get }

  func size() throws(DiskError) -> UInt64

  /// The bytes from `offset` on; fewer than `count` only at the end of the file.
  func read(at offset: UInt64, count: Int) throws(DiskError) -> [UInt8]

  /// Writes all the bytes, or fails; after a failure any part of them may have been written.
  func write(_ bytes: Span<UInt8>, at offset: UInt64) throws(DiskError)

  /// Makes the bytes and the size durable.
  ///
  /// After a failure nothing written since the last success can be relied upon, and a second call
  /// that succeeds says nothing about it: the system has forgotten which pages it failed to write.
  /// Don't repeat it; close the file, and go on in a new one.
  func sync() throws(DiskError)

  /// Reserves space so that the file is at least `length` long, zeros where nothing was written.
  /// Does nothing where the file system can't; fails with `noSpace` when there is none.
  func preallocate(to length: UInt64) throws(DiskError)

  /// Makes the file exactly `length` long, by cutting or by adding zeros.
  func truncate(to length: UInt64) throws(DiskError)

  /// A hint that reads will be scattered, so that reading ahead is wasted.
  func adviseRandom()

  /// Closes the file once the calls under way have returned. Later calls fail; closing twice is
  /// fine.
  func close()
}
