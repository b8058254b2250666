public import Cairn
internal import CairnBytes
package import CairnDisk
internal import Synchronization

/// Writes a cdb file: records one after the other, then the tables, then the file takes its name,
/// all at once. Until then there is nothing, or the file that was there before.
///
/// The bytes are those that cdbmake and tinycdb write from the same records. May be used from any
/// thread. A writer that is dropped before it has finished leaves nothing.
///
/// Memory: 8 bytes a record (16 with numbers of 64 bits), and a quarter of a MiB.
public final class CDBWriter: Sendable {
  /// The path of the file.
  public let path: String
  private let builder: Lock<CDBBuilder?>

  /// Begins a file.
  ///
  /// - Parameters:
  ///   - path: where it is going to be; the directory must be there.
  ///   - format: nil is `cdb`, and becomes `cdb64` (a copy is made) when 4 GiB are not enough.
  /// - Throws: `disallowed` if a link, a pipe or a device has the name; what the disk says.
  public convenience init(_ path: String, format: CDBFormat? = nil) throws(CairnError) {
    try self.init(path, machine: .real, format: format)
  }

  /// The same on any machine, with a bound for files with numbers of 32 bits.
  package init(
    _ path: String, machine: Machine, format: CDBFormat? = nil, largest32: UInt64 = .max
  ) throws(CairnError) {
    self.path = path
    builder = Lock(try CDBBuilder(path, machine: machine, format: format, largest32: largest32))
  }

  deinit { cancel() }

  /// Adds a record. A key may come again: look-ups find its first value first.
  ///
  /// - Throws: `sizeLimit` if the format can hold no more, `closed` after the end, and what the
  ///   disk says; nothing can be added after an error of the disk.
  public func add(_ key: [UInt8], _ value: [UInt8]) throws(CairnError) {
    try add(key: key.span, value: value.span)
  }

  /// Adds a record from wherever its bytes are.
  public func add(key: Span<UInt8>, value: Span<UInt8>) throws(CairnError) {
    try write { builder throws(CairnError) in try builder.add(key, value) }
  }

  /// Adds a record whose value is given in parts, which are written one behind the other.
  public func add(_ key: [UInt8], parts: [[UInt8]]) throws(CairnError) {
    try write { builder throws(CairnError) in
      try builder.begin(
        keyLength: UInt64(key.count), valueLength: parts.reduce(0) { $0 + UInt64($1.count) },
        hash: CDBHash.full(key.span))
      try builder.append(key.span)
      for part in parts { try builder.append(part.span) }
    }
  }

  /// Completes the file and puts it in its place. The writer is used up, also after an error.
  ///
  /// - Parameter durably: whether the file, and its name, are safe from a power cut on return;
  ///   costs two syncs.
  /// - Returns: how large the file is.
  @discardableResult
  public func finish(durably: Bool = true) throws(CairnError) -> UInt64 {
    guard var builder = builder.withLock({ $0.take() }) else { throw ended }
    do throws(CairnError) {
      try builder.seal()
      if durably { try builder.sync() }
      try builder.rename()
      if durably { try builder.syncName() }
    } catch {
      builder.discard()
      throw error
    }
    builder.file.close()
    return builder.size
  }

  /// Gives up: removes what was written. Does nothing after the end.
  public func cancel() {
    builder.withLock { $0.take() }?.discard()
  }

  private func write(
    _ body: (inout CDBBuilder) throws(CairnError) -> Void
  ) throws(CairnError) {
    try builder.withLock { builder throws(CairnError) in
      // Taken out, so that there is one owner and nothing is copied.
      guard var current = builder.take() else { throw ended }
      do throws(CairnError) {
        try body(&current)
      } catch {
        // A record that was too large for the format has not been begun.
        if error.code == .sizeLimit { builder = current } else { current.discard() }
        throw error
      }
      builder = current
    }
  }

  private var ended: CairnError {
    CairnError(
      .closed, "the writer of \"\(path)\" has ended, or failed before; begin with a new one",
      file: path)
  }
}
